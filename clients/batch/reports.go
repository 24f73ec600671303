package batch

import (
	"container/list"
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// reports are what the API server is to be told of pods that have no node: the latest of each pod, some pods at a time. What
// a pod is told last is never later than its binding, as with kube-scheduler's API dispatcher
// (pkg/scheduler/backend/api_dispatcher, v1.37): a binding drops the report that waits and lets the one that is being sent end.
type reports struct {
	limit   int    // how many may wait
	dropped func() // is told of each that is dropped because too many wait

	mutex   sync.Mutex
	free    int                           // how many more may be sent now
	line    list.List                     // of the reports that wait, the oldest pod first
	waiting map[types.UID]*list.Element   // in the line
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

// put has something be sent about a pod when there is time for that, instead of what waits to be sent about it.
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

// start sends the oldest reports as long as some may be sent. The mutex is held.
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

// remove takes a pod's report out of the line. The mutex is held.
func (r *reports) remove(pod types.UID) {
	if e := r.waiting[pod]; e != nil {
		r.line.Remove(e)
		delete(r.waiting, pod)
	}
}

// drop drops what waits to be sent about a pod.
func (r *reports) drop(pod types.UID) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.remove(pod)
}

// settle drops what waits to be sent about a pod, and waits until what is being sent has been.
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

// wait waits until everything has been sent.
func (r *reports) wait() { r.senders.Wait() }
