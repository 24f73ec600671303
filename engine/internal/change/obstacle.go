package change

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// obstacle is a rule that rejects nodes because of pods. All victims that it counts for a node have to go.
type obstacle struct {
	rejected nodeset.Set
	column   *topology.Column // domains of the victims; nil for one domain of all nodes
	perNode  bool             // each node is a domain
	victims  map[int]bool     // groups
	holder   []int64          // by domain: the node of the victims, none or many
}

const none, many = -1, -2

func (o *obstacle) domain(n uint32) int {
	switch {
	case o.perNode:
		return int(n)
	case o.column == nil:
		return 0
	}
	return int(o.column.Domain[n])
}

func (r *victimSearch) obstacle(rejected nodeset.Set, column *topology.Column, domains int) *obstacle {
	o := obstacle{rejected: rejected, column: column, victims: make(map[int]bool), holder: make([]int64, domains)}
	for d := range o.holder {
		o.holder[d] = none
	}
	r.obstacles = append(r.obstacles, o)
	return &r.obstacles[len(r.obstacles)-1]
}

// add makes the pods of a group victims.
func (o *obstacle) add(group int, g *cluster.Group) {
	if o.victims[group] {
		return
	}
	o.victims[group] = true
	for n := range g.All() {
		hold(&o.holder[o.domain(n)], n)
	}
}

// hold records that a node has victims.
func hold(holder *int64, node uint32) {
	switch *holder {
	case none:
		*holder = int64(node)
	case int64(node):
	default:
		*holder = many
	}
}

// findExclusions finds the pods that anti-affinity and host ports keep out of the pod's domain.
func (r *victimSearch) findExclusions() {
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

// findAffinity finds the pods that match the required affinity terms. If the pod matches them too, it can be the first of
// its set once all others are gone.
func (r *victimSearch) findAffinity() {
	a := r.rules.Affinity
	if a == nil {
		return
	}
	r.terms, r.self, r.matching = a.Terms, a.Self, int(a.Matched())
	holder := int64(none)
	for i, g := range a.Pods.Groups {
		r.matched[i] = true
		for n := range g.All() {
			if a.Anywhere(n) {
				hold(&holder, n)
			}
		}
	}
	if a.First() {
		return
	}
	o := r.obstacle(a.Rejected(), nil, 1)
	o.victims, o.holder[0] = r.matched, holder
	if !r.self || holder == none {
		o.holder[0] = many
	}
}

// survey finds the best victim sets of all candidates.
func (r *victimSearch) survey() {
	targets := r.passing(static)
	for to := range targets.All() {
		if r.State.Ended() || r.picks > maxPicks {
			break
		}
		t, ok := r.target(to)
		if !ok {
			continue
		}
		if t.from != none {
			r.consider(uint32(t.from), t)
		} else {
			r.spread(t)
		}
	}
	slices.SortFunc(r.best, func(a, b victimSet) int { return a.compare(&b) })
}

// spread considers a target that only spread constraints reject, so that the victims may be on many nodes. Targets in
// the same domains are equal. Targets with equal skew are also equal for victims outside of their own domains.
func (r *victimSearch) spread(t *target) {
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
	for i := range r.terms {
		d := uint64(r.terms[i].Column.Domain[t.node])
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
