package review

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// spread reviews the topology spread constraints.
func (p *podReview) spread() {
	all := p.of.Pod.Spec.TopologySpreadConstraints
	for i := range all {
		p.constraint(&all[i], p.of.Path.Child("topologySpreadConstraints").Index(i))
	}
}

func (p *podReview) constraint(c *corev1.TopologySpreadConstraint, at *field.Path) {
	hard := c.WhenUnsatisfiable == corev1.DoNotSchedule
	consequence, severity := "the constraint has no effect", Warning
	if hard {
		consequence, severity = "no node can take the pod", Broken
	}
	if !p.topologyKey(c.TopologyKey, at, severity, consequence) {
		return
	}
	if hard {
		p.inPart(c.TopologyKey, at, "the constraint rejects these nodes")
	}
	selector, ok := p.counted(c, at.Child("labelSelector"))
	if !ok || !hard {
		return
	}
	domains, known := p.domains(c)
	if !known || p.of.Kind == "DaemonSet" { // whose controller pins each pod to its node
		return
	}
	if n := len(domains); c.MinDomains != nil && int(*c.MinDomains) > n && n > 0 {
		p.find(Note, MinDomains, at.Child("minDomains"), "%d exceeds the %d existing domains of %s: until there are "+
			"as many, no domain accepts more than %d of the counted pods", *c.MinDomains, n, c.TopologyKey, c.MaxSkew)
	}
	if p.oneDomain(c, at, domains) {
		return
	}
	p.skew(c, at, selector, domains)
	pods, _ := p.selected(p.of.Namespace, selector)
	if skew := int(c.MaxSkew); !p.options.PodsUnknown && skew > 1 && pods > 1 && pods <= skew {
		p.find(Note, MaxSkew, at.Child("maxSkew"), "%d allows all %d counted pods in one domain of %s",
			skew, pods, c.TopologyKey)
	}
}

// counted reviews the selector of a constraint. ok is false if no pod counts.
func (p *podReview) counted(c *corev1.TopologySpreadConstraint, at *field.Path) (labels.Selector, bool) {
	selector, ok := p.selector(c.LabelSelector, at, Warning, "the constraint counts no pod, and spreads nothing")
	switch {
	case !ok:
		return nil, false
	case c.LabelSelector == nil:
		p.find(Warning, SelectsNoPod, at, "without a selector the constraint counts no pod, and spreads nothing")
		return nil, false
	case selector.Empty() && len(c.MatchLabelKeys) == 0:
		// pkg/scheduler/framework/plugins/podtopologyspread/common.go countPodsMatchSelector, v1.37.
		p.find(Warning, SelectsNoPod, at, "kube-scheduler counts no pod for an empty selector: the constraint spreads nothing")
		return nil, false
	case !selector.Matches(labels.Set(p.of.Pod.Labels)):
		p.find(Warning, SelectsNotItself, at, "%s does not select the pod itself: the constraint does not spread the pod's own replicas",
			metav1.FormatLabelSelector(c.LabelSelector))
	}
	return selector, true
}

// selector parses a label selector, and finds requirements that exclude each other. ok is false if it finds any.
func (p *podReview) selector(
	s *metav1.LabelSelector, at *field.Path, severity Severity, consequence string,
) (labels.Selector, bool) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		p.find(severity, Unparsable, at, "kube-scheduler cannot parse it: %v", err)
		return nil, false
	}
	if s == nil {
		return selector, true
	}
	var all []requirement
	for key, value := range s.MatchLabels {
		all = append(all, requirement{key, "In", []string{value}})
	}
	for _, r := range s.MatchExpressions {
		all = append(all, requirement{r.Key, string(r.Operator), r.Values})
	}
	if key, found := contradiction(all); found {
		p.find(severity, Contradiction, at, "its requirements on %s exclude each other: %s", key, consequence)
		return nil, false
	}
	return selector, true
}

// topologyKey reviews the topology key of a rule, and reports whether nodes have it. Without nodes, every key counts as known. The API
// server rejects rules without a topology key.
func (p *podReview) topologyKey(key string, at *field.Path, severity Severity, consequence string) bool {
	if len(p.nodes) == 0 || len(p.labels[key]) > 0 || key == "" {
		return true
	}
	p.find(severity, TopologyKey, at.Child("topologyKey"), "%s: %s", p.noNodeHas(key), consequence)
	return false
}

// inPart reviews a topology key that some of the eligible nodes lack.
func (p *podReview) inPart(key string, at *field.Path, consequence string) {
	having := 0
	for _, n := range p.labels[key] {
		having += n
	}
	if having == len(p.nodes) {
		return
	}
	var without []string
	all := p.eligible()
	for _, n := range all {
		if _, there := n.Labels[key]; !there {
			without = append(without, n.Name)
		}
	}
	if len(without) == 0 || len(without) == len(all) {
		return
	}
	p.find(Warning, TopologyKeyInPart, at.Child("topologyKey"), "%d of the %d nodes that its node selector, affinity and "+
		"tolerations allow lack the label %s (%s): %s",
		len(without), len(all), key, list(without), consequence)
	p.found[len(p.found)-1].Nodes = without
}
