package review

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// domains returns the nodes by domain of a hard constraint: only nodes that kube-scheduler counts, with all topology keys
// and within the inclusion policies (pkg/scheduler/framework/plugins/podtopologyspread/filtering.go calPreFilterState, v1.37). The
// domains are unknown if they depend on feature gates.
func (p *podReview) domains(c *corev1.TopologySpreadConstraint) (domains map[string][]*corev1.Node, known bool) {
	spec := &p.of.Pod.Spec
	honorsTaints := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	if honorsTaints && comparesTaints(spec) {
		return nil, false
	}
	honorsAffinity := c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
	wanted := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)
	domains = map[string][]*corev1.Node{}
	for _, n := range p.nodes {
		match, _ := wanted.Match(n) // of terms that do not parse, none matches
		if hasKeys(n, spec.TopologySpreadConstraints) && (match || !honorsAffinity) && !(honorsTaints && refuses(n, spec)) {
			value := n.Labels[c.TopologyKey]
			domains[value] = append(domains[value], n)
		}
	}
	return domains, true
}

// hasKeys reports whether a node has the topology keys of all hard constraints.
func hasKeys(n *corev1.Node, all []corev1.TopologySpreadConstraint) bool {
	return !slices.ContainsFunc(all, func(c corev1.TopologySpreadConstraint) bool {
		_, has := n.Labels[c.TopologyKey]
		return c.WhenUnsatisfiable == corev1.DoNotSchedule && !has
	})
}

// comparesTaints reports whether feature gates decide which taints the tolerations match.
func comparesTaints(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Operator == corev1.TolerationOpGt || t.Operator == corev1.TolerationOpLt
	})
}

// refuses reports whether a node has a taint that the pod does not tolerate.
func refuses(n *corev1.Node, spec *corev1.PodSpec) bool {
	_, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
	return refused
}

// oneDomain finds constraints with one domain only, which reject no node with the label.
func (p *podReview) oneDomain(c *corev1.TopologySpreadConstraint, at *field.Path, domains map[string][]*corev1.Node) bool {
	if len(domains) != 1 || len(p.nodes) < 2 || c.MinDomains != nil && *c.MinDomains > 1 {
		return false
	}
	for value, nodes := range domains {
		if len(p.labels[c.TopologyKey]) == 1 {
			p.find(Note, OneDomain, at.Child("topologyKey"), "%s=%s, the label of %d of %d nodes, is the only domain: the "+
				"constraint spreads nothing", c.TopologyKey, value, p.labels[c.TopologyKey][value], len(p.nodes))
			continue
		}
		p.find(Note, OneDomain, at.Child("topologyKey"), "%s=%s is the label of all nodes that the constraint counts for the pod (%d of %d), "+
			"and the only domain: the constraint spreads nothing", c.TopologyKey, value, len(nodes), len(p.nodes))
	}
	return true
}
