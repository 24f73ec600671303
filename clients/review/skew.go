package review

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// skew reviews the number of pods that a hard constraint allows in a domain. If minDomains bounds the number, the finding about
// minDomains reports it. The number is unknown if feature gates decide which nodes can take the pod.
func (p *podReview) skew(c *corev1.TopologySpreadConstraint, at *field.Path, selector labels.Selector, domains map[string][]*corev1.Node) {
	n, byNode := len(domains), c.TopologyKey == corev1.LabelHostname
	bounded := c.MinDomains != nil && int(*c.MinDomains) > n
	if n < 2 || bounded || byNode && p.keepsApart() || comparesTaints(&p.of.Pod.Spec) {
		return
	}
	pods, counted := p.of.Count, 0
	for _, nodes := range domains {
		counted += len(nodes)
	}
	if len(c.MatchLabelKeys) == 0 && counted == len(p.nodes) {
		pods, _ = p.selected(p.of.Namespace, selector)
	}
	switch closed := p.closed(domains); {
	case len(closed) > 0:
		p.emptyDomains(c, at, selector, domains, closed, pods)
	case byNode && c.MaxSkew == 1 && pods > n:
		// The constraint balances pods, and is often mistaken for a rule that gives each its own node.
		p.find(Note, SharedNode, at.Child("maxSkew"), "%d counted pods share %d nodes, up to %d on one: a maxSkew of 1 balances pods; only "+
			"required anti-affinity by %s gives each its own node", pods, n, (pods+n-1)/n, c.TopologyKey)
	}
}

// closed returns the domains that the constraint counts but the pod cannot use.
func (p *podReview) closed(domains map[string][]*corev1.Node) []string {
	open := map[*corev1.Node]bool{}
	for _, n := range p.eligible() {
		open[n] = p.holds(n)
	}
	var out []string
	for _, value := range slices.Sorted(maps.Keys(domains)) {
		if !slices.ContainsFunc(domains[value], func(n *corev1.Node) bool { return open[n] }) {
			out = append(out, value)
		}
	}
	return out
}

// emptyDomains finds domains that stay empty because the pod cannot use them. The least loaded domain then has no pods, so every other
// domain accepts at most maxSkew pods (pkg/scheduler/framework/plugins/podtopologyspread/filtering.go Filter, v1.37).
func (p *podReview) emptyDomains(
	c *corev1.TopologySpreadConstraint, at *field.Path, selector labels.Selector, domains map[string][]*corev1.Node, closed []string, pods int,
) {
	open := len(domains) - len(closed)
	if open == 0 || pods <= open*int(c.MaxSkew) || p.options.PodsUnknown || !selector.Matches(labels.Set(p.of.Pod.Labels)) {
		return
	}
	counted := map[*podSet]bool{}
	for s := range p.pods[p.of.Namespace].matching(selector) {
		counted[s] = true
	}
	var empty []string
	var nodes []*corev1.Node
	for _, value := range closed {
		if !slices.ContainsFunc(domains[value], func(n *corev1.Node) bool {
			return slices.ContainsFunc(p.on[n.Name], func(s *podSet) bool { return counted[s] })
		}) {
			empty, nodes = append(empty, value), append(nodes, domains[value]...)
		}
	}
	if len(empty) == 0 {
		return
	}
	p.find(Warning, EmptyDomain, at.Child("maxSkew"), "the constraint counts %s=%s, where no node can take the pod: without pods there, "+
		"no other domain accepts more than %d of the %d counted pods%s", c.TopologyKey, list(empty), c.MaxSkew, pods, p.honor(nodes))
	for _, n := range nodes {
		p.found[len(p.found)-1].Nodes = append(p.found[len(p.found)-1].Nodes, n.Name)
	}
}

// honor names the inclusion policies that exclude all of the nodes; empty if none do.
func (p *podReview) honor(nodes []*corev1.Node) string {
	spec := &p.of.Pod.Spec
	wanted := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)
	unmatched := func(n *corev1.Node) bool {
		match, _ := wanted.Match(n) // of terms that do not parse, none matches
		return !match
	}
	refused := func(n *corev1.Node) bool { return refuses(n, spec) }
	all := func(is func(*corev1.Node) bool) bool {
		return !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return !is(n) })
	}
	switch {
	case all(refused):
		return "; nodeTaintsPolicy: Honor does not count nodes with untolerated taints"
	case all(unmatched):
		return "; nodeAffinityPolicy: Honor does not count nodes that the pod does not match"
	case all(func(n *corev1.Node) bool { return refused(n) || unmatched(n) }):
		return "; nodeTaintsPolicy: Honor and nodeAffinityPolicy: Honor do not count such nodes"
	}
	return ""
}

// keepsApart reports whether required anti-affinity by hostname selects the pod itself.
func (p *podReview) keepsApart() bool {
	a := p.of.Pod.Spec.Affinity
	if a == nil || a.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(t corev1.PodAffinityTerm) bool {
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		return err == nil && t.TopologyKey == corev1.LabelHostname && selector.Matches(labels.Set(p.of.Pod.Labels))
	})
}
