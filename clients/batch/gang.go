package batch

import (
	"errors"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// errTakenBack means that a decision was forgotten and its pod is pending again.
var errTakenBack = errors.New("the decision was revoked")

// gangs are the groups with placed members whose binding has not been sent. It is safe for concurrent use.
type gangs struct {
	mutex sync.Mutex
	byKey map[groupKey]*gang
}

// gang is the placed members of a group, until all their bindings have been sent.
type gang struct {
	key     groupKey
	needs   int // bindings to send until the group has its minimum
	left    int // members whose binding has not been sent
	members map[types.UID]*member
}

type member struct {
	verdict
	sent bool
}

// join adds the placed pods of a response to their gangs, and sets the gangs in the verdicts. needs is the number of pods that each
// group needs for its minimum.
func (g *gangs) join(verdicts []verdict, needs map[string]int) {
	needs = maps.Clone(needs)
	g.mutex.Lock()
	defer g.mutex.Unlock()
	for i := range verdicts {
		v := &verdicts[i]
		key, grouped := groupOf(v.pod)
		if v.node == "" || !grouped {
			continue
		}
		to := g.byKey[key]
		if to == nil {
			to = &gang{key: key, members: map[types.UID]*member{}}
			g.byKey[key] = to
		}
		to.needs += needs[key.String()]
		delete(needs, key.String())
		v.gang = to
		to.members[v.pod.UID] = &member{verdict: *v}
		to.left++
	}
}

// unsent returns the members whose binding has not been sent.
func (g *gang) unsent() (out []verdict) {
	for _, m := range g.members {
		if !m.sent {
			out = append(out, m.verdict)
		}
	}
	return out
}

// mayGo reports whether a pod may be bound. Until its group has the minimum, a binding is sent only if the decisions about all
// unsent members hold. Otherwise all of them are forgotten and decided together, so that no group is bound in part. A pod whose
// binding is being sent counts as bound.
func (s *Scheduler) mayGo(v verdict, sending bool) error {
	if v.gang == nil {
		return s.look(v)
	}
	s.gangs.mutex.Lock()
	defer s.gangs.mutex.Unlock()
	m := v.gang.members[v.pod.UID]
	switch {
	case m == nil:
		return errTakenBack
	case m.sent:
		return s.look(v)
	}
	outdated := s.look(v) != nil
	if sending && v.gang.needs > 0 {
		for _, other := range v.gang.members {
			outdated = outdated || !other.sent && s.look(other.verdict) != nil
		}
	}
	switch {
	case outdated && v.gang.needs > 0:
		s.takeBack(v.gang, v.gang.unsent())
		return errTakenBack
	case outdated:
		s.takeBack(v.gang, []verdict{v})
		return errTakenBack
	case sending:
		s.gangs.sent(v.gang, m)
	}
	return nil
}

// wasSent records that the API server may have received a binding, unless the decision was revoked before.
func (s *Scheduler) wasSent(v verdict) error {
	if v.gang == nil {
		return nil
	}
	s.gangs.mutex.Lock()
	defer s.gangs.mutex.Unlock()
	m := v.gang.members[v.pod.UID]
	if m == nil {
		return errTakenBack
	}
	if !m.sent {
		s.gangs.sent(v.gang, m)
	}
	return nil
}

// sent counts a member as bound. The caller holds the mutex.
func (g *gangs) sent(of *gang, m *member) {
	m.sent = true
	of.needs--
	of.left--
	g.endIfSent(of)
}

// endIfSent ends a gang once the bindings of all members have been sent; the next decision starts another one. The caller
// holds the mutex.
func (g *gangs) endIfSent(of *gang) {
	if of.left == 0 && g.byKey[of.key] == of {
		delete(g.byKey, of.key)
	}
}

// takeBackSent revokes the decision about a pod that the API server did not bind. If its group then lacks members, it also revokes
// the decisions about the unsent members.
func (s *Scheduler) takeBackSent(v verdict) {
	s.gangs.mutex.Lock()
	defer s.gangs.mutex.Unlock()
	together := []verdict{v}
	if g := v.gang; g != nil {
		g.members[v.pod.UID].sent = false
		g.left++
		if g.needs++; g.needs > 0 {
			together = g.unsent()
		}
	}
	s.takeBack(v.gang, together)
}

// takeBack forgets pods, of a gang if it is not nil, and makes them pending. It forgets all of them before the first can be taken
// from the queue. The caller holds the mutex.
func (s *Scheduler) takeBack(of *gang, members []verdict) {
	again := make([]candidate, 0, len(members))
	for _, v := range members {
		if of != nil {
			delete(of.members, v.pod.UID)
			of.left--
		}
		s.cluster.Forget(v.pod.UID)
		again = append(again, v.candidate)
	}
	if of != nil {
		s.gangs.endIfSent(of)
	}
	s.pending.again(again...)
}
