package rule

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Vector is how much more the rules of a set count on one node, or less if negative, for a decision about that node: the weight
// by counter, in the order of Set.Counters, then the amount by need. The rules themselves stay unchanged. nil stands for no pods.
type Vector []int64

// Width is the length of the set's vectors.
func (s *Set) Width() int { return s.Places() + len(s.Fit.Needs()) }

// VectorOf returns the vector of one pod of a group. Spread rules count it as kube-scheduler's AddPod and RemovePod do, or
// with recount as Pods do.
func (s *Set) VectorOf(g *cluster.Group, u *cluster.Usage, recount bool) Vector {
	v := make(Vector, s.Width())
	s.addWeights(v, g, recount)
	s.SetUsage(v, u)
	return v
}

// addWeights adds a pod of a group to a vector, without its amounts.
func (s *Set) addWeights(v Vector, g *cluster.Group, recount bool) {
	for at, c := range s.Counters() {
		if at < len(s.Spread) && !recount {
			v[at] += one(s.Spread[at].adds(g))
		} else {
			v[at] += c.Weight(g)
		}
	}
}

func one(counts bool) int64 {
	if counts {
		return 1
	}
	return 0
}

// SetUsage replaces the amounts of a vector by the amounts of a pod.
func (s *Set) SetUsage(v Vector, u *cluster.Usage) {
	needs := v[s.Places():]
	for i := range needs {
		needs[i] = u.Of(s.Fit.needs[i].Resource)
	}
}

// VectorOfAll returns the vector of the nominated pods of a node; nil if there are none, or if no rule counts pods. It may take the memory
// of another vector.
func (s *Set) VectorOfAll(memory Vector, node uint32, pods []cluster.Nominated) Vector {
	if len(pods) == 0 || !s.Counting() {
		return nil
	}
	v := slices.Grow(memory[:0], s.Width())[:s.Width()]
	clear(v)
	needs := v[s.Places():]
	for i := range pods {
		s.addWeights(v, pods[i].Group, false)
		for j := range needs {
			needs[j] += pods[i].Usage.Of(s.Fit.needs[j].Resource)
		}
	}
	s.Share(node, v, func(yield func(*cluster.Group, int64) bool) {
		for i := range pods {
			if !yield(pods[i].Group, 1) {
				return
			}
		}
	})
	return v
}

// Add adds a number of pods.
func (v Vector) Add(pod Vector, count int64) {
	pod = pod[:len(v)]
	for i := range v {
		v[i] += count * pod[i]
	}
}

// adjustment is the parts of a vector.
type adjustment struct {
	spread, exclusions, others, needs Vector
	affinity                          int64
}

func (s *Set) parts(v Vector) (a adjustment) {
	if v != nil {
		n, e := len(s.Spread), len(s.Exclusions)
		a.spread, a.affinity, a.exclusions = v[:n], v[n], v[n+1:n+1+e]
		a.others, a.needs = v[n+1+e:s.Places()], v[s.Places():]
	}
	return a
}

func (v Vector) at(i int) int64 {
	if v == nil {
		return 0
	}
	return v[i]
}

// RejectWith returns the rejection of one node by a plugin with an adjustment of the node's pods, and whether there is one. It uses
// the current counts, so the result may differ after Add.
func (s *Set) RejectWith(by verdict.Plugin, node uint32, v Vector) (verdict.Rejection, bool) {
	if r := s.rejecting(node); r != nil {
		return r.rejection(by, node), true
	}
	a := s.parts(v)
	code, reason := s.failing(node, &a)
	return s.rejection(by, node, code, reason, a.needs)
}

// rejection returns the rejection of a node by the rule.
func (r *Static) rejection(by verdict.Plugin, node uint32) verdict.Rejection {
	return verdict.Rejection{Plugin: by, Code: r.Code, Reasons: r.reasons(), Nodes: []uint32{node}}
}

// rejection returns the rejection of a node by a code and a reason, or else, if the code is 0, by Fit with additional amounts by need.
func (s *Set) rejection(
	by verdict.Plugin, node uint32, code verdict.Code, reason verdict.Reason, more Vector,
) (verdict.Rejection, bool) {
	var reasons []verdict.Reason
	switch {
	case code != 0:
		reasons = []verdict.Reason{reason}
	case s.Fit != nil && s.Fit.fullWith(node, more):
		code, reasons = s.Fit.code(node, more), s.Fit.reasons(node, more)
	default:
		return verdict.Rejection{}, false
	}
	return verdict.Rejection{Plugin: by, Code: code, Reasons: reasons, Nodes: []uint32{node}}, true
}

