package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// CatchUp counts the pods that came and left since the last call, also for the rules. It reports whether the class can: otherwise its
// rules must be compiled again.
func (cl *Class) CatchUp() bool {
	to := cl.board.state.LastMove()
	cl.resources().catchUp(cl.board)
	if cl.base != nil {
		cl.base.catchUp()
	}
	cl.touched, cl.moving = cl.touched[:0], cl.moving[:0]
	if revision := cl.board.state.Revision(); revision != cl.revision {
		cluster.Way(cl.at, to, cl.count)
		cl.revision = revision
	} else if _, groups := cl.board.state.Added(); cl.own != nil || groups > cl.groups || !cl.counting.Empty() {
		for m := to; m != cl.at; m = m.Before() { // pods that came, and nothing else
			cl.count(m, 1)
		}
	}
	cl.at = to
	if cl.stale || cl.own == nil {
		return !cl.stale
	}
	for _, n := range cl.touched {
		cl.settle(n)
	}
	for _, in := range cl.moving {
		for _, n := range cl.board.nodesOf(in) {
			cl.settle(n)
		}
	}
	cl.own.catchUp()
	return true
}

// count counts a move, or one that was undone with a sign of -1.
func (cl *Class) count(m *cluster.Move, sign int32) {
	raises := m.Raises(sign)
	if raises && cl.isStale(m) || int(m.Group) >= cl.groups {
		cl.stale = true
		return
	}
	if m.Group >= 0 && cl.counting.Has(uint32(m.Group)) {
		cl.add(cl.effects[cl.effectOf[int(m.Group)]], m.Node, int64(sign)*int64(m.Pods))
	}
	if cl.own != nil && (raises || cl.own.resources.score[m.Node] == full) {
		cl.touched = append(cl.touched, m.Node)
	}
}

// isStale reports whether a class cannot count a move that may give a node more room.
func (cl *Class) isStale(m *cluster.Move) bool {
	switch m.Group {
	case cluster.Renewed:
		return true
	case cluster.Cordoned:
		return cl.cordons.Count
	}
	return !cl.revisable
}

// settle puts a node where it belongs: to own if its values are unusual, to base if they are usual, to neither if it has no room or a
// rule without cells rejects it.
func (cl *Class) settle(n uint32) {
	if !cl.nodes.Has(n) {
		return
	}
	rejected := cl.rejects(n)
	live, own := !rejected && cl.own.open(n), false
	if live {
		cl.valuesOf(n, cl.values)
		own = cl.base == nil || !slices.Equal(cl.values, cl.usual)
	}
	if own {
		cl.own.put(n, cl.values)
	} else {
		cl.own.drop(n)
	}
	cl.setRemoved(n, rejected || own)
	cl.countOn(n, live)
}

// setRemoved sets whether a node is removed from base.
func (cl *Class) setRemoved(n uint32, removed bool) {
	if cl.base == nil {
		return
	}
	if removed {
		cl.removed.Add(n)
	} else {
		cl.removed.Remove(n)
	}
	counts := removed && cl.base.bucketOf[n] > 0
	if counts == cl.discounted.Has(n) {
		return
	}
	g := cl.base.hint[cl.base.cells.cell[n]] - 1
	for int(g) >= len(cl.removedLive) {
		cl.removedLive = append(cl.removedLive, 0)
	}
	if counts {
		cl.discounted.Add(n)
		cl.removedLive[g]++
	} else {
		cl.discounted.Remove(n)
		cl.removedLive[g]--
	}
}
