package batch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// reports queues the latest status update of each pending pod, and sends a few at a time. As with kube-scheduler's API dispatcher
// (pkg/scheduler/backend/api_dispatcher, v1.37), no report of a pod is sent after its binding: a binding drops the queued report,
// and waits for a report in progress, or cancels it.
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

// settleFor is how long a binding waits for a report in progress, and again after canceling it.
const settleFor = 500 * time.Millisecond

func newReports(atATime, limit int, dropped func()) *reports {
	return &reports{
		limit: limit, dropped: dropped, free: atATime,
		waiting: map[types.UID]*list.Element{}, sending: map[types.UID]sending{},
	}
}

// put queues a report about a pod, and drops the pod's older report.
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

// start sends the oldest reports, up to the limit of concurrent reports. The caller holds the mutex.
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

// settle drops a pod's queued report. It waits shortly for a report in progress, then cancels it: a slow write of a status must not
// delay a binding.
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
