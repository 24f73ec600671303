package compare

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// missing makes every single change of the kinds that Stowage offers for a pod, one after the other, lets kube-scheduler decide, and
// reports changes that give the pod a node and are not offered.
func (r *Result) missing(c *scenario.Case, entry int, offered []*stowagev1.Change) error {
	t := &trials{c: c, pod: c.Queue[entry].Pod, sufficient: map[string]bool{}}
	t.all()
	if t.err != nil {
		return t.err
	}
	for _, change := range offered {
		delete(t.sufficient, nameOf(change))
	}
	for _, kind := range t.tried {
		count(&r.Remedies.Sufficient, kind, 1)
	}
	for name := range t.sufficient {
		r.differ(fmt.Sprintf("queue[%d]", entry), "not offered "+name, errors.New("the change gives the pod a node"))
	}
	return nil
}

// nameOf names a change by its kind and what of the pod it changes.
func nameOf(c *stowagev1.Change) string {
	kind := kindOf(c)
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_RaisedMaxSkew:
		return fmt.Sprint(kind, " ", k.RaisedMaxSkew.GetIndex())
	case *stowagev1.Change_LoweredMinDomains:
		return fmt.Sprint(kind, " ", k.LoweredMinDomains.GetIndex())
	case *stowagev1.Change_PreferredRule:
		return fmt.Sprint(kind, " ", k.PreferredRule.GetRule(), " ", k.PreferredRule.GetIndex())
	}
	return kind
}

// trials are changes of a case that are made for a pod. The first error ends them.
type trials struct {
	c          *scenario.Case
	pod        *corev1.Pod
	sufficient map[string]bool // by nameOf
	tried      []string        // the kinds that suffice
	err        error
}

// try makes a change unless another one of its name suffices.
func (t *trials) try(kind, of string, change func(*scenario.Case, *corev1.Pod)) {
	name := kind + of
	if t.err != nil || t.sufficient[name] {
		return
	}
	c, pod := *t.c, t.pod.DeepCopy()
	c.Nodes, c.Pods = slices.Clone(c.Nodes), slices.Clone(c.Pods)
	change(&c, pod)
	c.Queue = []scenario.Pending{{Pod: pod, Count: 1}}
	s, err := oracle.New(&c)
	if errors.As(err, new(*oracle.InvalidError)) {
		return // the API server would refuse the change
	}
	if err != nil {
		t.err = err
		return
	}
	defer s.Close()
	d, err := s.Decide(s.Queue[0])
	if err != nil {
		t.err = err
		return
	}
	// An added node is one that takes the pod; that its DaemonSet pods make another node feasible is no reason to add it.
	if kind == "added_node" && !slices.Contains(d.Feasible, uint32(len(c.Nodes)-1)) {
		return
	}
	if d.Gate == nil && len(d.Feasible) > 0 && !d.Failed() {
		t.sufficient[name] = true
		t.tried = append(t.tried, kind)
	}
}

func (t *trials) all() {
	if len(t.pod.Spec.SchedulingGates) > 0 {
		t.try("removed_scheduling_gates", "", func(_ *scenario.Case, p *corev1.Pod) { p.Spec.SchedulingGates = nil })
		return
	}
	for i := range t.c.Nodes {
		t.node(i)
	}
	for i := range t.c.Pods {
		t.victim(i)
	}
	t.spread()
	t.terms()
	if len(t.pod.Spec.NodeSelector) > 0 || t.pod.Spec.Affinity != nil && t.pod.Spec.Affinity.NodeAffinity != nil &&
		t.pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		t.try("preferred_rule", fmt.Sprint(" ", stowagev1.TopologyRule_TOPOLOGY_RULE_UNSPECIFIED, " ", 0), preferNodes)
	}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		t.request(resource)
	}
}

// preferNodes makes the pod's node selector and required node affinity preferences. Terms that kube-scheduler cannot parse then fail
// its scoring.
func preferNodes(_ *scenario.Case, p *corev1.Pod) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	a := p.Spec.Affinity.NodeAffinity
	if a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: 1, Preference: term})
		}
	}
	p.Spec.NodeSelector, a.RequiredDuringSchedulingIgnoredDuringExecution = nil, nil
}

