package oracle

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// maxReturns is how often the contract lets a pod come back.
const maxReturns = 16

// Controllers create preempted pods again, as soon as all victims of a preemption have left.
type Controllers struct {
	Counted scenario.Counted
	// Unknown says that the request does not specify what the controller of a pod creates.
	Unknown func(*corev1.Pod) bool
	// Entries are the pods of the cluster that came back: the entries of the queue behind the case's.
	Entries []scenario.Returned

	kind    int // of the last of Entries
	created int
}

// Control lets controllers create preempted pods again.
func (q *Queue) Control(c *Controllers) { q.controllers = c }

// comeBack creates the pods again that the last preemption evicted.
func (q *Queue) comeBack(victims []*corev1.Pod) error {
	c := q.controllers
	if c == nil {
		return nil
	}
	for _, p := range victims {
		if !scenario.Returns(p) || GroupOf(p) != "" {
			continue
		}
		queued := q.byUID[p.UID]
		var entry int
		times := 1
		switch {
		case queued == nil && (c.Unknown(p) || p.Spec.SchedulerName != q.framework.ProfileName()):
			continue
		case queued == nil:
			entry = q.returnedTo(p)
		case queued.returns == maxReturns:
			continue
		default:
			entry, queued.Returned, times = queued.Entry, true, queued.returns+1
		}
		if err := q.createAgain(p, entry, times); err != nil {
			return err
		}
	}
	return nil
}

// returnedTo returns the entry of a pod of the cluster that comes back. Counted pods that are alike share one if no other comes
// between them.
func (q *Queue) returnedTo(p *corev1.Pod) int {
	c := q.controllers
	kind, counted := c.Counted(p)
	if n := len(c.Entries); n > 0 && counted && c.Entries[n-1].Counted && c.kind == kind && c.Entries[n-1].Pod.Spec.NodeName == p.Spec.NodeName {
		c.Entries[n-1].Count++
	} else {
		c.Entries, c.kind = append(c.Entries, scenario.Returned{Pod: p, Count: 1, Counted: counted}), kind
		created := p.DeepCopy()
		created.Status.StartTime = nil // as all pods of the queue
		q.Queue = append(slices.Clip(q.Queue), created)
	}
	return len(q.Queue) - 1
}

func (q *Queue) createAgain(p *corev1.Pod, entry, times int) error {
	q.controllers.created++
	pod := scenario.Again(p, fmt.Sprintf("returned-%d", q.controllers.created))
	pod.UID = types.UID(fmt.Sprintf("returned-%d", q.controllers.created))
	gate, err := q.gate(pod)
	if err != nil {
		return err
	}
	queued := &QueuedPod{Entry: entry, key: pod.Namespace + "/" + pod.Name, uid: pod.UID, returns: times}
	if gate != nil {
		queued.Last, queued.Message = &Decision{Gate: gate}, gate.Reasons[0]
	}
	q.pods, q.byUID[pod.UID] = append(q.pods, queued), queued
	return q.api.create(pod)
}
