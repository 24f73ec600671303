package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/topology"
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
	p       *place
	g       *grouped
	entries []surveyed // by entry of the group
	asked   api.Resources
	set     nodeset.Set // of the domain at hand
	// undecided says that it is not known of some domain whether it takes the minimum.
	undecided bool
}

// surveyed is what bounds how many of an entry's pods a domain takes.
type surveyed struct {
	needs   []noderesources.Need
	allowed nodeset.Set        // nodes that may take one
	single  []*topology.Column // keys of which no domain takes two
	alone   bool               // whether no node takes two
	now     nodeset.Set        // where the first one can go; nil if that is not known
}

func (p *place) survey(ctx context.Context, g *grouped) (*survey, error) {
	s := &survey{p: p, g: g, set: nodeset.New(p.state.Len())}
	var specs []*api.PodSpec
	of := make(map[*template]surveyed, len(g.Entries))
	for _, e := range g.Entries {
		t := p.entries[e]
		if t.d == nil {
			t.d = p.decide(t.pod)
		}
		specs = append(specs, t.pod.Spec())
		known, ok := of[t]
		if !ok {
			known = p.surveyed(t)
			of[t] = known
		}
		s.entries = append(s.entries, known)
	}
	s.asked = noderesources.Total(specs, g.counts)
	if g.Joint {
		return s, nil
	}
	// The first pod of a group that is placed in order finds what is there now.
	now, err := p.entries[g.Entries[0]].d.filter(ctx, p.candidates)
	if err != nil {
		return nil, err
	}
	s.entries[0].now = now.feasible
	return s, nil
}

// surveyed returns what bounds a template's pods.
func (p *place) surveyed(t *template) surveyed {
	c := t.d.Cycle
	s := surveyed{
		needs:   noderesources.NewFilter(c).Needs(),
		allowed: p.static(t.d),
		single:  interpodaffinity.Single(c),
		alone:   nodeports.Clash(t.pod.HostPorts, t.pod.HostPorts),
	}
	if s.allowed == nil {
		s.allowed = nodeset.New(p.state.Len())
		return s
	}
	s.allowed = s.allowed.Clone()
	if barred := interpodaffinity.Barred(c); barred != nil {
		s.allowed.AndNot(barred)
	}
	return s
}

// domains returns the domains of a key, without those in which the group has no room.
func (s *survey) domains(key string) []*domain {
	p := s.p
	id, ok := p.state.Symbols.Lookup(key)
	if !ok {
		return nil
	}
	column := p.state.Column(id)
	var domains []*domain
	for d, nodes := range column.Nodes(p.candidates) {
		if d == topology.None || len(nodes) == 0 {
			continue
		}
		domains = append(domains, &domain{
			Domain: verdict.Domain{Key: key, Value: p.state.Symbols.Name(column.Values[d])},
			nodes:  nodes,
			lead:   p.first(nodes),
			bound:  s.bound(nodes, s.g.counts),
		})
	}
	return domains
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

// bound returns how many of so many pods of each entry have room on nodes, each entry for itself.
func (s *survey) bound(nodes []uint32, counts []int) int {
	sum := 0
	for i, count := range counts {
		sum += s.entries[i].bound(nodes, count)
	}
	return sum
}

func (e *surveyed) bound(nodes []uint32, count int) int {
	if e.now != nil && !slices.ContainsFunc(nodes, e.now.Has) {
		return 0
	}
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
