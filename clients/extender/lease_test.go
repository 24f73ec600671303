package extender

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/lease"
)

// fakeLease is a lease that the test gives and takes.
type fakeLease struct {
	term    uint64
	checked func() // if set, called when a Check returns nil
}

func (l *fakeLease) Term() uint64 { return l.term }

func (l *fakeLease) Check(context.Context) error {
	if l.term == 0 {
		return errors.New("the lease is not held")
	}
	if l.checked != nil {
		l.checked()
	}
	return nil
}

// Without its lease, a kube-scheduler that hung may call for what another one has decided otherwise meanwhile.
func TestNothingIsBoundWithoutTheLease(t *testing.T) {
	held := &fakeLease{}
	pod := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
	w := start(t, Options{Lease: held}, makeNode("a", "z1"), pod)
	w.filter(pod, "a")
	if err := w.bindTo(pod, "a"); !strings.Contains(err, "the lease is not held") || w.api.tried > 0 {
		t.Errorf("bound %d times: %q", w.api.tried, err)
	}
	if n := w.count("stowage.extender.binds", "result", "fenced"); n != 1 {
		t.Errorf("%d binds are counted as fenced", n)
	}
	held.term = 1
	w.filter(pod, "a")
	if err := w.bindTo(pod, "a"); err != "" || w.api.nodeOf(pod) != "a" {
		t.Errorf("bound to %q: %q", w.api.nodeOf(pod), err)
	}
	w.api.events.Wait()
}

// The lease ends right after it was checked.
func TestNothingIsBoundInNoTerm(t *testing.T) {
	held := &fakeLease{term: 1}
	held.checked = func() { held.term = 0 }
	pod := makePod("web-1", "web")
	w := start(t, Options{Lease: held}, makeNode("a", "z1"), pod)
	w.filter(pod, "a")
	if err := w.bindTo(pod, "a"); !strings.Contains(err, lease.ErrNotHeld.Error()) || w.api.tried > 0 {
		t.Errorf("bound %d times: %q", w.api.tried, err)
	}
}

// The lease is lost between the commit and the request: nothing is sent, and the pod does not count on the node.
func TestABindWhoseTermEnds(t *testing.T) {
	for name, next := range map[string]uint64{"not held": 0, "another term": 2} {
		t.Run(name, func(t *testing.T) {
			held := &fakeLease{term: 1}
			pod := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
			w := start(t, Options{Lease: held}, makeNode("a", "z1"), pod)
			w.filter(pod, "a")
			tries := 0
			w.api.waited = func() {
				tries++
				held.term = next
			}
			err := w.bindTo(pod, "a")
			if next == 0 {
				if node, _ := w.cluster.NodeOf(pod.UID); !strings.Contains(err, "the lease is not held") || w.api.tried > 0 || node != "" {
					t.Errorf("bound %d times, counts on %q: %q", w.api.tried, node, err)
				}
			} else if err != "" || tries != 2 || w.api.nodeOf(pod) != "a" {
				t.Errorf("bound to %q after %d tries: %q", w.api.nodeOf(pod), tries, err)
			}
			w.api.events.Wait()
		})
	}
}

// A connection of another term, or one that cannot be made, sends nothing: the pod is committed again at once.
func TestABindOnAConnectionOfAnotherTerm(t *testing.T) {
	pod := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
	w := start(t, Options{Lease: &fakeLease{term: 1}}, makeNode("a", "z1"), pod)
	w.filter(pod, "a")
	tries := 0
	w.api.dial = func() error {
		if tries++; tries == 1 {
			return fmt.Errorf("connecting: %w", lease.ErrNotHeld)
		}
		return nil
	}
	if err := w.bindTo(pod, "a"); err != "" || tries != 2 || w.api.nodeOf(pod) != "a" {
		t.Errorf("bound to %q after %d tries: %q", w.api.nodeOf(pod), tries, err)
	}
	w.api.events.Wait()
}

// The connection fails after the bind was sent, because the term has ended: the API server may have carried out the bind or
// still do so, and the pod counts on its node.
func TestABindWhoseConnectionFailsInAnotherTerm(t *testing.T) {
	for name, carriedOut := range map[string]bool{"carried out": true, "on its way": false} {
		t.Run(name, func(t *testing.T) {
			held := &fakeLease{term: 1}
			pod := apart(makePod("web-1", "web"), corev1.LabelTopologyZone)
			w := start(t, Options{Lease: held}, makeNode("a", "z1"), pod)
			w.filter(pod, "a")
			sent := 0
			w.api.sent = func() error {
				sent++
				held.term = 2
				failed := fmt.Errorf("the connection: %w", lease.ErrNotHeld)
				if !carriedOut {
					return failed
				}
				return errors.Join(failed, w.api.bind(&corev1.Binding{
					ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
					Target:     corev1.ObjectReference{Name: "a"},
				}))
			}
			err := w.bindTo(pod, "a")
			if node, _ := w.cluster.NodeOf(pod.UID); sent != 1 || node != "a" || (err == "") != carriedOut {
				t.Errorf("sent %d times, counts on %q: %q", sent, node, err)
			}
			w.api.events.Wait()
		})
	}
}
