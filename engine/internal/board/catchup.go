package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// effect is what changes for a template with each pod of a group of the state.
type effect struct {
	group, seen int // of its pods so many are taken in
	// spread and soft are the indexes of the rules for which the pods count; affinity says that they match the affinity
	// terms; apart is what they weigh for exclusions; preferred is what they add to the tallies of preferred terms, nil for
	// nothing.
	spread, soft []int
	affinity     bool
	apart        []weight
	preferred    []int64
}

// weight is what a pod weighs for the exclusion with an index.
type weight struct {
	exclusion int
	weight    int64
}

// addEffects finds what pods of groups that were added since change.
func (t *Template) addEffects() {
	s := t.cycle.State
	first, last := s.Added()
	for i := max(first, t.groups); i < last; i++ {
		g := s.Group(i)
		e := effect{group: i, preferred: t.preferred.Weights(g)}
		for j, r := range t.rules.Spread {
			if r.Pods.Weight(g) != 0 {
				e.spread = append(e.spread, j)
			}
		}
		for j := range t.softly {
			if t.softly[j].Matches(t.cycle, g) {
				e.soft = append(e.soft, j)
			}
		}
		e.affinity = t.rules.Affinity != nil && t.rules.Affinity.Pods.Weight(g) != 0
		for j, x := range t.rules.Exclusions {
			if w := x.Pods.Weight(g); w != 0 {
				e.apart = append(e.apart, weight{j, w})
			}
		}
		if len(e.spread)+len(e.soft)+len(e.apart) > 0 || e.affinity || e.preferred != nil {
			t.effects = append(t.effects, e)
		}
	}
	t.groups = last
}

// dropsNodes reports whether pods to come may take nodes away from the pod other than by taking resources.
func (t *Template) dropsNodes() bool {
	for i := range t.apart {
		if t.apart[i].cells == nil {
			return true
		}
	}
	return false
}

// catchUp takes in the pods that were placed since.
func (t *Template) catchUp() {
	if t.base != nil {
		t.base.resources.catchUp(t.board)
		t.base.catchUp()
	}
	if t.own != nil {
		t.catchUpOwn()
	}
	for i := range t.effects {
		e := &t.effects[i]
		for assumed := t.cycle.State.Group(e.group).Assumed; e.seen < len(assumed); e.seen++ {
			t.add(e, assumed[e.seen])
		}
	}
}

func (t *Template) catchUpOwn() {
	r := t.own.resources
	r.catchUp(t.board)
	for _, n := range r.filled[t.own.filled:] {
		// Base may have dropped the node already.
		if t.own.where[n] > 0 || t.base != nil && t.nodes.Has(n) && !t.left.Has(n) {
			t.lose(n)
		}
		if t.base != nil && t.nodes.Has(n) && t.left.Has(n) {
			t.leftLive[t.base.hint[t.base.cells.cell[n]]-1]--
		}
	}
	t.own.catchUp()
}

// add takes in a pod on a node.
func (t *Template) add(e *effect, n uint32) {
	moves := false
	moving := t.moving[:0]
	changed := func(k *key, domain int32) {
		if k.cells == nil && !slices.Contains(moving, columnDomain{k.column, domain}) {
			moving = append(moving, columnDomain{k.column, domain})
		}
	}
	for _, i := range e.spread {
		if t.rules.Spread[i].Add(n, 1) {
			changed(&t.hard[i], t.hard[i].column.Domain[n])
		}
	}
	for _, i := range e.soft {
		s := &t.softly[i]
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
		changed(&t.soft[i], d)
	}
	t.addMatching(e, n, changed)
	for _, w := range e.apart {
		t.exclude(w, n)
	}
	for i, weight := range e.preferred {
		if weight != 0 {
			t.preferred.Tallies[i].Add(n, weight)
			changed(&t.wishes[i], t.wishes[i].column.Domain[n])
		}
	}
	if moves {
		t.move(n)
	}
	for _, m := range moving {
		for _, n := range t.board.membersOf(m.column).of(m.domain) {
			t.move(n)
		}
	}
	t.moving = moving
}

// addMatching counts a pod that matches required affinity terms.
func (t *Template) addMatching(e *effect, n uint32, changed func(k *key, domain int32)) {
	if !e.affinity {
		return
	}
	t.rules.Affinity.Add(n, 1)
	for i, term := range t.terms {
		if d := term.Column.Domain[n]; d != topology.None && term.Counts[d] == 1 {
			changed(&t.together[i], d)
		}
	}
}

// exclude counts a pod on a node for an exclusion, and drops the nodes of its domain if it is the first one there.
func (t *Template) exclude(w weight, n uint32) {
	if !t.rules.Exclusions[w.exclusion].Add(n, w.weight) {
		return
	}
	switch k := &t.apart[w.exclusion]; {
	case k.cells != nil:
	case k.column == nil:
		t.drop(n)
	default:
		for _, m := range t.board.membersOf(k.column).of(k.column.Domain[n]) {
			t.drop(m)
		}
	}
}

// move puts a node where its values belong now.
func (t *Template) move(n uint32) {
	if !t.live(n) {
		return
	}
	t.valuesOf(n, t.values)
	if t.own.where[n] == 0 && slices.Equal(t.values, t.usual) {
		return
	}
	t.own.move(n, t.values)
	t.leave(n)
}

type columnDomain struct {
	column *topology.Column
	domain int32
}
