package change

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// removePods looks for the fewest pods of one node without which a candidate takes the pod. For each candidate it is
// worked out which pods would have to go, then it is decided without them, the fewest first.
func (w *wish) removePods() error {
	r := w.removing()
	r.survey()
	for i := range r.best {
		m := &r.best[i]
		if i == maxTriedRemovals {
			break
		}
		taking, err := w.taking(w.State.Without(m.from, m.gone), w.Pod, w.candidates)
		if err != nil {
			return err
		}
		if taking == nil {
			continue
		}
		c := verdict.Change{}
		for _, o := range m.gone {
			g := w.State.Group(o.Group)
			c.RemovedPods = append(c.RemovedPods, verdict.ConflictingPod{
				Namespace: w.State.Symbols.Name(g.Namespace), Name: o.Name, Node: m.from, Count: o.Count,
				Template: g.Template, Queue: o.Queue,
			})
		}
		return w.keep(c, taking, nil)
	}
	return nil
}

// removal is pods of one node without which another, or the same, should take the pod.
type removal struct {
	from, to uint32
	gone     []cluster.Occupant
	pods     int
	priority int32 // highest of theirs
}

func (a *removal) compare(b *removal) int {
	return cmp.Or(cmp.Compare(a.pods, b.pods), cmp.Compare(a.priority, b.priority),
		cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
}

// removing is the search for pods that would have to go.
type removing struct {
	*wish
	assumed map[uint32][]int // places in the assumed pods, by node
	// obstacles are the rules by which all of some pods would have to go.
	obstacles []obstacle
	needs     []rule.Need
	// wanted is the groups that the pod's required affinity matches, of which one pod has to stay in each term's domain.
	wanted   map[int]bool
	columns  []*topology.Column // by term
	company  [][]int64          // by term, by domain: how many of these there are
	together int                // how many there are in any domain
	self     bool               // whether the pod matches its own affinity
	counting []map[int]bool     // by constraint: groups
	domains  [][][]uint32       // by constraint, as nodesOf
	seen     map[string]bool
	best     []removal
	picks    int
}

func (w *wish) removing() *removing {
	r := &removing{
		wish: w, assumed: make(map[uint32][]int), wanted: make(map[int]bool),
		seen: make(map[string]bool), domains: make([][][]uint32, len(w.rules.Spread)),
		needs: w.rules.Fit.Needs(), self: w.rules.Affinity != nil && w.rules.Affinity.Self,
	}
	for i, a := range w.State.AssumedPods() {
		r.assumed[a.Node] = append(r.assumed[a.Node], i)
	}
	r.findExclusions()
	r.findCompany()
	for _, s := range w.rules.Spread {
		counts := make(map[int]bool)
		for g := range s.Pods.Groups {
			counts[g] = true
		}
		r.counting = append(r.counting, counts)
	}
	return r
}

// nodesOf returns the nodes of each domain of a constraint.
func (r *removing) nodesOf(constraint int) [][]uint32 {
	if r.domains[constraint] == nil {
		r.domains[constraint] = r.rules.Spread[constraint].Column.Nodes(nodeset.Full(r.State.Len()))
	}
	return r.domains[constraint]
}

// target is a candidate, and what has to be gone before it takes the pod.
type target struct {
	node      uint32
	from      int64 // the node where pods have to go, nobody if that is open
	obstacles []*obstacle
	short     []shortage
	excess    []excess
}

type shortage struct {
	need   *rule.Need
	amount int64
}

// excess is by how many pods a domain exceeds a constraint.
type excess struct {
	constraint int
	pods       int64
}

// target tells what is in the way on a node; not ok if pods gone from one node cannot help.
func (r *removing) target(n uint32) (t *target, ok bool) {
	t = &target{node: n, from: nobody}
	at := func(node int64) bool {
		if t.from == nobody {
			t.from = node
		}
		return t.from == node
	}
	for _, column := range r.columns {
		if !column.Having.Has(n) {
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
		if o.refused == nil || !o.refused.Has(n) {
			continue
		}
		h := o.holder[o.domain(n)]
		if h == several || !at(h) {
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
	return t, t.from != nobody || len(t.excess) > 0
}

// consider works out which pods would have to go from a node.
func (r *removing) consider(from uint32, t *target) {
	occupants := r.State.Occupants(from, r.assumed[from])
	m := removal{from: from, to: t.node}
	p := &picking{leave: r.leave(from, t), self: r.self, together: r.together}
	p.needs = make([]int64, 0, len(t.short)+len(t.excess))
	for _, s := range t.short {
		p.needs = append(p.needs, s.amount)
	}
	for _, e := range t.excess {
		p.needs = append(p.needs, e.pods)
	}
	for _, o := range occupants {
		k := kind{Occupant: o, gives: make([]int64, 0, len(p.needs)), wanted: r.wanted[o.Group] && r.somewhere(from)}
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
		if slices.ContainsFunc(t.obstacles, func(o *obstacle) bool { return o.inWay[k.Group] }) {
			m.take(o)
			for j, gives := range k.gives {
				p.needs[j] = saturating.Sub(p.needs[j], saturating.Mul(gives, int64(o.Count)))
			}
			if k.wanted {
				p.gone += o.Count
			}
			continue
		}
		k.leaving = r.State.Group(o.Group).Terminating
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
		slices.SortFunc(r.best, func(a, b removal) int { return a.compare(&b) })
		r.best = r.best[:maxTriedRemovals]
	}
}

func (m *removal) take(o cluster.Occupant) {
	if m.pods == 0 || o.Priority > m.priority {
		m.priority = o.Priority
	}
	m.gone = append(m.gone, o)
	m.pods += o.Count
}

// leave returns how many of the pods that the pod's required affinity asks for may go from a node at most, if others are
// to be there for it where it goes.
func (r *removing) leave(from uint32, t *target) int {
	leave := r.together
	for i := range r.company {
		column := r.columns[i]
		if d := column.Domain[t.node]; column.Domain[from] == d {
			leave = min(leave, int(r.company[i][d])-1)
		}
	}
	return leave
}
