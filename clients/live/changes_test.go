package live_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
)

// version is the cluster's current version.
func (w *world) version() (version uint64) {
	w.t.Helper()
	err := w.Ask(w.t.Context(), func(_ context.Context, v *live.View) error { version = v.Version(); return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	return version
}

func TestOnlyEventsChangeWhatADecisionRestsOn(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"))
	since := w.version()
	unchanged := func(after string) {
		t.Helper()
		if anything, there := w.Since(since, "a"); anything || there {
			t.Errorf("%s: changed, on the node: %v", after, there)
		}
	}
	unchanged("nothing")
	own, other := makePod("own", "web", corev1.LabelHostname), makePod("other", "web", corev1.LabelHostname)
	if err := w.Assume(nil, live.Assumption{Pod: own, Node: "a", Held: true}, live.Assumption{Pod: other, Node: "b"}); err != nil {
		t.Fatal(err)
	}
	unchanged("assumed")
	w.Forget(other.UID)
	unchanged("forgotten")
	bound := on(own, "a")
	bound.Labels[corev1.LabelTopologyZone] = "z1" // as the API server does
	if _, err := w.api.CoreV1().Pods("default").Create(t.Context(), bound, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the event of the binding", func() bool { _, assumed := w.NodeOf(own.UID); return !assumed })
	unchanged("bound")
	if _, err := w.api.CoreV1().Pods("default").Create(t.Context(), on(other, "b"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a pod on another node", func() bool { anything, there := w.Since(since, "a"); return anything && !there })
	if _, there := w.Since(since, "b"); !there {
		t.Error("a pod that somebody else has bound does not change its node")
	}
	if anything, there := w.Since(w.version(), "b"); anything || there {
		t.Error("what is known counts as changed")
	}
	if err := w.api.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node goes", func() bool { _, there := w.Since(w.version(), "a"); return there })
}
