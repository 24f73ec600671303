package change

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// removePods looks for a minimum-size set of victims on one node. It proposes a set per candidate and verifies these
// sets by filtering, smallest first.
func (s *search) removePods() error {
	r := s.victimSearch()
	r.survey()
	for i := range r.best {
		m := &r.best[i]
		if i == maxTriedRemovals {
			break
		}
		mark := s.State.Mark()
		for j := range m.victims {
			s.State.Evict(m.from, &m.victims[j])
		}
		node, err := s.firstFeasible(s.State, s.Pod, s.candidates)
		s.State.Undo(mark)
		if err != nil {
			return err
		}
		if node == nil {
			continue
		}
		c := verdict.Change{}
		for j := range m.victims {
			c.RemovedPods = append(c.RemovedPods, s.State.ConflictingPod(m.from, &m.victims[j]))
		}
		return s.add(c, node, nil)
	}
	return nil
}

// victimSet is pods of one node whose removal should make a node feasible.
type victimSet struct {
	from, to uint32
	victims  []cluster.Occupant
	pods     int
	priority int32 // highest of the victims
}

func (v *victimSet) compare(other *victimSet) int {
	return cmp.Or(cmp.Compare(v.pods, other.pods), cmp.Compare(v.priority, other.priority),
		cmp.Compare(v.from, other.from), cmp.Compare(v.to, other.to))
}

// victimSearch is the search for victims.
type victimSearch struct {
	*search
	// obstacles are the rules that make all pods of a domain victims.
	obstacles []obstacle
	needs     []rule.Need
	// matched are the groups that match the required affinity terms. One of their pods has to stay in the domain of
	// each term.
	matched  map[int]bool
	terms    []rule.Term    // of the required affinity
	matching int            // pods that match them in a domain of any term
	self     bool           // whether the pod matches its own terms
	counting []map[int]bool // by constraint: groups that count
	domains  [][][]uint32   // by constraint, as nodesOf returns them
	seen     map[string]bool
	best     []victimSet
	picks    int
}

func (s *search) victimSearch() *victimSearch {
	r := &victimSearch{
		search: s, matched: make(map[int]bool),
		seen: make(map[string]bool), domains: make([][][]uint32, len(s.rules.Spread)),
		needs: s.rules.Fit.Needs(),
	}
	r.findExclusions()
	r.findAffinity()
	for _, spread := range s.rules.Spread {
		counts := make(map[int]bool)
		for g := range spread.Pods.Groups {
			counts[g] = true
		}
		r.counting = append(r.counting, counts)
	}
	return r
}

// nodesOf returns the nodes of each domain of a spread constraint.
func (r *victimSearch) nodesOf(constraint int) [][]uint32 {
	if r.domains[constraint] == nil {
		r.domains[constraint] = r.rules.Spread[constraint].Column.Nodes(nodeset.Full(r.State.Len()))
	}
	return r.domains[constraint]
}

// target is a candidate with what rejects it.
type target struct {
	node      uint32
	from      int64 // the node of the victims, none if it is open
	obstacles []*obstacle
	short     []shortage
	excess    []excess
}

type shortage struct {
	need   *rule.Need
	amount int64
}

// excess is the number of pods by which a domain exceeds maxSkew.
type excess struct {
	constraint int
	pods       int64
}

// target finds what rejects a node; not ok if removing pods of a single node cannot help.
func (r *victimSearch) target(n uint32) (t *target, ok bool) {
	t = &target{node: n, from: none}
	at := func(node int64) bool {
		if t.from == none {
			t.from = node
		}
		return t.from == node
	}
	for i := range r.terms {
		if !r.terms[i].Column.Having.Has(n) {
			return nil, false
		}
	}
	for i := range r.needs {
		if short := saturating.Sub(r.needs[i].Amount, r.needs[i].Room(n)); short > 0 {
			if r.needs[i].Amount > r.needs[i].Allocatable(n) {
				return nil, false
			}
			t.short = append(t.short, shortage{&r.needs[i], short})
			at(int64(n))
		}
	}
	for i := range r.obstacles {
		o := &r.obstacles[i]
		if o.rejected == nil || !o.rejected.Has(n) {
			continue
		}
		h := o.holder[o.domain(n)]
		if h == many || !at(h) {
			return nil, false
		}
		t.obstacles = append(t.obstacles, o)
	}
	for i, h := range r.rules.Spread {
		if !h.Column.Having.Has(n) {
			return nil, false
		}
		if over := h.Skew(h.Column.Domain[n]) - h.MaxSkew; over > 0 {
			t.excess = append(t.excess, excess{i, over})
		}
	}
	return t, t.from != none || len(t.excess) > 0
}

// consider picks victims on a node for a target.
func (r *victimSearch) consider(from uint32, t *target) {
	occupants := r.State.Occupants(from)
	m := victimSet{from: from, to: t.node}
	p := &picker{spare: r.spare(from, t), self: r.self, matching: r.matching}
	p.needs = make([]int64, 0, len(t.short)+len(t.excess))
	for _, s := range t.short {
		p.needs = append(p.needs, s.amount)
	}
	for _, e := range t.excess {
		p.needs = append(p.needs, e.pods)
	}
	for _, o := range occupants {
		k := kind{Occupant: o, gives: make([]int64, 0, len(p.needs)), matches: r.matched[o.Group] && r.rules.Affinity.Anywhere(from)}
		for _, s := range t.short {
			if s.need.Resource == "pods" {
				k.gives = append(k.gives, 1)
			} else {
				k.gives = append(k.gives, o.Uses(s.need.Resource))
			}
		}
		for _, e := range t.excess {
			h := r.rules.Spread[e.constraint]
			counts := r.counting[e.constraint][o.Group] && h.Counted.Has(from) &&
				h.Column.Domain[from] == h.Column.Domain[t.node]
			k.gives = append(k.gives, map[bool]int64{true: 1}[counts])
		}
		if slices.ContainsFunc(t.obstacles, func(o *obstacle) bool { return o.victims[k.Group] }) {
			m.take(o)
			for j, gives := range k.gives {
				p.needs[j] = saturating.Sub(p.needs[j], saturating.Mul(gives, int64(o.Count)))
			}
			if k.matches {
				p.gone += o.Count
			}
			continue
		}
		k.terminating = r.State.Group(o.Group).Terminating
		p.kinds = append(p.kinds, k)
	}
	found := p.pick()
	if r.picks += p.picks + picksOfOccupants; !found {
		return
	}
	for i, count := range p.chosen {
		if count > 0 {
			o := p.kinds[i].Occupant
			o.Count = count
			m.take(o)
		}
	}
	if m.pods == 0 {
		return
	}
	r.best = append(r.best, m)
	if len(r.best) > 4*maxTriedRemovals {
		slices.SortFunc(r.best, func(a, b victimSet) int { return a.compare(&b) })
		r.best = r.best[:maxTriedRemovals]
	}
}

func (m *victimSet) take(o cluster.Occupant) {
	if m.pods == 0 || o.Priority > m.priority {
		m.priority = o.Priority
	}
	m.victims = append(m.victims, o)
	m.pods += o.Count
}

// spare returns how many matching pods of a node may become victims so that the target's domains keep one.
func (r *victimSearch) spare(from uint32, t *target) int {
	spare := r.matching
	for i := range r.terms {
		term := &r.terms[i]
		if d := term.Column.Domain[t.node]; term.Column.Domain[from] == d {
			spare = min(spare, int(term.Counts[d])-1)
		}
	}
	return spare
}