// AllowsWith reports whether RejectWith returns no rejection.
func (s *Set) AllowsWith(node uint32, v Vector) bool {
	return s.rejecting(node) == nil && s.CountsAllow(node, v)
}

// CountsAllow is AllowsWith but for the static rules, which no adjustment changes.
func (s *Set) CountsAllow(node uint32, v Vector) bool {
	a := s.parts(v)
	if s.Fit != nil && s.Fit.fullWith(node, a.needs) {
		return false
	}
	code, _ := s.failing(node, &a)
	return code == 0
}

// Small reports whether all numbers of a vector, multiplied by count, are between 0 and a quarter of the overflow limit.
func (v Vector) Small(count int64) bool {
	for _, n := range v {
		if n < 0 || n > quarter/count {
			return false
		}
	}
	return true
}

const quarter = 1 << 61

// Monotone reports whether the set allows a node with fewer additional pods wherever it allows it with more, as long as their
// vectors are small.
func (s *Set) Monotone(node uint32, v Vector) bool {
	needs := s.parts(v).needs
	for i := range needs {
		if room := s.Fit.needs[i].Room(node); max(room, needs[i]) > quarter || min(room, needs[i]) < -quarter {
			return false
		}
	}
	return true
}

// rejecting returns the first static rule that rejects a node; nil if none does.
func (s *Set) rejecting(node uint32) *Static {
	for i := range s.Static {
		if rule := &s.Static[i]; rule.Rejected != nil && rule.Rejected.Has(node) {
			return rule
		}
	}
	return nil
}

// failing returns the code and reason of the first rule that counts pods by domain and rejects a node; 0 if none does.
func (s *Set) failing(node uint32, a *adjustment) (verdict.Code, verdict.Reason) {
	for i, rule := range s.Spread {
		if !rule.Column.Having.Has(node) {
			return verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonSpreadMissingLabel)
		}
		if !rule.allowsWith(node, a.spread.at(i)) {
			return verdict.Unschedulable, verdict.ReasonOf(verdict.ReasonSpread)
		}
	}
	if s.Affinity != nil && !s.Affinity.AllowsWith(node, a.affinity) {
		return verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonPodAffinity)
	}
	for i, rule := range s.Exclusions {
		if !rule.AllowsWith(node, a.exclusions.at(i)) {
			return verdict.Unschedulable, rule.Reason
		}
	}
	for i, rule := range s.Others {
		if rule.Excess(node, a.others.at(i)) > 0 {
			return rule.Rejection()
		}
	}
	return 0, verdict.Reason{}
}

// Counting reports whether the set has any rule that is not static.
func (s *Set) Counting() bool { return s.Fit != nil || s.domains() }

// domains reports whether the set has any rule that counts pods by domain.
func (s *Set) domains() bool { return s.Affinity != nil || s.Places() > 1 }

// ExcludedBy reports whether exclusions reject a node because of additional pods on it.
func (s *Set) ExcludedBy(node uint32, pods []cluster.Nominated) bool {
	for _, rule := range s.Exclusions {
		if _, in := rule.Domain(node); !in {
			continue
		}
		if slices.ContainsFunc(pods, func(n cluster.Nominated) bool { return rule.Pods.matches(n.Group) }) {
			return true
		}
	}
	return false
}

// FreeSlots corrects the vector of pods that leave a node for exclusions with Slots: a slot that any of them holds is free,
// though pods that stay hold it, too.
func (s *Set) FreeSlots(node uint32, v Vector, leaving func(yield func(*cluster.Group) bool)) {
	for i, e := range s.Exclusions {
		at := len(s.Spread) + 1 + i
		if _, found := e.Held[node]; e.Slots != nil && (found || e.Counts()[node]+v[at] > 0) {
			v[at] = e.held(node, leaving) - e.Counts()[node]
		}
	}
}

// held returns the number of slots that pods of a node hold, except for slots held by pods that leave it.
func (e *Exclusion) held(node uint32, leaving func(yield func(*cluster.Group) bool)) int64 {
	if e.holders == nil {
		e.holders = make(map[uint32][]*cluster.Group)
		for _, g := range e.Pods.Groups {
			for n := range g.All() {
				if of := e.holders[n]; len(of) == 0 || of[len(of)-1] != g {
					e.holders[n] = append(of, g)
				}
			}
		}
	}
	held := make(map[int]bool)
	if slots, found := e.Held[node]; found {
		for _, slot := range slots {
			held[slot] = true
		}
	} else {
		for _, g := range e.holders[node] {
			for _, slot := range e.Slots(g) {
				held[slot] = true
			}
		}
	}
	for g := range leaving {
		for _, slot := range e.Slots(g) {
			delete(held, slot)
		}
	}
	return int64(len(held))
}
