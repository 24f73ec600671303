package batch_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/batch"
)

// asked waits until the API server has been asked for a number of bindings.
func (w *world) asked(n int) {
	w.t.Helper()
	eventually(w.t, func() error {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if len(w.binds) < n {
			return errors.New("it is not being bound")
		}
		return nil
	})
}

func TestPodsThatWaitToBeBoundCountHoweverLong(t *testing.T) {
	w := start(t, batch.Options{Binders: 1}, node("a", "1"), node("b", "1"), node("c", "0"))
	blocked := make(chan struct{})
	release := sync.OnceFunc(func() { close(blocked) })
	t.Cleanup(release)
	w.before(func(string) error { <-blocked; return nil })
	first, second := pod("first"), pod("second")
	w.create(first)
	w.asked(1)
	w.create(second)
	eventually(t, func() error {
		if on, _ := w.cluster.NodeOf(second.UID); on == "" {
			return errors.New("second has no node")
		}
		return nil
	})
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
