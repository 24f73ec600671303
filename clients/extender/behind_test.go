package extender

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFilterWaitsForEventsThatKubeSchedulerHasSeen expects that a node counts as kube-scheduler sees it, once the event comes, and that
// nothing is waited for if only rules reject nodes that kube-scheduler leaves to the extender.
func TestFilterWaitsForEventsThatKubeSchedulerHasSeen(t *testing.T) {
	cordoned := makeNode("a", "z1")
	cordoned.Spec.Unschedulable = true
	w := start(t, Options{EventWait: patience}, cordoned, makeNode("b", "z2"), on(apart(makePod("web-1", "web"), corev1.LabelTopologyZone), "b"))
	web := apart(makePod("web-2", "web"), corev1.LabelTopologyZone)
	begin := time.Now()
	if got := w.filter(web, "b"); len(*got.NodeNames) > 0 || time.Since(begin) > patience/2 {
		t.Errorf("%+v after %v", got, time.Since(begin))
	}
	late := time.AfterFunc(100*time.Millisecond, func() {
		if _, err := w.api.CoreV1().Nodes().Update(t.Context(), makeNode("a", "z1"), metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	defer late.Stop()
	if got := w.filter(web, "a", "b"); !slices.Equal(*got.NodeNames, []string{"a"}) {
		t.Errorf("%+v", got)
	}
	time.AfterFunc(100*time.Millisecond, func() {
		if _, err := w.api.CoreV1().Nodes().Create(t.Context(), makeNode("c", "z3"), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	if got := w.filter(apart(makePod("web-3", "web"), corev1.LabelTopologyZone), "b", "c"); !slices.Equal(*got.NodeNames, []string{"c"}) {
		t.Errorf("%+v", got)
	}
}

// TestFilterWaitsNoLonger expects the rejection if no event comes.
func TestFilterWaitsNoLonger(t *testing.T) {
	cordoned := makeNode("a", "z1")
	cordoned.Spec.Unschedulable = true
	w := start(t, Options{EventWait: 50 * time.Millisecond}, cordoned)
	if got := w.filter(makePod("p", "p"), "a"); got.FailedAndUnresolvableNodes["a"] != "node(s) were unschedulable" {
		t.Errorf("%+v", got)
	}
}
