package change

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// obstacle is a rule that rejects nodes because of pods. All victims that it counts for a node have to go.
type obstacle struct {
	rejected nodeset.Set
	domain   func(node uint32) int // -1 for none
	victims  map[int]bool          // groups
	holder   []int64               // by domain: the node of the victims, none or many
}

const none, many = -1, -2

// addObstacle adds an obstacle with the pods of a rule as victims.
func (r *victimSearch) addObstacle(rejected nodeset.Set, pods *rule.Pods, domains int, domain func(uint32) int) *obstacle {
	o := &obstacle{rejected, domain, groupsOf(pods), slices.Repeat([]int64{none}, domains)}
	for _, g := range pods.Groups {
		for n := range g.All() {
			if d := domain(n); d >= 0 && o.holder[d] != int64(n) {
				if o.holder[d] == none {
					o.holder[d] = int64(n)
				} else {
					o.holder[d] = many
				}
			}
		}
	}
	r.obstacles = append(r.obstacles, o)
	return o
}

func groupsOf(pods *rule.Pods) map[int]bool {
	groups := make(map[int]bool)
	for i := range pods.Groups {
		groups[i] = true
	}
	return groups
}

// findObstacles finds the pods that conflict with the pod in its domain by anti-affinity or host ports, and the pods that match its
// required affinity terms. If the pod itself matches these terms, it can be the first of its set once all others are gone.
func (r *victimSearch) findObstacles() {
	for _, e := range r.rules.Exclusions {
		if r.candidates.Meets(e.Rejected()) {
			r.addObstacle(e.Rejected(), &e.Pods, e.Domains(), func(n uint32) int {
				d, _ := e.Domain(n)
				return int(d)
			})
		}
	}
	a := r.rules.Affinity
	if a == nil {
		return
	}
	r.affinity, r.matched, r.matching = a, groupsOf(&a.Pods), int(a.Matched())
	if a.First() {
		return
	}
	o := r.addObstacle(a.Rejected(), &a.Pods, 1, func(n uint32) int {
		if a.Anywhere(n) {
			return 0
		}
		return -1
	})
	if !a.Self || o.holder[0] == none {
		o.holder[0] = many
	}
}

// survey finds the best victim sets of all candidates.
func (r *victimSearch) survey() {
	targets := r.passing(func(p *plugin.Plugin) bool { return p.Static })
	for to := range targets.All() {
		if r.State.Ended() || r.picks > maxPicks {
			break
		}
		switch t, ok := r.target(to); {
		case !ok:
		case t.from != none:
			r.consider(uint32(t.from), t)
		default:
			r.spread(t)
		}
	}
	slices.SortFunc(r.best, victimSet.compare)
}

// spread considers a target that only graded rules reject, so that the victims may be on many nodes. Targets in
// the same domains are equal. Targets with equal skew are also equal for victims outside of their own domains.
func (r *victimSearch) spread(t *target) {
	var alike, same []byte
	if len(r.nominated[t.node]) > 0 { // no other target is equal
		alike, same = binary.AppendVarint(alike, -1-int64(t.node)), binary.AppendVarint(same, -1-int64(t.node))
	}
	for i := range r.graded {
		g := &r.graded[i]
		d := int64(g.domainOf(t.node))
		if same = binary.AppendVarint(same, d); slices.Contains(t.exceeded, i) {
			alike = binary.AppendVarint(alike, d)
		} else {
			alike = binary.AppendVarint(alike, g.Excess(t.node, 0))
		}
	}
	for _, term := range r.terms() {
		d := int64(term.Column.Domain[t.node])
		alike, same = binary.AppendVarint(alike, d), binary.AppendVarint(same, d)
	}
	if r.seen[string(same)+"="] {
		return
	}
	r.seen[string(same)+"="] = true
	first := !r.seen[string(alike)]
	r.seen[string(alike)] = true
	considered := make(map[uint32]bool)
	for i := range r.graded {
		if slices.Contains(t.exceeded, i) && (!first || i != t.exceeded[0]) {
			continue
		}
		for _, from := range r.graded[i].nodes(r.State, t.node) {
			if !considered[from] && !slices.ContainsFunc(t.exceeded, func(i int) bool { return !r.graded[i].counts(from, t.node) }) {
				considered[from] = true
				r.consider(from, t)
			}
		}
	}
}
