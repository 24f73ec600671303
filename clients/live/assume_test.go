package live_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
)

func TestHeldAssumptionsCountUntilTheirHolderSaysOtherwise(t *testing.T) {
	w := start(t, live.Options{AssumeFor: 50 * time.Millisecond}, makeNode("a", "z1"), makeNode("b", "z2"), makeNode("c", "z3"))
	first, second, other := makePod("web-1", "web", corev1.LabelHostname), makePod("web-2", "web", corev1.LabelHostname), makePod("web-3", "web", corev1.LabelHostname)
	if err := w.Assume(nil, live.Assumption{Pod: first, Node: "a", Held: true}, live.Assumption{Pod: second, Node: "b", Held: true}); err != nil {
		t.Fatal(err)
	}
	// When two have expired that came later and one after the other, every assumption of before has been looked through.
	for range 2 {
		marker := makePod("marker", "marker", corev1.LabelHostname)
		if err := w.Assume(nil, live.Assumption{Pod: marker, Node: "c"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the marker expires", func() bool { node, _ := w.NodeOf(marker.UID); return node == "" })
	}
	w.feasible(other, "c")
	w.Forget(first.UID)
	w.feasible(other, "a", "c")
	if !w.Extend(second.UID, "b") {
		t.Error("what is held is not assumed")
	}
	w.soon(other, "a", "b", "c")
}

func TestWhatIsFoundOfAssumedPodsCounts(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"))
	pod, other := makePod("web-1", "web", corev1.LabelHostname), makePod("web-2", "web", corev1.LabelHostname)
	w.Found(on(pod, "b")) // it may be gone by now
	w.feasible(other, "a", "b")
	if err := w.Assume(nil, live.Assumption{Pod: pod, Node: "a", Held: true}); err != nil {
		t.Fatal(err)
	}
	w.Found(pod)
	w.feasible(other, "b")
	w.Found(on(pod, "b"))
	w.Forget(pod.UID)
	w.feasible(other, "a")
}
