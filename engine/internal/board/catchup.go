package board

import "slices"

// CatchUp adds the pods that were assumed since the last call, also to the rules.
func (cl *Class) CatchUp() {
	if cl.base != nil {
		cl.base.resources.catchUp(cl.board)
		cl.base.catchUp()
	}
	if cl.own != nil {
		cl.catchUpOwn()
	}
	for ; cl.seen < len(cl.board.groups); cl.seen++ {
		at, counts := cl.effectOf[cl.board.groups[cl.seen]]
		if !counts {
			continue
		}
		e := &cl.effects[at]
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
