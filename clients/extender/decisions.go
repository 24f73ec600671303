package extender

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rememberedDecisions bounds the remembered decisions: kube-scheduler calls prioritize right after filter. Beyond it, decisions are
// kept while their bind is in progress, and for a while if its outcome is unknown.
const rememberedDecisions = 64

// decision is the last decision about a pod.
type decision struct {
	pod   *corev1.Pod
	found *evaluation
	// made is when the decision began.
	made time.Time
	// open: kube-scheduler has the response, and its outcome is unknown.
	open bool
	// committed is when the node was last found feasible during a bind, zero before the bind.
	committed time.Time
	// binding: the bind request is in progress.
	binding bool
	// node is the node on which the pod is assumed, "" if none.
	node string
	// unclear is the time since which the outcome of a bind is unknown, zero otherwise.
	unclear time.Time
}

// decisions are the last decisions by pod. get returns a copy.
type decisions struct {
	unclearFor time.Duration
	mutex      sync.Mutex
	byPod      map[types.UID]*decision
	order      []types.UID
	settled    chan struct{} // closed when an open decision is settled
}

func newDecisions(unclearFor time.Duration) *decisions {
	return &decisions{unclearFor: unclearFor, byPod: map[types.UID]*decision{}, settled: make(chan struct{})}
}

func (d *decisions) add(added *decision) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	uid := added.pod.UID
	d.drop(uid)
	d.byPod[uid] = added
	d.order = append(d.order, uid)
	for i := 0; i < len(d.order) && len(d.order) > rememberedDecisions; {
		if old := d.byPod[d.order[i]]; old.open || old.binding || time.Since(old.unclear) < d.unclearFor {
			i++
			continue
		}
		d.drop(d.order[i])
	}
}

func (d *decisions) get(uid types.UID) *decision {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if found := d.byPod[uid]; found != nil {
		out := *found
		return &out
	}
	return nil
}

// change updates a decision if there is one.
func (d *decisions) change(uid types.UID, change func(*decision)) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if found := d.byPod[uid]; found != nil {
		open := found.open
		change(found)
		if open && !found.open {
			d.announce()
		}
	}
}

func (d *decisions) remove(uid types.UID) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.drop(uid)
}

func (d *decisions) drop(uid types.UID) {
	found := d.byPod[uid]
	if found == nil {
		return
	}
	delete(d.byPod, uid)
	d.order = slices.DeleteFunc(d.order, func(o types.UID) bool { return o == uid })
	if found.open {
		d.announce()
	}
}

func (d *decisions) announce() {
	close(d.settled)
	d.settled = make(chan struct{})
}

// wait waits, up to a limit, until no decision about another pod is open. After the limit it gives up on the open decisions. It
// reports whether all were settled.
func (d *decisions) wait(ctx context.Context, except types.UID, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		settled, open := d.open(except)
		if !open {
			return true
		}
		select {
		case <-settled:
			continue
		case <-ctx.Done():
		case <-timer.C:
		}
		d.mutex.Lock()
		defer d.mutex.Unlock()
		for uid, other := range d.byPod {
			other.open = other.open && uid == except
		}
		d.announce() // other waits end, too
		return false
	}
}

func (d *decisions) open(except types.UID) (settled <-chan struct{}, open bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for uid, other := range d.byPod {
		if other.open && uid != except {
			return d.settled, true
		}
	}
	return d.settled, false
}
