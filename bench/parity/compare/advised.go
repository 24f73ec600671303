package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/advice"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func bestOf(c *scenario.Case) func([]uint32) uint32 { return expect.Best(c) }

var errUnplaced = errors.New("kube-scheduler does not place all of the pods")

// holds applies a piece of advice, by its commands and patch where it has some, and returns why it does not help.
func (w *advised) holds(a *advice.Advice) error {
	switch a.Kind {
	case advice.SoftRule:
		return w.holdsSoft(a)
	case advice.FewerReplicas:
		return w.holdsScaled(a)
	case advice.HigherPriority:
		if a.Fix != nil && !strings.Contains(string(a.Fix.Patch), "priorityClassName: class-") {
			return fmt.Errorf("the patch has no PriorityClass: %s", a.Fix.Patch)
		}
		return verdict(w.raised(a.Priority))
	case advice.MovedPod:
		return w.holdsMoved(a)
	}
	return fmt.Errorf("the kind %q is not known", a.Kind)
}

func verdict(helps bool, err error) error {
	if err == nil && !helps {
		return errUnplaced
	}
	return err
}

// holdsSoft deletes all pods of the workload, and creates them as the patch has them.
func (w *advised) holdsSoft(a *advice.Advice) error {
	if a.Fix == nil {
		return verdict(w.softened(int(a.Rule.GetIndex())))
	}
	m := &making{Case: w.Case, pod: w.pods[0].DeepCopy()}
	if err := m.patch(a.Fix.Patch); err != nil {
		return err
	}
	pods := w.replicas(len(w.siblings)+len(w.pods), func(p *corev1.Pod) { p.Spec = *m.pod.Spec.DeepCopy() })
	x := w.world(pods, w.Whole, w.siblings...)
	out, err := x.play()
	if err != nil {
		return err
	}
	return verdict(out.all(pods), nil)
}

// holdsScaled deletes pending pods, as the controller does before others: the rest have nodes.
func (w *advised) holdsScaled(a *advice.Advice) error {
	want := fmt.Sprintf("--replicas=%d", a.Replicas)
	if a.Fix == nil || len(a.Fix.Commands) != 1 || !strings.HasSuffix(a.Fix.Commands[0], want) {
		return fmt.Errorf("no command with %s", want)
	}
	left := int(a.Replicas) - len(w.siblings)
	if left < 0 || left >= len(w.pods) {
		return fmt.Errorf("%d replicas of %d on nodes and %d pending", a.Replicas, len(w.siblings), len(w.pods))
	}
	pods := w.replicas(left, func(*corev1.Pod) {})
	out, err := w.world(pods, w.Whole).play()
	if err != nil {
		return err
	}
	return verdict(out.all(pods), nil)
}

// holdsMoved runs the commands.
func (w *advised) holdsMoved(a *advice.Advice) error {
	for _, p := range w.Pods {
		if p.Name != a.Pod.Name {
			continue
		}
		node := p.Spec.NodeName
		cordoned := slices.ContainsFunc(w.Nodes, func(n *corev1.Node) bool { return n.Name == node && n.Spec.Unschedulable })
		want := []string{"kubectl cordon " + node, "kubectl delete pod " + p.Name + " --namespace=default"}
		if cordoned {
			want = want[1:]
		}
		if a.Fix == nil || !slices.Equal(a.Fix.Commands, want) {
			return fmt.Errorf("the commands are not %v", want)
		}
		return verdict(w.moved(p))
	}
	return errors.New("there is no such pod")
}

// missing has kube-scheduler try all changes, and reports helpful changes that are not advised.
func (w *advised) missing(r *Result, given []advice.Advice) error {
	has := func(kind advice.Kind, of func(*advice.Advice) bool) bool {
		return slices.ContainsFunc(given, func(a advice.Advice) bool { return a.Kind == kind && of(&a) })
	}
	helps := func(kind advice.Kind, of func(*advice.Advice) bool, text string) {
		count(&r.Remedies.Sufficient, "advice "+string(kind), 1)
		if !has(kind, of) {
			r.differ(text, "not offered advice "+string(kind), errors.New("kube-scheduler then places all of the pods"))
		}
	}
	soft, err := w.softTerms()
	if err != nil {
		return err
	}
	for _, i := range soft {
		helps(advice.SoftRule, func(a *advice.Advice) bool { return int(a.Rule.GetIndex()) == i }, fmt.Sprint("term ", i))
	}
	scaled := slices.Contains([]string{"Deployment", "ReplicaSet", "ReplicationController"}, w.workload.Kind)
	if fits := len(w.siblings) + w.placed; len(soft) > 0 && scaled && fits > 0 {
		helps(advice.FewerReplicas, func(a *advice.Advice) bool { return int(a.Replicas) == fits }, fmt.Sprint(fits, " replicas"))
	}
	if w.preemptsByPriority() {
		for _, priority := range w.priorities() {
			ok, err := w.raised(priority)
			if err != nil {
				return err
			}
			if ok {
				helps(advice.HigherPriority, func(a *advice.Advice) bool { return a.Priority == priority }, fmt.Sprint("priority ", priority))
				break
			}
		}
	}
	for _, p := range w.companions() {
		ok, err := w.moved(p)
		if err != nil {
			return err
		}
		if ok {
			helps(advice.MovedPod, func(*advice.Advice) bool { return true }, p.Name)
			break
		}
	}
	return nil
}

