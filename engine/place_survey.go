package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// domain is the candidates of a topology domain.
type domain struct {
	verdict.Domain
	nodes []uint32
	lead  uint32 // its first node in the order of ties
	bound int    // more pods of a group than this have no room
	score int64  // no more can it have
}

// survey is what is looked at to find domains for a group.
type survey struct {
	p     *place
	g     *grouped
	kinds []surveyed  // by template of the group, that of its first entry first
	of    []int       // by entry of the group: which of kinds
	now   nodeset.Set // where the first entry's first pod can go; nil if that is not known
	asked api.Resources
	set   nodeset.Set // of the domain at hand
	// undecided says that it is not known of some domain whether it takes the minimum.
	undecided bool
}

// surveyed is what bounds how many of a template's pods a domain takes.
type surveyed struct {
	needs   []rule.Need
	allowed nodeset.Set        // nodes that may take one
	single  []*topology.Column // keys of which no domain takes two
	alone   bool               // whether no node takes two
}

func (p *place) survey(ctx context.Context, g *grouped) (*survey, error) {
	s := &survey{p: p, g: g, set: nodeset.New(p.state.Len())}
	var specs []*api.PodSpec
	kinds := make(map[*template]int)
	for _, e := range g.Entries {
		t := p.entries[e]
		if t.d == nil {
			t.d = p.decide(t.pod)
		}
		specs = append(specs, t.pod.Spec())
		kind, ok := kinds[t]
		if !ok {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			kind = len(s.kinds)
			kinds[t] = kind
			s.kinds = append(s.kinds, p.surveyed(t))
		}
		s.of = append(s.of, kind)
	}
	if slices.ContainsFunc(g.Entries, func(e int) bool { return p.entries[e].pod.Frees() }) {
		for i := range s.kinds {
			s.kinds[i].needs = nil // room grows
		}
	}
	s.asked = noderesources.Total(specs, g.counts)
	if g.Joint {
		return s, nil
	}
	// The first pod of a group that is placed in order finds what is there now.
	now, err := p.entries[g.Entries[0]].d.Filter(ctx, p.candidates)
	if err != nil {
		return nil, err
	}
	s.now = now.Feasible
	return s, nil
}

// surveyed returns what bounds a template's pods.
func (p *place) surveyed(t *template) surveyed {
	rules := t.d.Rules()
	s := surveyed{needs: rules.Fit.Needs(), allowed: nodeset.New(p.state.Len())}
	if static := p.static(t.d); static != nil {
		s.allowed = static.Clone()
	}
	for _, e := range rules.Exclusions {
		s.allowed.AndNot(e.Rejected())
		if e.Excludes == nil || !e.Excludes(t.pod) {
			continue
		}
		if e.Column == nil {
			s.alone = true
		} else {
			s.single = append(s.single, e.Column)
		}
	}
	return s
}

// domains returns the domains of a key.
func (s *survey) domains(ctx context.Context, key string) ([]*domain, error) {
	p := s.p
	id, ok := p.state.Symbols.Lookup(key)
	if !ok {
		return nil, nil
	}
	column := p.state.Column(id)
	pods := s.byKind(s.g.counts)
	var domains []*domain
	for d, nodes := range column.Nodes(p.candidates) {
		if d == topology.None || len(nodes) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		domains = append(domains, &domain{
			Domain: verdict.Domain{Key: key, Value: p.state.Symbols.Name(column.Values[d])},
			nodes:  nodes,
			lead:   p.first(nodes),
			bound:  s.bound(nodes, pods, s.g.counts[0]),
		})
	}
	return domains, nil
}

// first returns the node that comes first in the order of ties.
func (p *place) first(nodes []uint32) uint32 {
	if p.order == nil {
		return nodes[0]
	}
	best := nodes[0]
	for _, n := range nodes[1:] {
		if p.order[n] < p.order[best] {
			best = n
		}
	}
	return best
}

// before compares domains in the order of ties.
func (p *place) before(a, b *domain) int {
	if p.order == nil {
		return cmp.Compare(a.lead, b.lead)
	}
	return cmp.Or(cmp.Compare(p.order[a.lead], p.order[b.lead]), cmp.Compare(a.lead, b.lead))
}

// roomier compares domains by what they have room for, most first, and then in the order of ties.
func (p *place) roomier(a, b *domain) int {
	return cmp.Or(cmp.Compare(b.bound, a.bound), p.before(a, b))
}

// byKind returns how many pods of each template so many pods of each entry are.
func (s *survey) byKind(counts []int) []int {
	pods := make([]int, len(s.kinds))
	for i, n := range counts {
		pods[s.of[i]] += n
	}
	return pods
}

// bound returns how many of so many pods of each template have room on nodes, each template for itself. first of them are the
// first entry's.
func (s *survey) bound(nodes []uint32, pods []int, first int) int {
	sum := 0
	for kind, n := range pods {
		if kind == 0 && s.now != nil && !slices.ContainsFunc(nodes, s.now.Has) {
			n -= first
		}
		sum += s.kinds[kind].bound(nodes, n)
	}
	return sum
}

func (e *surveyed) bound(nodes []uint32, count int) int {
	for _, column := range e.single {
		count = min(count, e.domains(column, nodes, count))
	}
	room := 0
	for _, n := range nodes {
		if room >= count {
			break
		}
		if !e.allowed.Has(n) {
			continue
		}
		fit := int64(count)
		if e.alone {
			fit = 1
		}
		for k := range e.needs {
			need := &e.needs[k]
			fit = min(fit, max(0, need.Room(n))/need.Amount)
		}
		room += int(fit)
	}
	return min(room, count)
}

// domains returns how many domains of a key nodes are in, or limit if some are in none.
func (e *surveyed) domains(column *topology.Column, nodes []uint32, limit int) int {
	seen := make(map[int32]struct{})
	for _, n := range nodes {
		if !e.allowed.Has(n) {
			continue
		}
		d := column.Domain[n]
		if d == topology.None {
			return limit
		}
		if seen[d] = struct{}{}; len(seen) >= limit {
			return limit
		}
	}
	return len(seen)
}