// node changes a node, and adds one like it.
func (t *trials) node(i int) {
	own := func(c *scenario.Case) *corev1.Node {
		c.Nodes[i] = c.Nodes[i].DeepCopy()
		return c.Nodes[i]
	}
	n := t.c.Nodes[i]
	cordons := func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeUnschedulable && taint.Effect == corev1.TaintEffectNoSchedule
	}
	if n.Spec.Unschedulable {
		t.try("uncordoned_node", "", func(c *scenario.Case, _ *corev1.Pod) {
			n := own(c)
			n.Spec.Unschedulable, n.Spec.Taints = false, slices.DeleteFunc(n.Spec.Taints, cordons)
		})
	}
	isState := func(taint corev1.Taint) bool { return nodestate.Has(taint.Key) }
	if slices.ContainsFunc(n.Spec.Taints, isState) {
		t.try("cleared_taints", "", func(c *scenario.Case, _ *corev1.Pod) {
			n := own(c)
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, isState)
		})
	}
	if len(n.Spec.Taints) > 0 && !slices.ContainsFunc(n.Spec.Taints, isState) {
		t.try("added_tolerations", "", func(_ *scenario.Case, p *corev1.Pod) {
			for _, taint := range n.Spec.Taints {
				operator := corev1.TolerationOpEqual
				if taint.Value == "" {
					operator = corev1.TolerationOpExists
				}
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
					Key: taint.Key, Operator: operator, Value: taint.Value, Effect: taint.Effect,
				})
			}
		})
	}
	t.try("added_node", "", func(c *scenario.Case, p *corev1.Pod) {
		m := &making{Case: c, pod: p}
		m.addNode(&stowagev1.AddedNode{LikeNodeIndex: uint32(i)})
	})
}

// victim takes a pod off its node. One that comes back into the pod's way, or that kube-scheduler would place before the pod, does not
// help.
func (t *trials) victim(i int) {
	v := t.c.Pods[i]
	of, own := metav1.GetControllerOf(v), metav1.GetControllerOf(t.pod)
	if of != nil && v.DeletionTimestamp == nil {
		sibling := own != nil && own.Kind == of.Kind && v.Namespace == t.pod.Namespace && (own.Name == of.Name || of.Kind == "Job")
		before := corev1helpers.PodPriority(v) > corev1helpers.PodPriority(t.pod)
		if of.Kind == "DaemonSet" || sibling || before {
			return
		}
	}
	t.try("victims", "", func(c *scenario.Case, _ *corev1.Pod) { c.Pods = slices.Delete(c.Pods, i, i+1) })
}

// spread relaxes each hard spread constraint.
func (t *trials) spread() {
	for i, k := range t.pod.Spec.TopologySpreadConstraints {
		if k.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		at := fmt.Sprint(" ", i)
		t.try("raised_max_skew", at, func(_ *scenario.Case, p *corev1.Pod) { p.Spec.TopologySpreadConstraints[i].MaxSkew = 1 << 30 })
		if k.MinDomains != nil {
			t.try("lowered_min_domains", at, func(_ *scenario.Case, p *corev1.Pod) { p.Spec.TopologySpreadConstraints[i].MinDomains = nil })
		}
		honor := corev1.NodeInclusionPolicyHonor
		t.try("honored_policy", "", func(_ *scenario.Case, p *corev1.Pod) { p.Spec.TopologySpreadConstraints[i].NodeTaintsPolicy = &honor })
		t.try("honored_policy", "", func(_ *scenario.Case, p *corev1.Pod) { p.Spec.TopologySpreadConstraints[i].NodeAffinityPolicy = &honor })
		rule := fmt.Sprint(" ", stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, at)
		t.try("preferred_rule", rule, func(_ *scenario.Case, p *corev1.Pod) {
			k := &p.Spec.TopologySpreadConstraints[i]
			k.WhenUnsatisfiable, k.MinDomains = corev1.ScheduleAnyway, nil
		})
	}
}

// terms takes each required term away.
func (t *trials) terms() {
	a := t.pod.Spec.Affinity
	if a == nil {
		return
	}
	if a.PodAffinity != nil {
		for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			rule := fmt.Sprint(" ", stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY, " ", i)
			t.try("preferred_rule", rule, func(_ *scenario.Case, p *corev1.Pod) {
				all := &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
				*all = slices.Delete(*all, i, i+1)
			})
		}
	}
	if a.PodAntiAffinity != nil {
		for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			rule := fmt.Sprint(" ", stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY, " ", i)
			t.try("preferred_rule", rule, func(_ *scenario.Case, p *corev1.Pod) {
				all := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
				*all = slices.Delete(*all, i, i+1)
			})
		}
	}
}

// request lowers a request to the least.
func (t *trials) request(name corev1.ResourceName) {
	if t.pod.Spec.Resources != nil || len(t.pod.Spec.Overhead) > 0 {
		return
	}
	least := resource.MustParse("1")
	if name == corev1.ResourceCPU {
		least = resource.MustParse("1m")
	}
	t.try("lowered_request", "", func(_ *scenario.Case, p *corev1.Pod) {
		for _, containers := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range containers {
				all := &containers[i].Resources
				if q := requested(all, name); q.Sign() > 0 {
					if all.Requests == nil {
						all.Requests = corev1.ResourceList{}
					}
					all.Requests[name] = least
					least = resource.Quantity{}
				}
			}
		}
	})
}

func requested(all *corev1.ResourceRequirements, name corev1.ResourceName) resource.Quantity {
	if q, ok := all.Requests[name]; ok {
		return q
	}
	return all.Limits[name]
}
