package extender

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A decision that is more than a second old, by either clock, is made again when the pod is bound: a process that hung does not
// know at once what has changed meanwhile.
func TestAnOldDecisionIsRepeated(t *testing.T) {
	for _, decide := range []Decide{AtBind, AtFilter} {
		for _, c := range []struct {
			name  string
			made  func(time.Time) time.Time
			again int64
		}{
			{"fresh", func(made time.Time) time.Time { return made.Add(time.Hour) }, 0}, // however slow the test is
			{"old", func(made time.Time) time.Time { return made.Add(-2 * time.Second) }, 1},
			{"old by the wall clock", func(made time.Time) time.Time { return made.Round(0).Add(-2 * time.Second) }, 1},
		} {
			t.Run(string(decide)+", "+c.name, func(t *testing.T) {
				pod := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
				w := start(t, Options{Decide: decide}, makeNode("a", "z1"), pod)
				if got := w.filter(pod, "a"); !slices.Equal(*got.NodeNames, []string{"a"}) {
					t.Fatalf("%+v", got)
				}
				before := w.count("stowage.extender.evaluations", "by", "stowage")
				w.decisions.change(pod.UID, func(d *decision) { d.made = c.made(d.made) })
				if err := w.bindTo(pod, "a"); err != "" || w.api.nodeOf(pod) != "a" {
					t.Errorf("bound to %q: %s", w.api.nodeOf(pod), err)
				}
				if again := w.count("stowage.extender.evaluations", "by", "stowage") - before; again != c.again {
					t.Errorf("decided again %d times, want %d", again, c.again)
				}
				w.api.events.Wait()
			})
		}
	}
}

// The client waits after the commit, for its limit of requests or because the process hung, and another scheduler takes the
// node: what was committed is not sent.
func TestABindThatIsSentTooLateIsCommittedAgain(t *testing.T) {
	for name, taken := range map[string]bool{"the node takes it still": false, "the node has been taken": true} {
		t.Run(name, func(t *testing.T) {
			pod := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
			w := start(t, Options{}, makeNode("a", "z1"), makeNode("b", "z2"), pod)
			w.filter(pod, "a", "b")
			waits := 0
			w.api.waited = func() {
				if waits++; waits > 1 {
					return
				}
				past := time.Now().Add(-2 * time.Second)
				w.decisions.change(pod.UID, func(d *decision) { d.made, d.committed = past, past })
				if taken {
					other := on(makePod("web-2", "web"), "a")
					w.create(other)
					eventually(t, "the informer shows it", func() bool { node, _ := w.cluster.NodeOf(other.UID); return node != "" })
				}
			}
			err := w.bindTo(pod, "a")
			if taken {
				if !strings.Contains(err, "is no longer feasible") || w.api.nodeOf(pod) != "" {
					t.Errorf("bound to %q: %q", w.api.nodeOf(pod), err)
				}
				if node, _ := w.cluster.NodeOf(pod.UID); node != "" {
					t.Errorf("it counts on %s", node)
				}
			} else if err != "" || w.api.nodeOf(pod) != "a" || waits != 2 {
				t.Errorf("bound to %q after %d tries: %q", w.api.nodeOf(pod), waits, err)
			}
			w.api.events.Wait()
		})
	}
}
