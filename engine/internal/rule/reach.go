package rule

import (
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Reach is everything that a rule reads outside the node under decision, whatever pods the node has: the counts of the node's
// domain, and some numbers about all domains. If these are equal for all rules of a set and the node itself is unchanged, the set
// decides alike.
type Reach struct {
	ID     verdict.PodRule
	Column *topology.Column
	Counts []int64 // by domain; they must not be changed
	All    [3]int64
}

// Reaches returns the reach of each rule that counts pods of other nodes, in an order that follows from the rules.
func (s *Set) Reaches() []Reach {
	var out []Reach
	for _, r := range s.Spread {
		of := Reach{ID: r.ID, Column: r.Column, Counts: r.Counts()}
		if of.All[0] = r.minimum; r.least == 1 {
			of.All[1], of.All[2] = 1, r.minimumWith(r.minimum, 1<<62)
		}
		out = append(out, of)
	}
	if a := s.Affinity; a != nil {
		for i := range a.Count().Terms {
			t := &a.Terms[i]
			of := Reach{ID: t.ID, Column: t.Column, Counts: t.Counts}
			if a.Self {
				of.All[0] = a.matched
			}
			out = append(out, of)
		}
	}
	for _, e := range s.Exclusions {
		if e.Column != nil {
			out = append(out, Reach{ID: e.ID, Column: e.Column, Counts: e.Counts(), All: [3]int64{one(e.Occupied())}})
		}
	}
	for _, k := range s.Others {
		if k.Column() == nil {
			continue
		}
		out = append(out, Reach{ID: k.Rule(), Column: k.Column(), Counts: k.Counts()})
	}
	return out
}
