package batch_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
)

var (
	podBinding = corev1.Resource("pods/binding")
	forbidden  = apierrors.NewForbidden(podBinding, "p", errors.New("not yet"))
	conflict   = apierrors.NewConflict(podBinding, "p", errors.New("the storage does not answer"))
	internal   = apierrors.NewInternalError(errors.New("a webhook does not answer"))
)

// requested waits until the API server has received a number of binding requests, and returns all of them.
func (w *world) requested(n int) (binds []string) {
	w.t.Helper()
	eventually(w.t, func() error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if binds = slices.Clone(w.binds); len(binds) < n {
			return fmt.Errorf("%d bindings are requested, want %d", len(binds), n)
		}
		return nil
	})
	return binds
}

// decided waits until a pod counts on a node, and returns that.
func (w *world) decided(p *corev1.Pod) (node string) {
	w.t.Helper()
	eventually(w.t, func() error {
		if node, _ = w.cluster.NodeOf(p.UID); node == "" {
			return errors.New(p.Name + " is nowhere")
		}
		return nil
	})
	return node
}

// block has bindings of some pods, all if none is named, wait until they are released.
func (w *world) block(names ...string) (release func()) {
	blocked := make(chan struct{})
	release = sync.OnceFunc(func() { close(blocked) })
	w.t.Cleanup(release)
	w.bad(func(pod string) error {
		if len(names) == 0 || slices.Contains(names, pod) {
			<-blocked
		}
		return nil
	}, nil, nil)
	return release
}

func TestPodsThatWaitToBeBoundCountHoweverLong(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{Binders: 1}, node("a", "1"), node("b", "1"), node("c", "0"))
	release := w.block()
	first, second := pod("first"), pod("second")
	w.create(first)
	w.requested(1)
	w.create(second)
	w.decided(second)
	w.expire("c")
	if on, _ := w.cluster.NodeOf(first.UID); on == "" {
		t.Error("a pod that is being bound does not count any more")
	}
	if on, _ := w.cluster.NodeOf(second.UID); on == "" {
		t.Error("a pod that waits to be bound does not count any more")
	}
	w.create(pod("third"))
	release()
	w.bound("first", "second")
	w.waits("third", "Insufficient cpu")
}

// A binding that was made is found, whatever the answer was, and not made again.
func TestABindingWhoseAnswerWasLostIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"connection": io.ErrUnexpectedEOF, "internal": internal, "conflict": conflict, "forbidden": forbidden,
		"timeout": apierrors.NewTimeoutError("no answer", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, batch.Options{}, node("a", "1"), node("b", "1"))
			var looks atomic.Int32
			w.bad(nil, func(string) error { return answer }, func(string) error {
				if looks.Add(1) <= 2 {
					return forbidden
				}
				return nil
			})
			w.create(pod("p"))
			on := w.bound("p")[0]
			event := <-w.events.Events
			if want := "Normal Scheduled Successfully assigned default/p to " + on; event != want {
				t.Errorf("event %q, want %q", event, want)
			}
			for _, b := range w.requested(1) {
				if b != "p "+on {
					t.Errorf("%q was requested", b)
				}
			}
		})
	}
}

// A pod that is not bound goes back and says why; others do not wait for that.
func TestABindingThatIsNotMadeStopsNoOther(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"forbidden": forbidden, "internal": internal, "conflict": conflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, batch.Options{Binders: 1}, node("a", "8"))
			var mended atomic.Bool
			w.bad(func(pod string) error {
				if strings.HasPrefix(pod, "bad") && !mended.Load() {
					return answer
				}
				return nil
			}, nil, nil)
			w.create(pod("bad-1"), pod("bad-2"))
			w.requested(1)
			w.create(pod("good"))
			w.bound("good")
			w.waits("bad-1", "cannot be bound: "+answer.Error())
			w.waits("bad-2", "cannot be bound: "+answer.Error())
			mended.Store(true)
			w.bound("bad-1", "bad-2")
		})
	}
}

