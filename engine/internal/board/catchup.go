package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// effect is what each pod of a group of the state changes for a class.
type effect struct {
	group, seen int // seen counts the assumed pods that have been added
	// spread and soft are the indexes of the constraints that count the pods. affinity is set if they match the
	// affinity terms. exclusions are their weights for exclusions. preferred are their additions to the tallies of
	// preferred terms; nil for none.
	spread, soft []int
	affinity     bool
	exclusions   []weight
	preferred    []int64
}

// weight is the weight of a pod for the exclusion with an index.
type weight struct {
	exclusion int
	weight    int64
}

// addEffects finds the effects of groups that were added to the state.
func (cl *Class) addEffects() {
	s := cl.cycle.State
	first, last := s.Added()
	for i := max(first, cl.seenGroups); i < last; i++ {
		g := s.Group(i)
		e := effect{group: i, preferred: cl.preferred.Weights(g)}
		for j, r := range cl.rules.Spread {
			if r.Pods.Weight(g) != 0 {
				e.spread = append(e.spread, j)
			}
		}
		for j := range cl.soft {
			if cl.soft[j].Matches(cl.cycle, g) {
				e.soft = append(e.soft, j)
			}
		}
		e.affinity = cl.rules.Affinity != nil && cl.rules.Affinity.Pods.Weight(g) != 0
		for j, x := range cl.rules.Exclusions {
			if w := x.Pods.Weight(g); w != 0 {
				e.exclusions = append(e.exclusions, weight{j, w})
			}
		}
		if len(e.spread)+len(e.soft)+len(e.exclusions) > 0 || e.affinity || e.preferred != nil {
			cl.effects = append(cl.effects, e)
		}
	}
	cl.seenGroups = last
}

// dropsNodes reports whether assumed pods can make a node infeasible other than by using its resources.
func (cl *Class) dropsNodes() bool {
	for i := range cl.exclusionKeys {
		if cl.exclusionKeys[i].cells == nil {
			return true
		}
	}
	return false
}

// catchUp adds the pods that were assumed since the last call.
func (cl *Class) catchUp() {
	if cl.base != nil {
		cl.base.resources.catchUp(cl.board)
		cl.base.catchUp()
	}
	if cl.own != nil {
		cl.catchUpOwn()
	}
	for i := range cl.effects {
		e := &cl.effects[i]
		for assumed := cl.cycle.State.Group(e.group).Assumed; e.seen < len(assumed); e.seen++ {
			cl.add(e, assumed[e.seen])
		}
	}
}

func (cl *Class) catchUpOwn() {
	r := cl.own.resources
	r.catchUp(cl.board)
	for _, n := range r.filled[cl.own.filled:] {
		// Base may have dropped the node already.
		if cl.own.bucketOf[n] > 0 || cl.base != nil && cl.nodes.Has(n) && !cl.removed.Has(n) {
			cl.uncount(n)
		}
		if cl.base != nil && cl.nodes.Has(n) && cl.removed.Has(n) {
			cl.removedLive[cl.base.hint[cl.base.cells.cell[n]]-1]--
		}
	}
	cl.own.catchUp()
}

// add counts a pod on a node.
func (cl *Class) add(e *effect, n uint32) {
	moves := false
	moving := cl.moving[:0]
	changed := func(k *key, domain int32) {
		if k.cells == nil && !slices.Contains(moving, columnDomain{k.column, domain}) {
			moving = append(moving, columnDomain{k.column, domain})
		}
	}
	for _, i := range e.spread {
		if cl.rules.Spread[i].Add(n, 1) {
			changed(&cl.spreadKeys[i], cl.spreadKeys[i].column.Domain[n])
		}
	}
	for _, i := range e.soft {
		s := &cl.soft[i]
		if !s.AddPod(n) {
			continue
		}
		if s.PerNode != nil {
			moves = true
			continue
		}
		d := s.Column().Domain[n]
		if d == topology.None {
			d = s.Column().Empty
		}
		changed(&cl.softKeys[i], d)
	}
	cl.addMatching(e, n, changed)
	for _, w := range e.exclusions {
		cl.exclude(w, n)
	}
	for i, weight := range e.preferred {
		if weight != 0 {
			cl.preferred.Tallies[i].Add(n, weight)
			changed(&cl.preferredKeys[i], cl.preferredKeys[i].column.Domain[n])
		}
	}
	if moves {
		cl.move(n)
	}
	for _, m := range moving {
		for _, n := range cl.board.membersOf(m.column).of(m.domain) {
			cl.move(n)
		}
	}
	cl.moving = moving
}

// addMatching counts a pod that matches the required affinity terms.
func (cl *Class) addMatching(e *effect, n uint32, changed func(k *key, domain int32)) {
	if !e.affinity {
		return
	}
	cl.rules.Affinity.Add(n, 1)
	for i, term := range cl.terms {
		if d := term.Column.Domain[n]; d != topology.None && term.Counts[d] == 1 {
			changed(&cl.affinityKeys[i], d)
		}
	}
}

// exclude counts a pod for an exclusion. The first pod of a domain makes its nodes infeasible.
func (cl *Class) exclude(w weight, n uint32) {
	if !cl.rules.Exclusions[w.exclusion].Add(n, w.weight) {
		return
	}
	switch k := &cl.exclusionKeys[w.exclusion]; {
	case k.cells != nil:
	case k.column == nil:
		cl.drop(n)
	default:
		for _, m := range cl.board.membersOf(k.column).of(k.column.Domain[n]) {
			cl.drop(m)
		}
	}
}

// move puts a node into the bucket of its current values.
func (cl *Class) move(n uint32) {
	if !cl.live(n) {
		return
	}
	cl.valuesOf(n, cl.values)
	if cl.own.bucketOf[n] == 0 && slices.Equal(cl.values, cl.usual) {
		return
	}
	cl.own.move(n, cl.values)
	cl.remove(n)
}

type columnDomain struct {
	column *topology.Column
	domain int32
}
