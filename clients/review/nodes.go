package review

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// nodeRules reviews the node selector and the node affinity. For DaemonSets, the controller evaluates them.
func (p *podReview) nodeRules() {
	if p.of.Kind == "DaemonSet" {
		return
	}
	found := len(p.found)
	p.nodeSelector()
	a := p.of.Pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil {
		return
	}
	at := p.of.Path.Child("affinity", "nodeAffinity")
	if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		p.required(required, at.Child("requiredDuringSchedulingIgnoredDuringExecution"), len(p.found) > found)
	}
	for i := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		p.preferred(&a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference,
			at.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))
	}
}

// nodeSelector reviews spec.nodeSelector.
func (p *podReview) nodeSelector() {
	selector := p.of.Pod.Spec.NodeSelector
	at := p.of.Path.Child("nodeSelector")
	found := len(p.found)
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		switch value := selector[key]; {
		case len(p.labels[key]) == 0:
			p.find(Broken, NodeSelector, at.Key(key), "%s", p.noNodeHas(key))
		case p.labels[key][value] == 0:
			p.find(Broken, NodeSelector, at.Key(key), "no node has the value %q, nodes have %s", value, p.valuesOf(key))
		}
	}
	if len(p.found) == found && len(selector) > 0 && !p.anyMatches(selector, nil) {
		p.find(Broken, NodeSelector, at, "no node has all of these labels")
	}
}

// anyMatches reports whether a node matches a node selector and an affinity.
func (r *Reviewer) anyMatches(selector map[string]string, required *corev1.NodeSelector) bool {
	var a *corev1.Affinity
	if required != nil {
		a = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	wanted := nodeaffinity.NewRequiredNodeAffinity(selector, a)
	return slices.ContainsFunc(r.nodes, func(n *corev1.Node) bool {
		match, _ := wanted.Match(n) // of terms that do not parse, none matches
		return match
	})
}

// one is a node selector with one term.
func one(t corev1.NodeSelectorTerm) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{t}}
}

// required reviews required terms. A node must match one of them. reported: a finding reports that the node selector matches no node.
func (p *podReview) required(s *corev1.NodeSelector, at *field.Path, reported bool) {
	severity, consequence := Warning, "the term matches no node"
	matches := p.anyMatches(nil, s)
	if !matches {
		severity, consequence = Broken, "no node can take the pod"
	}
	terms := at.Child("nodeSelectorTerms")
	found := len(p.found)
	for i := range s.NodeSelectorTerms {
		p.malformed(&s.NodeSelectorTerms[i], terms.Index(i), severity, consequence)
	}
	switch {
	case matches && !reported && !p.anyMatches(p.of.Pod.Spec.NodeSelector, s):
		p.find(Broken, NodeAffinity, at, "no node matches both this and the node selector")
	case len(p.found) > found:
	case matches:
		p.alternatives(s, terms)
	case len(s.NodeSelectorTerms) == 1:
		p.unmatched(&s.NodeSelectorTerms[0], terms.Index(0), Broken, consequence)
	default:
		p.find(Broken, NodeAffinity, terms, "no node matches any of the %d terms: %s", len(s.NodeSelectorTerms), consequence)
	}
}

// preferred reviews a preferred term.
func (p *podReview) preferred(t *corev1.NodeSelectorTerm, at *field.Path) {
	const consequence = "the preference has no effect"
	if p.malformed(t, at, Warning, consequence) || p.anyMatches(nil, one(*t)) {
		return
	}
	p.unmatched(t, at, Note, consequence)
}

// malformed finds terms that kube-scheduler cannot parse, and requirements that exclude each other.
func (p *podReview) malformed(t *corev1.NodeSelectorTerm, at *field.Path, severity Severity, consequence string) bool {
	if _, err := nodeaffinity.NewNodeSelector(one(*t)); err != nil {
		p.find(severity, Unparsable, at, "kube-scheduler cannot parse it: %s",
			strings.ReplaceAll(err.Error(), "nodeSelectorTerms[0].", ""))
		return true
	}
	var all []requirement
	for _, r := range t.MatchExpressions {
		all = append(all, requirement{r.Key, string(r.Operator), r.Values})
	}
	key, found := contradiction(all)
	if found {
		p.find(severity, Contradiction, at, "its requirements on %s exclude each other: %s", key, consequence)
	}
	return found
}

// unmatched reports why no node matches a term: the first requirement that no node meets, or that no node meets all of them.
func (p *podReview) unmatched(t *corev1.NodeSelectorTerm, at *field.Path, severity Severity, consequence string) {
	if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
		p.find(severity, NodeAffinity, at, "a term without requirements matches no node: %s", consequence)
		return
	}
	for i, r := range t.MatchExpressions {
		if p.anyMatches(nil, one(corev1.NodeSelectorTerm{MatchExpressions: t.MatchExpressions[i : i+1]})) {
			continue
		}
		at := at.Child("matchExpressions").Index(i)
		without := r.Operator == corev1.NodeSelectorOpDoesNotExist || r.Operator == corev1.NodeSelectorOpNotIn
		if !without && len(p.labels[r.Key]) == 0 {
			p.find(severity, NodeAffinity, at, "%s: %s", p.noNodeHas(r.Key), consequence)
		} else {
			p.find(severity, NodeAffinity, at, "no node meets it, nodes have %s for %s: %s", p.valuesOf(r.Key), r.Key, consequence)
		}
		return
	}
	for i, r := range t.MatchFields {
		if !p.anyMatches(nil, one(corev1.NodeSelectorTerm{MatchFields: t.MatchFields[i : i+1]})) && len(r.Values) == 1 {
			p.find(severity, NodeAffinity, at.Child("matchFields").Index(i), "there is no node %s: %s", r.Values[0], consequence)
			return
		}
	}
	p.find(severity, NodeAffinity, at, "no node meets all requirements: %s", consequence)
}

// eligible returns the nodes that the pod's node selector, node affinity and tolerations allow, as far as the profile filters by them.
// It returns none if the nodes depend on feature gates.
func (p *podReview) eligible() []*corev1.Node {
	spec := &p.of.Pod.Spec
	if comparesTaints(spec) {
		return nil
	}
	affinity := spec.Affinity
	if p.of.Kind == "DaemonSet" {
		affinity = nil // its controller has pinned the pod to one node
	}
	wanted := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, affinity)
	anyLabels, anyTaints := p.disabled(stowagev1.Plugin_PLUGIN_NODE_AFFINITY), p.disabled(stowagev1.Plugin_PLUGIN_TAINT_TOLERATION)
	cordoned := p.disabled(stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE)
	var out []*corev1.Node
	for _, n := range p.nodes {
		match, _ := wanted.Match(n) // of terms that do not parse, none matches
		if (match || anyLabels) && (anyTaints || !refuses(n, spec)) && (cordoned || !n.Spec.Unschedulable) {
			out = append(out, n)
		}
	}
	return out
}
