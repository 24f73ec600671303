package batch

import (
	"cmp"
	"context"
	"time"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// round schedules pods from the queue, in their order. Afterwards each pod is being bound or back in the queue.
//
// The duration of a search for a joint placement depends on its steps, which a PodGroup may request, so each group with that mode
// has its own call. All searches of a round take at most Options.JointTime together, and the searches of one namespace at most its
// share. The remaining groups wait for the next round, together with newly arrived pods. A group with an unfinished search backs
// off.
func (s *Scheduler) round(ctx context.Context, pods []candidate, epoch uint64) {
	units := s.byTurn(pods)
	left, total := s.shares(units), s.options.JointTime
	var others []candidate // until the next search
	for _, u := range units {
		if !u.joint {
			others = append(others, u.pods...)
			continue
		}
		namespace := u.pods[0].pod.Namespace
		if min(total, left[namespace]) <= 0 {
			s.pending.again(u.pods...)
			continue
		}
		s.schedule(ctx, others, epoch, callTimeout)
		others = nil
		begin := time.Now()
		s.schedule(ctx, u.pods, epoch, min(total, left[namespace]))
		took := time.Since(begin)
		total, left[namespace] = total-took, left[namespace]-took
	}
	s.schedule(ctx, others, epoch, callTimeout)
}

// turn is pods that share a call: a jointly placed group, or other pods.
type turn struct {
	pods  []candidate
	joint bool
}

// byTurn divides pods, in their order, into the jointly placed groups and the pods between them.
func (s *Scheduler) byTurn(pods []candidate) []turn {
	var out []turn
	for len(pods) > 0 {
		n := wholeGroups(pods, 1)
		joint := s.joint(pods[0])
		if last := len(out) - 1; last >= 0 && !joint && !out[last].joint {
			out[last].pods = append(out[last].pods, pods[:n]...)
		} else {
			out = append(out, turn{pods[:n:n], joint})
		}
		pods = pods[n:]
	}
	return out
}

// joint reports whether a pod belongs to a jointly placed group.
func (s *Scheduler) joint(c candidate) bool {
	key, grouped := groupOf(c.pod)
	if !grouped {
		return false
	}
	mode := s.options.GroupMode
	if key.object {
		if object := s.cluster.PodGroup(key.namespace, key.name); object != nil {
			if of, err := convert.PodGroup(object); err == nil {
				mode = cmp.Or(of.Mode, mode)
			}
		}
	}
	return mode == stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT
}

// leastShare bounds the shares of Options.JointTime. With more namespaces, some wait for the next round.
const leastShare = 5

// shares divides the time for searches among the namespaces.
func (s *Scheduler) shares(units []turn) map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, u := range units {
		if u.joint {
			out[u.pods[0].pod.Namespace] = 0
		}
	}
	for namespace := range out {
		out[namespace] = s.options.JointTime / time.Duration(min(len(out), leastShare))
	}
	return out
}
