package batch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// reports queue status updates of pods without a node: the latest of each pod, sent a few pods at a time. A pod's last
// report is never sent after its binding, as with kube-scheduler's API dispatcher (pkg/scheduler/backend/api_dispatcher,
// v1.37): a binding drops the queued report and waits for one that is being sent, or cancels it.
type reports struct {
	limit   int    // maximum queue length
	dropped func() // called for each report that the limit drops

	mutex   sync.Mutex
	free    int                         // reports that may start now
	line    list.List                   // queued reports, oldest pod first
	waiting map[types.UID]*list.Element // elements of line
	sending map[types.UID]sending
	senders sync.WaitGroup
}

type report struct {
	pod  types.UID
	send func(context.Context)
}

// sending is a report that is being sent.
type sending struct {
	sent   chan struct{} // closed when it has been sent
	cancel context.CancelFunc
}

// settleFor is how long a binding waits for a report that is being sent, and again for one that it has canceled.
const settleFor = 500 * time.Millisecond

func newReports(atATime, limit int, dropped func()) *reports {
	return &reports{
		limit: limit, dropped: dropped, free: atATime,
		waiting: map[types.UID]*list.Element{}, sending: map[types.UID]sending{},
	}
}

// put queues a report about a pod in place of its queued one.
func (r *reports) put(pod types.UID, send func(context.Context)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if e := r.waiting[pod]; e != nil {
		e.Value = report{pod, send}
		return
	}
	r.waiting[pod] = r.line.PushBack(report{pod, send})
	if r.line.Len() > r.limit {
		r.remove(r.line.Front().Value.(report).pod)
		r.dropped()
	}
	r.start()
}

// start sends the oldest reports as long as some may start. The caller holds the mutex.
func (r *reports) start() {
	for e := r.line.Front(); e != nil && r.free > 0; {
		next := e.Next()
		it := e.Value.(report)
		if _, before := r.sending[it.pod]; !before {
			r.remove(it.pod)
			r.free--
			ctx, cancel := context.WithCancel(context.Background())
			now := sending{make(chan struct{}), cancel}
			r.sending[it.pod] = now
			r.senders.Go(func() { r.send(ctx, it, now) })
		}
		e = next
	}
}

func (r *reports) send(ctx context.Context, it report, now sending) {
	defer now.cancel()
	it.send(ctx)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.sending, it.pod)
	close(now.sent)
	r.free++
	r.start()
}

// remove removes a pod's queued report. The caller holds the mutex.
func (r *reports) remove(pod types.UID) {
	if e := r.waiting[pod]; e != nil {
		r.line.Remove(e)
		delete(r.waiting, pod)
	}
}

// drop drops a pod's queued report.
func (r *reports) drop(pod types.UID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.remove(pod)
}

// settle drops a pod's queued report, and waits shortly for one that is being sent. Then it cancels that one: an API server
// that is slow with a status must not hold up a binding.
func (r *reports) settle(ctx context.Context, pod types.UID) {
	r.mutex.Lock()
	r.remove(pod)
	now, found := r.sending[pod]
	r.mutex.Unlock()
	if !found {
		return
	}
	for range 2 {
		select {
		case <-now.sent:
			return
		case <-ctx.Done():
			return
		case <-time.After(settleFor):
			now.cancel()
		}
	}
}

// wait waits until every report has been sent.
func (r *reports) wait() { r.senders.Wait() }
