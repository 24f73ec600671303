package batch

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// errTakenBack says that a decision does not count any more and that its pod waits for another one already.
var errTakenBack = errors.New("the decision has been taken back")

// gangs are the groups of which members have a node that the API server has not been told of. It is safe for concurrent use.
type gangs struct {
	mutex sync.Mutex
	byKey map[groupKey]*gang
}

// gang is the members of a group that have been decided since none was left to be sent.
type gang struct {
	key     groupKey
	needs   int // how many more have to be sent for the group to have its minimum
	left    int // how many members have not been sent
	members map[types.UID]*member
}

type member struct {
	verdict
	sent bool
}

// join adds the pods of an answer that got a node to their groups, and has their verdicts name those.
func (g *gangs) join(verdicts []verdict, groups []*stowagev1.PodGroup) {
	needs := map[string]int{}
	for _, group := range groups {
		needs[group.Name] = int(group.GetMinCount())
	}
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

// unsent is the members that the API server has not been told of.
func (g *gang) unsent() (out []verdict) {
	for _, m := range g.members {
		if !m.sent {
			out = append(out, m.verdict)
		}
	}
	return out
}

// mayGo tells whether a pod may be bound as decided. As long as its group has not got its minimum, the decisions about all members
// that have not been sent have to hold for one to be sent. Otherwise all of them are taken back and decided together, so that
// no group is bound in part. A pod that is being sent counts as bound from now on.
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

// wasSent notes that the API server may have been told of a pod, unless it has been taken back before.
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

// sent counts a member as bound. The mutex is held.
func (g *gangs) sent(of *gang, m *member) {
	m.sent = true
	of.needs--
	of.left--
	g.endIfSent(of)
}

// endIfSent begins a gang anew with the next decision if no member is left to be sent. The mutex is held.
func (g *gangs) endIfSent(of *gang) {
	if of.left == 0 && g.byKey[of.key] == of {
		delete(g.byKey, of.key)
	}
}

// takeBackSent takes a pod back that the API server did not bind; if its group lacks members then, with those that have not
// been sent.
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

// takeBack has pods, of a gang if there is one, wait for another decision. None of them counts any more before the first is
// taken. The mutex is held.
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
