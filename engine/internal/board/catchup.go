package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// effect is what changes for a template with each pod of a group of the state.
type effect struct {
	group, seen int // of its pods so many are taken in
	ports       bool
	spread      podtopologyspread.Effect
	pods        interpodaffinity.Effect
}

// addEffects finds what pods of groups that were added since change, and reports whether the template can take that in.
func (t *Template) addEffects() bool {
	s := t.cycle.State
	first, last := s.Added()
	for i := max(first, t.groups); i < last; i++ {
		g := s.Group(i)
		e := effect{
			group:  i,
			ports:  len(t.cycle.Pod.HostPorts) > 0 && nodeports.Clash(t.cycle.Pod.HostPorts, g.HostPorts),
			spread: t.spread.Effect(t.cycle, g),
			pods:   t.pods.Effect(g),
		}
		if e.pods.Unknown {
			return false
		}
		if e.ports || len(e.spread.Hard)+len(e.spread.Soft)+len(e.pods.Apart) > 0 || e.pods.Affinity || e.pods.Wishes != nil {
			t.effects = append(t.effects, e)
		}
	}
	t.groups = last
	return true
}

// Outdated reports whether pods of a kind that was not expected were placed, and the template has to be made anew.
func (t *Template) Outdated() bool { return !t.addEffects() }

// dropsNodes reports whether pods to come may take nodes away from the pod other than by taking resources: a pod with host
// ports is among those that take them.
func (t *Template) dropsNodes() bool {
	for i := range t.apart {
		if t.apart[i].cells == nil {
			return true
		}
	}
	for i := range t.effects {
		if t.effects[i].ports {
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
	if e.ports {
		t.drop(n)
	}
	moves := false
	moving := t.moving[:0]
	changed := func(k *key, domain int32) {
		if k.cells == nil && !slices.Contains(moving, columnDomain{k.column, domain}) {
			moving = append(moving, columnDomain{k.column, domain})
		}
	}
	for _, i := range e.spread.Hard {
		if t.spread.Hard[i].AddPod(n) {
			changed(&t.hard[i], t.hard[i].column.Domain[n])
		}
	}
	for _, i := range e.spread.Soft {
		s := &t.spread.Soft[i]
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
	if e.pods.Affinity {
		for i := range t.pods.Affinity {
			tally := &t.pods.Affinity[i]
			if tally.Column.Domain[n] == topology.None {
				continue
			}
			t.pods.Found = true
			if tally.AddPod(n, 1) == 0 {
				changed(&t.together[i], tally.Column.Domain[n])
			}
		}
	}
	for _, i := range e.pods.Apart {
		k := &t.apart[i]
		if t.pods.Apart[i].AddPod(n, 1) == 0 && k.cells == nil {
			for _, m := range t.board.membersOf(k.column).of(k.column.Domain[n]) {
				t.drop(m)
			}
		}
	}
	for i, weight := range e.pods.Wishes {
		if weight != 0 {
			t.pods.Wishes[i].AddPod(n, weight)
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