// A binding that was not made yet may still be made. Until that is decided, the pod stays assumed and is not placed again.
func TestABindingThatMayStillBeMadeCounts(t *testing.T) {
	t.Parallel()
	w := startAssuming(t, time.Hour, batch.Options{}, node("a", "1"), node("b", "1"))
	w.bad(func(pod string) error {
		if pod == "p" {
			return internal
		}
		return forbidden
	}, nil, nil)
	p := pod("p")
	w.create(p)
	w.waits("p", "cannot be bound: "+internal.Error())
	if on, _ := w.cluster.NodeOf(p.UID); on == "" {
		t.Error("it does not count any more")
	}
	binds := w.requested(1)
	w.create(pod("refused"))
	for _, b := range w.requested(len(binds) + 3)[len(binds):] { // the third after twice the time after which p could be tried
		if !strings.HasPrefix(b, "refused") {
			t.Errorf("%q was requested", b)
		}
	}
}

// While the outcome of a binding is unknown, the pod stays assumed and is not placed again.
func TestAPodCountsWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{}, node("a", "1"), node("b", "1"))
	var away atomic.Bool
	away.Store(true)
	answer := func(string) error {
		if away.Load() {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	w.bad(answer, nil, answer)
	p := pod("p")
	w.create(p)
	binds := w.requested(15) // for longer than a binding is tried that is known not to be made
	if on, _ := w.cluster.NodeOf(p.UID); on == "" {
		t.Error("it does not count any more")
	}
	away.Store(false)
	on := w.bound("p")[0]
	for _, b := range binds {
		if b != "p "+on {
			t.Errorf("%q was requested, and it is on %s", b, on)
		}
	}
	if conditions := w.pod("p").Status.Conditions; len(conditions) > 0 {
		t.Errorf("it was given up: %v", conditions)
	}
}

// Another pod of the same name is not the one that was decided about.
func TestAPodThatIsReplacedWhileItIsBoundCountsNoMore(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{}, node("a", "1"))
	release := w.block()
	old, successor := pod("p"), pod("p")
	successor.UID = "successor"
	w.create(old)
	w.requested(1)
	if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.create(successor)
	release()
	w.bound("p")
	eventually(t, func() error { // the successor may be bound first
		if on, _ := w.cluster.NodeOf(old.UID); on != "" {
			return fmt.Errorf("it counts on %s", on)
		}
		return nil
	})
}

// The informer may report a pod late that another scheduler has bound.
func TestAPodThatTurnsOutToBeOnAnotherNodeCountsThere(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{}, node("a", "1"), node("other", "0"))
	w.bad(func(string) error { return conflict }, nil, nil)
	w.mutex.Lock()
	w.found = func(p *corev1.Pod) { p.Spec.NodeName = "other" }
	w.mutex.Unlock()
	p := pod("p")
	w.create(p)
	eventually(t, func() error {
		if on, assumed := w.cluster.NodeOf(p.UID); on != "other" || assumed {
			return fmt.Errorf("it counts on %q", on)
		}
		return nil
	})
}

// A pod whose binding takes long counts on its node: nothing else is put there.
func TestPodsThatAreBeingBoundCount(t *testing.T) {
	t.Parallel()
	w := start(t, batch.Options{}, node("a", "1"), node("b", "1"))
	release := w.block("slow")
	slow := pod("slow")
	w.create(slow)
	w.requested(1)
	w.create(pod("second"), pod("third"))
	waiting := ""
	eventually(t, func() error {
		for _, name := range []string{"second", "third"} {
			if len(w.pod(name).Status.Conditions) > 0 {
				waiting = name
				return nil
			}
		}
		return errors.New("neither waits")
	})
	w.waits(waiting, "Insufficient cpu")
	release()
	other := map[string]string{"second": "third", "third": "second"}[waiting]
	if on := w.bound("slow", other); on[0] == on[1] {
		t.Errorf("slow and %s are on %s", other, on[0])
	}
}

func TestWhatWasDecidedIsBoundAtTheEndUnlessTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"in order": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			w := start(t, batch.Options{Binders: 1}, node("a", "8"))
			release := w.block()
			first, second := pod("first"), pod("second")
			w.create(first)
			w.requested(1)
			w.create(second)
			w.decided(second)
			if w.end(); lost {
				w.lose()
			}
			release()
			<-w.ended
			if on := w.pod("first").Spec.NodeName; on == "" {
				t.Error("what was on its way is not bound")
			}
			if on := w.pod("second").Spec.NodeName; (on == "") != lost {
				t.Errorf("second is on %q", on)
			}
		})
	}
}