// softTerms are the anti-affinity terms that help as preferences of all pods, where nothing but the rules keeps the pods from nodes: placed
// again without a change, not all have nodes. A term that helps as a preference of the pending pods alone is a change.
func (w *advised) softTerms() ([]int, error) {
	a := w.pods[0].Spec.Affinity
	if !w.owned() || a == nil || a.PodAntiAffinity == nil || len(w.siblings)+w.placed == 0 {
		return nil, nil
	}
	if ok, err := w.placeAgain(func(*corev1.Pod) {}); ok || err != nil {
		return nil, err
	}
	var out []int
	for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		change := slices.ContainsFunc(w.offered, func(c *stowagev1.Change) bool {
			r := c.GetPreferredRule()
			return r.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY && int(r.GetIndex()) == i
		})
		if change {
			continue
		}
		ok, err := w.softened(i)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, i)
		}
	}
	return out, nil
}

// softened makes a required term a preference of all pods, which are placed again.
func (w *advised) softened(term int) (bool, error) {
	return w.placeAgain(func(p *corev1.Pod) {
		a := p.Spec.Affinity.PodAntiAffinity
		t := a.RequiredDuringSchedulingIgnoredDuringExecution[term]
		a.RequiredDuringSchedulingIgnoredDuringExecution = slices.Delete(a.RequiredDuringSchedulingIgnoredDuringExecution, term, term+1)
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: t})
	})
}

// placeAgain places all pods of the workload, with a change.
func (w *advised) placeAgain(change func(*corev1.Pod)) (bool, error) {
	pods := w.replicas(len(w.siblings)+len(w.pods), change)
	out, err := w.world(pods, w.Whole, w.siblings...).play()
	if err != nil {
		return false, err
	}
	return out.all(pods), nil
}

// preemptsByPriority reports whether a higher priority may help where nothing simpler does.
func (w *advised) preemptsByPriority() bool {
	policy := w.pods[0].Spec.PreemptionPolicy
	never := policy != nil && *policy == corev1.PreemptNever
	return !never && !w.preempts && !slices.ContainsFunc(w.offered, func(c *stowagev1.Change) bool { return c.GetVictims() != nil })
}

// priorities are the ones of PriorityClasses above the pod's, or else one above each pod on a node.
func (w *advised) priorities() []int32 {
	own := corev1helpers.PodPriority(w.pods[0])
	var out []int32
	for _, c := range w.PriorityClasses {
		if c.Value > own {
			out = append(out, c.Value)
		}
	}
	if len(out) == 0 {
		for _, p := range w.Pods {
			if v := corev1helpers.PodPriority(p); v >= own {
				out = append(out, v+1)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// raised gives the pending pods a priority, by which they evict others, but none of their own workload.
func (w *advised) raised(priority int32) (bool, error) {
	pods := w.replicas(len(w.pods), func(p *corev1.Pod) { p.Spec.Priority = &priority })
	out, err := w.world(pods, true).play()
	if err != nil {
		return false, err
	}
	own := slices.ContainsFunc(out.victims, func(v *corev1.Pod) bool {
		return slices.ContainsFunc(w.siblings, func(s *corev1.Pod) bool { return s.Name == v.Name })
	})
	return out.all(pods) && len(out.victims) > 0 && !own, nil
}

// companions are the pods that a required affinity term selects, and that come back if they are deleted.
func (w *advised) companions() []*corev1.Pod {
	a := w.pods[0].Spec.Affinity
	if a == nil || a.PodAffinity == nil {
		return nil
	}
	var out []*corev1.Pod
	for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		for _, p := range w.Pods {
			if err == nil && selector.Matches(labels.Set(p.Labels)) && scenario.Returns(p) && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// moved cordons the node of a pod and deletes the pod: its replacement and the workload's pods have nodes, without evictions.
func (w *advised) moved(p *corev1.Pod) (bool, error) {
	x := w.world(w.pods, true, p)
	x.nodes = scenario.Cordon(x.nodes, []string{p.Spec.NodeName})
	again := scenario.Again(p, "again")
	x.queue = append(x.queue, again)
	out, err := x.play()
	if err != nil {
		return false, err
	}
	return out.all(append(slices.Clone(w.pods), again)) && len(out.victims) == 0, nil
}
