package simulations_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/simulate"
)

// The calls of ClusterSnapshot of sigs.k8s.io/scheduler-library (pkg/upstreamsync/snapshot, v0.1.0-alpha1), restated without the
// types of kube-scheduler's framework: a placement is a set of nodes, and a status is a text.
type (
	schedulePodsOptions           struct{ DryRun, StopOnFailure bool }
	schedulePodsByTemplateOptions struct{ DryRun bool }
	scheduleWorkloadOptions       struct{ DryRun bool }
	transactionResult             int
	schedulingResult              struct {
		Pod              *corev1.Pod
		Status           string // "" for success
		SelectedNodeName string
	}
)

const (
	commitTransaction transactionResult = iota
	revertTransaction
)

// librarySnapshot is such a ClusterSnapshot. Unlike the library's, its transactions nest, and it can be forked. Schedule
// takes the node that kube-scheduler would take, where the library takes any feasible one.
type librarySnapshot struct {
	s      *simulate.Snapshot
	groups map[string]*schedulingv1beta1.PodGroup // by namespace and name
}

func (l *librarySnapshot) MakePlacement(names []string) (*simulate.Nodes, error) {
	return l.s.Nodes(names...)
}

func (l *librarySnapshot) CanSchedulePod(ctx context.Context, p *corev1.Pod, placement *simulate.Nodes) (
	[]string, *simulate.Why, error,
) {
	if placement == nil || placement.Len() == 0 {
		return nil, nil, nil
	}
	found, err := l.s.Feasible(ctx, p, placement)
	if err != nil {
		return nil, nil, err
	}
	return found.Nodes, &found.Why, nil
}

func (l *librarySnapshot) SchedulePods(ctx context.Context, pods []*corev1.Pod, placement *simulate.Nodes,
	o schedulePodsOptions,
) ([]schedulingResult, error) {
	if placement == nil || placement.Len() == 0 {
		return nil, nil
	}
	options := simulate.ScheduleOptions{Nodes: placement, DryRun: o.DryRun, Stop: o.StopOnFailure}
	return libraryResults(l.s.Schedule(ctx, pods, options))
}

func (l *librarySnapshot) SchedulePodsByTemplate(ctx context.Context, t *corev1.PodTemplateSpec, placement *simulate.Nodes,
	maxPods int, o schedulePodsByTemplateOptions,
) ([]schedulingResult, error) {
	if placement == nil || placement.Len() == 0 {
		return nil, nil
	}
	return libraryResults(l.s.ScheduleTemplate(ctx, t, maxPods, simulate.ScheduleOptions{Nodes: placement, DryRun: o.DryRun}))
}

// ScheduleWorkload schedules the pods of one PodGroup.
func (l *librarySnapshot) ScheduleWorkload(ctx context.Context, pods []*corev1.Pod, o scheduleWorkloadOptions) (
	[]schedulingResult, error,
) {
	if len(pods) == 0 {
		return nil, nil
	}
	g := l.groups[convert.PodGroupName(pods[0])]
	if g == nil {
		return nil, fmt.Errorf("there is no pod group %q", convert.PodGroupName(pods[0]))
	}
	result, err := l.s.ScheduleGroup(ctx, g, pods, simulate.ScheduleOptions{DryRun: o.DryRun})
	if err != nil {
		return nil, err
	}
	return libraryResults(result.Results, nil)
}

func libraryResults(results []simulate.Result, err error) (out []schedulingResult, _ error) {
	for _, r := range results {
		p := r.Pod.DeepCopy()
		to := schedulingResult{Pod: p, SelectedNodeName: r.Node}
		if r.Why != nil {
			to.Status = r.Why.Message
		} else {
			p.Spec.NodeName = r.Node
		}
		out = append(out, to)
	}
	return out, err
}

