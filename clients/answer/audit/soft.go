package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/review"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// softRule is a preference of pods, and a template that requires it and nothing else.
type softRule struct {
	name     string
	template *stowagev1.PodTemplate
}

// softRules returns the preferences of a pod, except preferences by a topology key that no node has, which a review reports. A
// spread constraint keeps the rules about nodes, because they select the nodes that it counts.
func (a *audit) softRules(p *stowagev1.Pod) []softRule {
	template := compact.Template(a.cluster, p)
	spec := template.GetSpec()
	var out []softRule
	add := func(name string, only *stowagev1.PodSpec) {
		out = append(out, softRule{name, &stowagev1.PodTemplate{
			Namespace: template.GetNamespace(), Labels: template.GetLabels(), Controller: template.GetController(), Spec: only,
		}})
	}
	of := spec.GetAffinity()
	for _, t := range of.GetNodeAffinity().GetPreferred() {
		if len(t.GetPreference().GetMatchExpressions())+len(t.GetPreference().GetMatchFields()) == 0 {
			continue // an empty preference prefers nothing
		}
		add("node affinity to "+words.NodeTerm(t.GetPreference()), &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{NodeAffinity: &stowagev1.NodeAffinity{
			Required: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{t.GetPreference()}},
		}}})
	}
	byKey := func(name, key string, only *stowagev1.PodSpec) {
		if slices.ContainsFunc(a.nodes, func(n *corev1.Node) bool { _, has := n.Labels[key]; return has }) {
			add(name+" by "+key, only)
		}
	}
	for _, t := range of.GetPodAffinity().GetPreferred() {
		byKey("affinity", t.GetTerm().GetTopologyKey(), &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAffinity: required(t)}})
	}
	for _, t := range of.GetPodAntiAffinity().GetPreferred() {
		byKey("anti-affinity", t.GetTerm().GetTopologyKey(), &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAntiAffinity: required(t)}})
	}
	for _, c := range spec.GetTopologySpreadConstraints() {
		if c.GetWhenUnsatisfiable() != stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY {
			continue
		}
		hard := proto.CloneOf(c)
		hard.WhenUnsatisfiable = stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE
		byKey("spread", c.GetTopologyKey(), &stowagev1.PodSpec{
			NodeSelector: spec.GetNodeSelector(), Tolerations: spec.GetTolerations(),
			Affinity:                  &stowagev1.Affinity{NodeAffinity: of.GetNodeAffinity()},
			TopologySpreadConstraints: []*stowagev1.TopologySpreadConstraint{hard},
		})
	}
	return out
}

func required(t *stowagev1.WeightedPodAffinityTerm) *stowagev1.PodAffinity {
	return &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{t.GetTerm()}}
}

// soft counts for each workload the pods on nodes that one of their preferences would reject as a requirement. It removes each pod
// from its node and places it there again. Pods with broken required rules are skipped.
func (a *audit) soft(ctx context.Context) error {
	missed := map[kube.Origin]*misses{}
	var order []*misses
	var rules []softRule
	var units []*unit // by scenario
	whole := a.cluster
	defer func() { a.cluster = whole }()
	a.cluster = withTemplates(whole) // the server reads each template once
	request := &stowagev1.WhatIfRequest{Context: a.context(&stowagev1.Profile{DisabledFilters: nodeFilters})}
	index := map[*stowagev1.PodTemplate]*softTemplates{}
	for _, u := range a.softUnits() {
		p := a.pods[u.pods[0]]
		of := compact.Template(whole, p.converted)
		if index[of] == nil {
			index[of] = &softTemplates{a.softRules(p.converted), len(a.cluster.PodTemplates)}
			for _, r := range index[of].rules {
				a.cluster.PodTemplates = append(a.cluster.PodTemplates, r.template)
			}
		}
		for i, r := range index[of].rules {
			again := &stowagev1.Pod{
				Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(index[of].at + i)}, Labels: p.converted.Labels,
				NominatedNodeName: a.cluster.Nodes[p.node].Name,
			}
			rules, units = append(rules, r), append(units, u)
			request.Scenarios = append(request.Scenarios, a.takenOff(p, again))
		}
	}
	err := a.whatIf(ctx, request, func(r *stowagev1.WhatIfResponse) {
		u := units[r.ScenarioIndex]
		if placedOn(r) == a.pods[u.pods[0]].node {
			return
		}
		for _, i := range u.pods {
			of := missed[a.pods[i].workload]
			if of == nil {
				of = &misses{workload: a.pods[i].workload, pods: map[int]bool{}, byRule: map[string]int{}}
				missed[of.workload] = of
				order = append(order, of)
			}
			of.add(i, rules[r.ScenarioIndex].name)
		}
	})
	if err != nil {
		return err
	}
	for _, of := range order {
		a.found = append(a.found, a.softFinding(of))
	}
	return nil
}

// softTemplates are the preferences of a template, and the index of their first template in the cluster.
type softTemplates struct {
	rules []softRule
	at    int
}

// withTemplates returns a cluster to which templates may be added.
func withTemplates(c *stowagev1.Cluster) *stowagev1.Cluster {
	out := compact.Shallow(c)
	out.PodTemplates = slices.Clone(c.PodTemplates)
	return out
}

// misses is the pods of a workload on nodes where one of their preferences does not hold.
type misses struct {
	workload kube.Origin
	pods     map[int]bool
	rules    []string // in order of appearance
	byRule   map[string]int
}

func (m *misses) add(pod int, rule string) {
	if m.byRule[rule] == 0 {
		m.rules = append(m.rules, rule)
	}
	m.byRule[rule]++
	m.pods[pod] = true
}

func (a *audit) softFinding(m *misses) review.Finding {
	all := 0
	on := map[int]bool{}
	for i, p := range a.pods {
		if p.workload == m.workload {
			all++
		}
		if m.pods[i] {
			on[p.node] = true
		}
	}
	var rules []string
	for _, rule := range m.rules {
		rules = append(rules, fmt.Sprintf("%s (%d)", rule, m.byRule[rule]))
	}
	return review.Finding{
		Severity: review.Note, Rule: SoftRule, Object: review.Object(m.workload), Pods: len(m.pods), Nodes: a.nodeNames(on),
		Message: fmt.Sprintf("preferences do not hold for %d of %s on nodes: %s", len(m.pods), words.Plural(all, "pod"), strings.Join(rules, ", ")),
	}
}

// softUnits returns the pods with preferences, equal pods of a node together.
func (a *audit) softUnits() []*unit {
	var out []*unit
	index := map[string]*unit{}
	for i, p := range a.pods {
		if p.object.Name == "" || p.other || a.broken[i] {
			continue
		}
		key := fmt.Sprintf("%d\x00%d\x00%v", p.node, p.converted.GetTemplateIndex(), labels.Set(p.converted.Labels))
		if index[key] == nil {
			index[key] = &unit{}
			out = append(out, index[key])
		}
		index[key].pods = append(index[key].pods, i)
	}
	return out
}
