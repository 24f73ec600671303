package gang

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
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
	p     *placer
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

func (p *placer) survey(ctx context.Context, g *grouped) (*survey, error) {
	s := &survey{p: p, g: g, set: nodeset.New(p.State.Len())}
	var specs []*api.PodSpec
	kinds := make(map[*place.Class]int)
	for _, e := range g.Entries {
		t := p.Classes[e]
		p.Decision(t)
		specs = append(specs, t.Pod.Spec())
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
	if slices.ContainsFunc(g.Entries, func(e int) bool { return p.Classes[e].Pod.Frees() }) {
		for i := range s.kinds {
			s.kinds[i].needs = nil // room grows
		}
	}
	s.asked = noderesources.Total(specs, g.counts)
	if g.Joint {
		return s, nil
	}
	// The first pod of a group that is placed in order finds what is there now.
	now, err := p.Classes[g.Entries[0]].Decision.Filter(ctx, p.Candidates)
	if err != nil {
		return nil, err
	}
	s.now = now.Feasible
	return s, nil
}

// surveyed returns what bounds a template's pods.
func (p *placer) surveyed(t *place.Class) surveyed {
	rules := t.Decision.Rules()
	s := surveyed{needs: rules.Fit.Needs(), allowed: nodeset.New(p.State.Len())}
	if static := p.Static(t.Decision); static != nil {
		s.allowed = static.Clone()
	}
	for _, e := range rules.Exclusions {
		s.allowed.AndNot(e.Rejected())
		if e.Excludes == nil || !e.Excludes(t.Pod) {
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
	id, ok := p.State.Symbols.Lookup(key)
	if !ok {
		return nil, nil
	}
	column := p.State.Column(id)
	pods := s.byKind(s.g.counts)
	var domains []*domain
	for d, nodes := range column.Nodes(p.Candidates) {
		if d == topology.None || len(nodes) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		domains = append(domains, &domain{
			Domain: verdict.Domain{Key: key, Value: p.State.Symbols.Name(column.Values[d])},
			nodes:  nodes,
			lead:   p.First(nodes),
			bound:  s.bound(nodes, pods, s.g.counts[0]),
		})
	}
	return domains, nil
}

// before compares domains in the order of ties.
func (p *placer) before(a, b *domain) int { return p.Compare(a.lead, b.lead) }

// roomier compares domains by what they have room for, most first, and then in the order of ties.
func (p *placer) roomier(a, b *domain) int {
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
