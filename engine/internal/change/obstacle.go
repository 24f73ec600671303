package change

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// obstacle is a rule that refuses nodes because of pods that are somewhere.
type obstacle struct {
	refused nodeset.Set
	column  *topology.Column // of what pods are in the way for a node; nil for one domain of all nodes
	perNode bool             // each node is a domain
	inWay   map[int]bool     // groups
	holder  []int64          // by domain: the node with such pods, nobody or several
}

const nobody, several = -1, -2

func (o *obstacle) domain(n uint32) int {
	switch {
	case o.perNode:
		return int(n)
	case o.column == nil:
		return 0
	}
	return int(o.column.Domain[n])
}

func (r *removing) obstacle(refused nodeset.Set, column *topology.Column, domains int) *obstacle {
	o := obstacle{refused: refused, column: column, inWay: make(map[int]bool), holder: make([]int64, domains)}
	for d := range o.holder {
		o.holder[d] = nobody
	}
	r.obstacles = append(r.obstacles, o)
	return &r.obstacles[len(r.obstacles)-1]
}

// add says that the pods of a group are in the way.
func (o *obstacle) add(group int, g *cluster.Group) {
	if o.inWay[group] {
		return
	}
	o.inWay[group] = true
	for _, nodes := range [][]uint32{g.Nodes, g.Assumed} {
		for _, n := range nodes {
			if h := &o.holder[o.domain(n)]; *h == nobody {
				*h = int64(n)
			} else if *h != int64(n) {
				*h = several
			}
		}
	}
}

// findExclusions finds the pods that may not be in the pod's domain.
func (r *removing) findExclusions() {
	for _, e := range r.rules.Exclusions {
		if !r.candidates.Meets(e.Rejected()) {
			continue
		}
		o := r.obstacle(e.Rejected(), e.Column, e.Domains())
		o.perNode = e.Column == nil
		for i, g := range e.Pods.Groups {
			o.add(i, g)
		}
	}
}

// findCompany finds the pods that required affinity asks for. Where a node is refused because they are elsewhere, the pod
// could be the first of its set if they were gone.
func (r *removing) findCompany() {
	a := r.rules.Affinity
	if a == nil {
		return
	}
	for i := range a.Terms {
		r.columns = append(r.columns, a.Terms[i].Column)
	}
	holder := int64(nobody)
	hold := func(n uint32, count int) {
		if !r.somewhere(n) {
			return
		}
		r.together += count
		if holder == nobody {
			holder = int64(n)
		} else if holder != int64(n) {
			holder = several
		}
	}
	for i, g := range a.Pods.Groups {
		r.wanted[i] = true
		for j, n := range g.Nodes {
			hold(n, g.Count(j))
		}
		for _, n := range g.Assumed {
			hold(n, 1)
		}
	}
	missing := nodeset.New(r.State.Len())
	for i := range a.Terms {
		counts := a.Terms[i].Counts
		r.company = append(r.company, counts)
		lonely := make([]uint8, len(counts))
		for d, n := range counts {
			if n == 0 {
				lonely[d] = 1
			}
		}
		missing.Or(r.columns[i].Where(lonely))
	}
	if a.First() {
		return
	}
	o := r.obstacle(missing, nil, 1)
	o.inWay, o.holder[0] = r.wanted, holder
	if !r.self || holder == nobody {
		o.holder[0] = several
	}
}

// somewhere reports whether a node is in a domain of any required affinity term.
func (r *removing) somewhere(n uint32) bool {
	return slices.ContainsFunc(r.columns, func(c *topology.Column) bool { return c.Domain[n] != topology.None })
}

// survey works out for each candidate which pods would have to go, and keeps what is best.
func (r *removing) survey() {
	targets := r.without(static)
	for to := range targets.All() {
		if r.State.Ended() || r.picks > maxPicks {
			break
		}
		t, ok := r.target(to)
		if !ok {
			continue
		}
		if t.from != nobody {
			r.consider(uint32(t.from), t)
		} else {
			r.spread(t)
		}
	}
	slices.SortFunc(r.best, func(a, b removal) int { return a.compare(&b) })
}

// spread considers a target to which nothing but constraints on spreading is in the way, so that pods may go from many
// nodes. Targets of the same domains are alike, and as far as the pods' domains are others than the target's own, so are
// those that exceed as much.
func (r *removing) spread(t *target) {
	exceeded := func(i int) bool {
		return slices.ContainsFunc(t.excess, func(e excess) bool { return e.constraint == i })
	}
	var alike, same []byte
	for i, h := range r.rules.Spread {
		d := uint64(h.Column.Domain[t.node])
		if same = binary.AppendUvarint(same, d); exceeded(i) {
			alike = binary.AppendUvarint(alike, d)
		} else {
			alike = binary.AppendVarint(alike, h.Skew(h.Column.Domain[t.node]))
		}
	}
	for i := range r.columns {
		d := uint64(r.columns[i].Domain[t.node])
		alike, same = binary.AppendUvarint(alike, d), binary.AppendUvarint(same, d)
	}
	if r.seen[string(same)+"="] {
		return
	}
	r.seen[string(same)+"="] = true
	first := !r.seen[string(alike)]
	r.seen[string(alike)] = true
	considered := make(map[uint32]bool)
	for i := range r.rules.Spread {
		if exceeded(i) && (!first || i != t.excess[0].constraint) {
			continue
		}
		for _, from := range r.nodesOf(i)[r.rules.Spread[i].Column.Domain[t.node]] {
			if !considered[from] && !slices.ContainsFunc(t.excess, func(e excess) bool {
				h := r.rules.Spread[e.constraint]
				return h.Column.Domain[from] != h.Column.Domain[t.node] || !h.Counted.Has(from)
			}) {
				considered[from] = true
				r.consider(from, t)
			}
		}
	}
}
