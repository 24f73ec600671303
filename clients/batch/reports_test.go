package batch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// sentReports records the sent reports.
type sentReports struct {
	mutex   sync.Mutex
	all     []string
	release chan struct{}
}

func (t *sentReports) send(what string) func(context.Context) {
	return func(context.Context) {
		t.mutex.Lock()
		t.all = append(t.all, what)
		t.mutex.Unlock()
		<-t.release
	}
}

func (t *sentReports) is(want ...string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Equal(t.all, want)
}

func TestOnlyTheLatestReportOfAPodIsSent(t *testing.T) {
	dropped := 0
	r, sent := newReports(1, 3, func() { dropped++ }), &sentReports{release: make(chan struct{})}
	put := func(pod, what string) { r.put(types.UID(pod), sent.send(pod+" "+what)) }
	put("a", "first")
	until(t, func() bool { return sent.is("a first") })
	put("a", "second") // waits for the first to end
	put("b", "first")
	put("c", "first")
	put("b", "second")
	put("a", "third")
	put("d", "first") // too many wait: the oldest, of a, is dropped
	r.drop("c")
	settled := make(chan struct{})
	go func() { r.settle(t.Context(), "a"); close(settled) }()
	select {
	case <-settled:
		t.Error("a may be bound while something is being sent of it")
	default:
	}
	close(sent.release)
	<-settled
	r.wait()
	if !sent.is("a first", "b second", "d first") || dropped != 1 {
		t.Errorf("%q are sent, and %d are dropped", sent.all, dropped)
	}
	r.settle(t.Context(), "a")
}

// An API server that does not answer about a status holds up a binding by less than a second.
func TestABindingCancelsAReportThatHangs(t *testing.T) {
	r := newReports(1, 3, func() {})
	begun, canceled := make(chan struct{}), make(chan struct{})
	r.put("a", func(ctx context.Context) {
		close(begun)
		<-ctx.Done()
		close(canceled)
	})
	<-begun
	begin := time.Now()
	r.settle(t.Context(), "a")
	if took := time.Since(begin); took > time.Second {
		t.Errorf("it took %v", took)
	}
	select {
	case <-canceled:
	default:
		t.Error("the report is sent after the binding")
	}
	r.wait()
}
