package batch

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// waitingPod is created some seconds after noon.
func waitingPod(name string, priority int32, second int, group string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(second) * time.Second)),
	}}
	p.Spec.Priority = &priority
	if group != "" {
		p.Labels = map[string]string{GroupNameLabel: group}
	}
	return p
}

func names(taken []candidate) []string {
	var out []string
	for _, c := range taken {
		out = append(out, c.pod.Name)
	}
	return out
}

func TestPodsAreTakenByPriorityThenByAgeAndGroupsTogether(t *testing.T) {
	q := newPendingPods()
	for _, p := range []*corev1.Pod{
		waitingPod("old", 0, 0, ""), waitingPod("young", 0, 9, ""), waitingPod("urgent", 5, 9, ""),
		waitingPod("g-late", 0, 8, "g"), waitingPod("g-early", 0, 1, "g"), waitingPod("between", 0, 2, ""),
	} {
		q.put(p, noon)
	}
	taken, next := q.take(noon, 0, 4)
	if d := cmp.Diff([]string{"urgent", "old", "g-early", "g-late"}, names(taken)); d != "" || !next.Equal(noon) {
		t.Error(d, next)
	}
	taken, next = q.take(noon, 0, 4)
	if d := cmp.Diff([]string{"between", "young"}, names(taken)); d != "" || !next.IsZero() {
		t.Error(d, next)
	}
}

func TestAPodThatFoundNoNodeIsTriedAgainWhenThereIsReasonTo(t *testing.T) {
	q := newPendingPods()
	q.put(waitingPod("p", 0, 0, ""), noon)
	wait := time.Second
	for attempt := range 6 {
		taken, _ := q.take(noon, 1, 10)
		if len(taken) != 1 {
			t.Fatalf("attempt %d: %d pods", attempt, len(taken))
		}
		q.back(taken[0], noon, 1)
		if taken, next := q.take(noon.Add(longestWait), 1, 10); len(taken) > 0 || !next.Equal(noon.Add(wait+longestWait)) {
			t.Errorf("attempt %d: nothing has changed, and %d pods are taken, the next at %v", attempt, len(taken), next)
		}
		if taken, next := q.take(noon, 2, 10); len(taken) > 0 || !next.Equal(noon.Add(wait)) {
			t.Errorf("attempt %d: something has changed, and %d pods are taken, the next at %v", attempt, len(taken), next)
		}
		noon := noon.Add(wait)
		taken, _ = q.take(noon, 2, 10)
		if len(taken) != 1 {
			t.Fatalf("attempt %d: not taken after its backoff", attempt)
		}
		// Back to where it was, but for its attempts.
		q.pods["p"].state, q.pods["p"].after = waiting, time.Time{}
		q.pods["p"].tried = 0
		wait = min(2*wait, maximumBackoff)
	}
}

func TestAPodThatChangesWhileItIsPlacedIsNew(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		again  bool
	}{
		{"labels", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, true},
		{"spec", func(p *corev1.Pod) { p.Generation++ }, true},
		{"status", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := newPendingPods()
			p := waitingPod("p", 0, 0, "")
			q.put(p, noon)
			taken, _ := q.take(noon, 1, 10)
			p = p.DeepCopy()
			c.change(p)
			q.put(p, noon)
			q.back(taken[0], noon, 1)
			taken, _ = q.take(noon, 1, 10)
			if again := len(taken) == 1; again != c.again {
				t.Errorf("taken again: %v", again)
			}
		})
	}
}

func TestANewPodOfAGroupBringsTheOthers(t *testing.T) {
	q := newPendingPods()
	q.put(waitingPod("g-1", 0, 0, "g"), noon)
	taken, _ := q.take(noon, 1, 10)
	q.back(taken[0], noon, 1)
	if taken, _ := q.take(noon, 1, 10); len(taken) > 0 {
		t.Fatal(names(taken))
	}
	q.put(waitingPod("g-2", 0, 1, "g"), noon)
	taken, _ = q.take(noon, 1, 10)
	q.put(waitingPod("g-3", 0, 2, "g"), noon)
	if taken, _ := q.take(noon, 1, 10); len(taken) > 0 {
		t.Errorf("%v are taken while others of their group are being placed", names(taken))
	}
	if d := cmp.Diff([]string{"g-1", "g-2"}, names(taken)); d != "" {
		t.Error(d)
	}
}

func TestBatchesAreCutBetweenGroups(t *testing.T) {
	var pods []candidate
	for i, group := range []string{"", "g", "g", "g", "", "h", "h"} {
		pods = append(pods, candidate{pod: waitingPod(fmt.Sprint(i), 0, i, group)})
	}
	for n, want := range map[int]int{1: 1, 2: 4, 3: 4, 4: 4, 5: 5, 6: 7, 7: 7} {
		if got := wholeGroups(pods, n); got != want {
			t.Errorf("of %d pods %d, want %d", n, got, want)
		}
	}
}

func TestPodsThatDoNotWaitAnyMoreAreNotPlaced(t *testing.T) {
	q := newPendingPods()
	for _, name := range []string{"gone", "same", "changed", "moved"} {
		q.put(waitingPod(name, 0, 0, ""), noon)
	}
	taken, _ := q.take(noon, 1, 10)
	q.remove("gone")
	changed := waitingPod("changed", 0, 0, "")
	changed.Generation++
	q.put(changed, noon)
	q.put(waitingPod("moved", 0, 0, "g"), noon)
	now := q.current(taken)
	if d := cmp.Diff([]string{"changed", "same"}, names(now)); d != "" {
		t.Fatal(d)
	}
	if now[0].pod != changed {
		t.Error("a pod is placed as it was before")
	}
	again, _ := q.take(noon, 1, 10)
	if d := cmp.Diff([]string{"moved"}, names(again)); d != "" {
		t.Error(d)
	}
}