func (l *librarySnapshot) PreemptPods(_ context.Context, pods []*corev1.Pod) (*simulate.Evicted, error) {
	var names []types.NamespacedName
	for _, p := range pods {
		if p.Spec.NodeName == "" || l.s.NodeOf(p.Namespace, p.Name) != p.Spec.NodeName {
			return nil, fmt.Errorf("pod %s/%s is not on node %q", p.Namespace, p.Name, p.Spec.NodeName)
		}
		names = append(names, types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
	return l.s.Evict(names...)
}

func (l *librarySnapshot) Unpreempt(e *simulate.Evicted) ([]*corev1.Pod, error) {
	if err := l.s.Restore(e); err != nil {
		return nil, err
	}
	return e.Pods(), nil
}

func (l *librarySnapshot) Transaction(_ context.Context, do func() (transactionResult, error)) error {
	return l.s.Transaction(func() error {
		result, err := do()
		if err == nil && result == revertTransaction {
			return simulate.ErrRevert
		}
		return err
	})
}

// What a controller does with the library: it looks for the fewest pods to preempt so that a workload fits.
func TestSchedulerLibrary(t *testing.T) {
	low := []*corev1.Pod{on("a", pod("low-0", "x", "1")), on("a", pod("low-1", "x", "1")), on("b", pod("low-2", "x", "1"))}
	gang := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gang"}}
	gang.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}
	l := &librarySnapshot{
		s:      snapshot(t, dial(t), []*corev1.Node{node("a", "z1", "2"), node("b", "z2", "2")}, low),
		groups: map[string]*schedulingv1beta1.PodGroup{"shop/gang": gang},
	}
	all, err := l.MakePlacement([]string{"a", "b"})
	must(t, err)
	if _, err := l.MakePlacement([]string{"c"}); err == nil {
		t.Error("there is a placement with an unknown node")
	}
	var members []*corev1.Pod
	for i := range 2 {
		p := pod(fmt.Sprint("member-", i), "y", "2")
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("gang")}
		members = append(members, p)
	}
	feasible, why, err := l.CanSchedulePod(t.Context(), members[0], all)
	must(t, err)
	diff(t, 0, len(feasible))
	diff(t, "0/2 nodes are available: 2 Insufficient cpu.", why.Message)
	fits := func() bool {
		results, err := l.ScheduleWorkload(t.Context(), members, scheduleWorkloadOptions{DryRun: true})
		must(t, err)
		return results[0].SelectedNodeName != "" && results[1].SelectedNodeName != ""
	}
	var kept []string
	err = l.Transaction(t.Context(), func() (transactionResult, error) {
		if _, err := l.PreemptPods(t.Context(), low); err != nil || !fits() {
			return revertTransaction, err
		}
		return revertTransaction, nil
	})
	must(t, err)
	diff(t, 2, len(l.s.PodsOn("a")))
	err = l.Transaction(t.Context(), func() (transactionResult, error) {
		for _, p := range low { // who can stay
			u, err := l.PreemptPods(t.Context(), []*corev1.Pod{p})
			if err != nil {
				return revertTransaction, err
			}
			if !fits() {
				continue
			}
			if _, err := l.Unpreempt(u); err != nil {
				return revertTransaction, err
			}
			kept = append(kept, p.Name)
		}
		return commitTransaction, nil
	})
	must(t, err)
	diff(t, []string{"low-2"}, kept)
	broken := errors.New("broken")
	fails := func() (transactionResult, error) { return commitTransaction, broken }
	if err := l.Transaction(t.Context(), fails); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	a, err := l.MakePlacement([]string{"a"})
	must(t, err)
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Name: "t", Namespace: "shop"}, Spec: pod("", "", "1").Spec}
	by, err := l.SchedulePodsByTemplate(t.Context(), template, a, 9, schedulePodsByTemplateOptions{DryRun: true})
	must(t, err)
	diff(t, 3, len(by)) // the last one has no node
	three := []*corev1.Pod{pod("p", "x", "1"), pod("large", "x", "9"), pod("q", "x", "1")}
	done, err := l.SchedulePods(t.Context(), three, a, schedulePodsOptions{})
	must(t, err)
	diff(t, []string{"a", "", "a"}, []string{done[0].SelectedNodeName, done[1].SelectedNodeName, done[2].SelectedNodeName})
	// The copy that a result has is what PreemptPods takes.
	u, err := l.PreemptPods(t.Context(), []*corev1.Pod{done[0].Pod})
	must(t, err)
	diff(t, 1, len(u.Pods()))
	if _, err := l.PreemptPods(t.Context(), []*corev1.Pod{done[1].Pod}); err == nil {
		t.Error("a pod without a node was preempted")
	}
}
