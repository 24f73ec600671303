package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// unit is a set of pods with the same verdict about the rules on their nodes.
type unit struct {
	pods []int // indexes of audit.pods; the first represents all
}

// units returns the pods whose rules can be broken, grouped by equality. Pods of one template are equal on one node, and on all
// nodes of a class if all their rules are about nodes. Pods without rules are skipped.
func (a *audit) units() []*unit {
	apart := a.antiAffinity()
	var out []*unit
	index := map[string]*unit{}
	for i, p := range a.pods {
		if p.object.Name == "" || p.other {
			continue // it cannot be removed from its node, or its scheduler may have other rules
		}
		key := fmt.Sprintf("%d\x00%v", p.converted.GetTemplateIndex(), labels.Set(p.converted.Labels))
		spec := &p.object.Spec
		switch class, shared := a.nodeClass(p); {
		case a.reachesOthers(spec) || apart.selects(p.object):
			key += fmt.Sprintf("\x00node %d", p.node)
		case !restricted(spec) && a.Profile().GetAddedAffinity() == nil:
			continue
		case shared:
			key += fmt.Sprintf("\x00class %d", class)
		default:
			key += fmt.Sprintf("\x00node %d", p.node)
		}
		if p.converted.ResourceStatus != nil {
			key += fmt.Sprintf("\x00pod %d", i)
		}
		if index[key] == nil {
			index[key] = &unit{}
			out = append(out, index[key])
		}
		index[key].pods = append(index[key].pods, i)
	}
	return out
}

// restricted reports whether a pod has rules about nodes.
func restricted(s *corev1.PodSpec) bool {
	return len(s.NodeSelector) > 0 || requiredNodes(s) != nil
}

// requiredNodes is the required node affinity of a pod, nil for none.
func requiredNodes(s *corev1.PodSpec) *corev1.NodeSelector {
	if s.Affinity == nil || s.Affinity.NodeAffinity == nil {
		return nil
	}
	return s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// reachesOthers reports whether a pod has rules about other pods: affinity, anti-affinity, spread, host ports.
func (a *audit) reachesOthers(s *corev1.PodSpec) bool {
	if a.Profile().GetDefaultSpread() != nil {
		return true
	}
	if f := s.Affinity; f != nil && (f.PodAffinity != nil && len(f.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		f.PodAntiAffinity != nil && len(f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0) {
		return true
	}
	if slices.ContainsFunc(s.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	}) {
		return true
	}
	ports := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort != 0 || s.HostNetwork })
	}
	return slices.ContainsFunc(s.Containers, ports) || slices.ContainsFunc(s.InitContainers, ports)
}

// nodeClass returns the class of a pod's node if the pod's rules read no property in which nodes of the class differ.
func (a *audit) nodeClass(p pod) (class uint32, shared bool) {
	n := a.cluster.Nodes[p.node]
	if n.ClassIndex == nil || len(n.Labels)+len(n.Taints) > 0 || a.Profile().GetAddedAffinity() != nil {
		return 0, false
	}
	own := a.cluster.NodeClasses[n.GetClassIndex()].NameLabelKeys
	for key := range p.object.Spec.NodeSelector {
		if slices.Contains(own, key) {
			return 0, false
		}
	}
	if required := requiredNodes(&p.object.Spec); required != nil {
		for _, t := range required.NodeSelectorTerms {
			if len(t.MatchFields) > 0 || slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
				return slices.Contains(own, r.Key)
			}) {
				return 0, false
			}
		}
	}
	return n.GetClassIndex(), true
}

// antiAffinity has the selectors of required anti-affinity of pods on nodes.
type antiAffinity struct {
	selectors map[string][]labels.Selector // by namespace
	anywhere  []labels.Selector            // in namespaces that a term selects
}

// antiAffinity collects the terms, once for each template.
func (a *audit) antiAffinity() *antiAffinity {
	out := &antiAffinity{selectors: map[string][]labels.Selector{}}
	seen := map[uint32]bool{}
	for _, p := range a.pods {
		f := p.object.Spec.Affinity
		if f == nil || f.PodAntiAffinity == nil || seen[p.converted.GetTemplateIndex()] {
			continue
		}
		seen[p.converted.GetTemplateIndex()] = true
		for _, t := range f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
			if err != nil {
				selector = labels.Everything() // the server decides
			}
			if t.NamespaceSelector != nil {
				out.anywhere = append(out.anywhere, selector)
			}
			namespaces := t.Namespaces
			if len(namespaces) == 0 {
				namespaces = []string{p.object.Namespace}
			}
			for _, name := range namespaces {
				out.selectors[name] = append(out.selectors[name], selector)
			}
		}
	}
	return out
}

// selects reports whether a term may select a pod.
func (t *antiAffinity) selects(p *corev1.Pod) bool {
	matches := func(s labels.Selector) bool { return s.Matches(labels.Set(p.Labels)) }
	return slices.ContainsFunc(t.selectors[p.Namespace], matches) || slices.ContainsFunc(t.anywhere, matches)
}

// pending returns a pod without its node, ready to be placed.
func pending(p *stowagev1.Pod) *stowagev1.Pod {
	return &stowagev1.Pod{Source: p.Source, Labels: p.Labels}
}
