package live_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// delta is the difference of the current view to a base that the first view had.
func (w *world) delta() *stowagev1.ClusterDelta {
	v, err := w.View()
	if err != nil {
		w.t.Fatal(err)
	}
	return v.Reference().Delta
}

// quietly makes a change that the next view must show, and that must not count as one that decisions about nodes read.
func (w *world) quietly(what string, change func() error, shows func(*stowagev1.ClusterDelta) bool) {
	w.t.Helper()
	before, err := w.View()
	if err != nil {
		w.t.Fatal(err)
	}
	changed := w.Changed()
	if err := change(); err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, what, func() bool { return shows(w.delta()) })
	select {
	case <-changed:
		w.t.Errorf("%s: counts as a change", what)
	default:
	}
	if after, err := w.View(); err != nil || after.Version() != before.Version() {
		w.t.Errorf("%s: version %d, before %d, %v", what, after.Version(), before.Version(), err)
	}
	if anything, there := w.Since(before.Version(), "a"); anything || there {
		w.t.Errorf("%s: counts as an event since then", what)
	}
	if _, err := w.nodes(makePod("new", "new", "zone")); err != nil {
		w.t.Errorf("%s: the server says %v", what, err)
	}
}

func TestPodDisruptionBudgetsComeAndGo(t *testing.T) {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
	}
	w := start(t, live.Options{}, makeNode("a", "z"))
	if d := w.delta(); d != nil {
		t.Fatalf("the first view has a delta: %v", d)
	}
	budgets, ctx := w.api.PolicyV1().PodDisruptionBudgets("shop"), t.Context()
	want := &stowagev1.PodDisruptionBudget{
		Namespace: "shop", Name: "web", Selector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, DisruptionsAllowed: 1,
	}
	states := func(want *stowagev1.PodDisruptionBudget) func(*stowagev1.ClusterDelta) bool {
		return func(d *stowagev1.ClusterDelta) bool {
			return len(d.GetPodDisruptionBudgets()) == 1 && proto.Equal(d.PodDisruptionBudgets[0], want)
		}
	}
	w.quietly("a budget is created", func() error { _, err := budgets.Create(ctx, budget, metav1.CreateOptions{}); return err }, states(want))
	changed := budget.DeepCopy()
	changed.Status = policyv1.PodDisruptionBudgetStatus{DisruptedPods: map[string]metav1.Time{"web-1": {Time: time.Now()}}}
	gone := proto.CloneOf(want)
	gone.DisruptionsAllowed, gone.DisruptedPods = 0, []string{"web-1"}
	w.quietly("its status changes", func() error { _, err := budgets.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); return err }, states(gone))
	w.quietly("a budget is deleted", func() error { return budgets.Delete(ctx, "web", metav1.DeleteOptions{}) },
		func(d *stowagev1.ClusterDelta) bool { return d == nil })

	// One that the base has.
	w = start(t, live.Options{}, makeNode("a", "z"), budget)
	if d := w.delta(); d != nil {
		t.Fatalf("the first view has a delta: %v", d)
	}
	w.quietly("a budget of the base is deleted", func() error {
		return w.api.PolicyV1().PodDisruptionBudgets("shop").Delete(ctx, "web", metav1.DeleteOptions{})
	}, func(d *stowagev1.ClusterDelta) bool {
		return len(d.GetRemovedPodDisruptionBudgets()) == 1 && d.RemovedPodDisruptionBudgets[0].Name == "web" && len(d.PodDisruptionBudgets) == 0
	})
}

func TestStartTimesOption(t *testing.T) {
	at := metav1.Unix(1_700_000_000, 0)
	pod := on(makePod("web", "web", "zone"), "a")
	started := pod.DeepCopy()
	started.Status.StartTime = &at
	w := start(t, live.Options{StartTimes: true}, makeNode("a", "z"), pod)
	_ = w.delta()
	w.quietly("the pod starts", func() error {
		_, err := w.api.CoreV1().Pods("default").UpdateStatus(t.Context(), started, metav1.UpdateOptions{})
		return err
	}, func(d *stowagev1.ClusterDelta) bool {
		return len(d.GetNodes()) == 1 && len(d.Nodes[0].Pods) == 1 && d.Nodes[0].Pods[0].Name == "web" &&
			d.Nodes[0].Pods[0].StartTime.GetSeconds() == at.Unix()
	})

	// Elsewhere equal pods are counted.
	w = start(t, live.Options{}, makeNode("a", "z"))
	_ = w.delta()
	if _, err := w.api.CoreV1().Pods("default").Create(t.Context(), started, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is counted", func() bool {
		d := w.delta()
		return len(d.GetNodePods()) == 1 && len(d.NodePods[0].PodCounts) == 1 && len(d.NodePods[0].Pods) == 0
	})
}

// The snapshot marks kube-scheduler's terminating victims, with or without start times.
func TestPreemptedPodsAreMarked(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z"), on(makePod("web", "web", "zone"), "a"))
	_ = w.delta()
	victim := on(makePod("web", "web", "zone"), "a")
	victim.DeletionTimestamp, victim.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/f"}
	victim.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
	}}
	if _, err := w.api.CoreV1().Pods("default").Update(t.Context(), victim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is preempted", func() bool {
		d := w.delta()
		return len(d.GetNodes()) == 1 && len(d.Nodes[0].Pods) == 1 && d.Nodes[0].Pods[0].Preempted && d.Nodes[0].Pods[0].Terminating
	})
}
