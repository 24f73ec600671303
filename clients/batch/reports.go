package batch

import (
	"container/list"
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// reports queue status updates of pods without a node: the latest of each pod, sent a few pods at a time. A pod's last
// report is never sent after its binding, as with kube-scheduler's API dispatcher (pkg/scheduler/backend/api_dispatcher,
// v1.37): a binding drops the queued report and waits for one that is being sent.
type reports struct {
	limit   int    // maximum queue length
	dropped func() // called for each report that the limit drops

	mutex   sync.Mutex
	free    int                           // reports that may start now
	line    list.List                     // queued reports, oldest pod first
	waiting map[types.UID]*list.Element   // elements of line
	sending map[types.UID]<-chan struct{} // closed when the report has been sent
	senders sync.WaitGroup
}

type report struct {
	pod  types.UID
	send func()
}

func newReports(atATime, limit int, dropped func()) *reports {
	return &reports{
		limit: limit, dropped: dropped, free: atATime,
		waiting: map[types.UID]*list.Element{}, sending: map[types.UID]<-chan struct{}{},
	}
}

// put queues a report about a pod in place of its queued one.
func (r *reports) put(pod types.UID, send func()) {
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
		if it := e.Value.(report); r.sending[it.pod] == nil {
			r.remove(it.pod)
			r.free--
			sent := make(chan struct{})
			r.sending[it.pod] = sent
			r.senders.Go(func() { r.send(it, sent) })
		}
		e = next
	}
}

func (r *reports) send(it report, sent chan struct{}) {
	it.send()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.sending, it.pod)
	close(sent)
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

// settle drops a pod's queued report and waits for one that is being sent.
func (r *reports) settle(ctx context.Context, pod types.UID) {
	r.mutex.Lock()
	r.remove(pod)
	sent := r.sending[pod]
	r.mutex.Unlock()
	if sent == nil {
		return
	}
	select {
	case <-sent:
	case <-ctx.Done():
	}
}

// wait waits until every report has been sent.
func (r *reports) wait() { r.senders.Wait() }
