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

// domain is the candidates in a topology domain.
type domain struct {
	verdict.Domain
	nodes []uint32
	lead  uint32 // first node in tie-break order
	bound int    // upper bound of the pods that it takes
	score int64  // upper bound
}

// survey is the state of the search for a group's domains.
type survey struct {
	p         *placer
	g         *queued
	kinds     []capacity  // by class of the group, regardless of nominations; the first entry's class first
	of        []int       // by entry of the group: index of kinds
	now       nodeset.Set // nodes that are feasible for the first entry's first pod; nil if unknown
	requested api.Resources
	// mayFail is set if kube-scheduler may fail with an error on one of the pods.
	mayFail bool
	// undecided is set if a joint search exceeded its budget in a domain.
	undecided bool
	// kept is set if the survey is of an earlier group.
	kept *kept
}

// capacity bounds how many pods of a class a domain takes.
type capacity struct {
	class      *place.Class
	rules      *rule.Set
	needs      []rule.Need
	allowed    nodeset.Set        // nodes that static rules and exclusions allow
	exclusive  []*topology.Column // keys whose domains take one pod each
	onePerNode bool               // whether a node takes one pod only
}

func (p *placer) survey(ctx context.Context, g *queued) (*survey, error) {
	s := &survey{p: p, g: g}
	var specs []*api.PodSpec
	kinds := make(map[*place.Class]int)
	for _, e := range g.Entries {
		t := p.Classes[e]
		p.Decision(t)
		specs = append(specs, t.Pod.Spec())
		t = t.Kind()
		kind, ok := kinds[t]
		if !ok {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			kind = len(s.kinds)
			kinds[t] = kind
			s.kinds = append(s.kinds, p.capacity(t))
		}
		s.of = append(s.of, kind)
	}
	if slices.ContainsFunc(g.Entries, func(e int) bool { return p.Classes[e].Pod.Frees() }) {
		for i := range s.kinds {
			s.kinds[i].needs = nil // assumed pods free resources
		}
	}
	s.requested = noderesources.Total(specs, g.counts)
	if g.Joint {
		return s, nil
	}
	// The first pod of a group that is placed in queue order is filtered against the current state.
	now, err := p.Classes[g.Entries[0]].Decision.FilterAll(ctx, p.Candidates)
	if err != nil {
		return nil, err
	}
	s.now = now.Feasible
	return s, nil
}

func (p *placer) capacity(t *place.Class) capacity {
	rules := p.Decision(t).Rules()
	s := capacity{class: t, rules: rules, needs: rules.Fit.Needs(), allowed: nodeset.New(p.State.Len())}
	if static := p.Static(t.Decision, rules); static != nil {
		s.allowed = static
	}
	for _, e := range rules.Exclusions {
		s.allowed.AndNot(e.Rejected())
		if e.Excludes == nil || !e.Excludes(t.Pod) {
			continue
		}
		if e.Column == nil {
			s.onePerNode = true
		} else {
			s.exclusive = append(s.exclusive, e.Column)
		}
	}
	return s
}

// domains returns the domains of a key that the group may be placed in.
func (s *survey) domains(ctx context.Context, key string) ([]*domain, error) {
	p := s.p
	id, ok := p.State.Symbols.Lookup(key)
	if !ok {
		return nil, nil
	}
	column := p.State.Column(id)
	own, unknown := pinned(p.State, s.g, key)
	if unknown != "" {
		return nil, nil
	}
	pods := s.perClass(s.g.counts)
	var domains []*domain
	for d, nodes := range column.Nodes(p.Candidates) {
		if d == topology.None || len(nodes) == 0 || own != topology.None && d != int(own) {
			continue
		}
		bound, err := s.bound(ctx, nodes, pods, s.g.counts[0])
		if err != nil {
			return nil, err
		}
		domains = append(domains, &domain{
			Domain: verdict.Domain{Key: key, Value: p.State.Symbols.Name(column.Values[d])},
			nodes:  nodes,
			lead:   p.Order().First(nodes),
			bound:  bound,
		})
	}
	return domains, nil
}

// before compares domains in tie-break order.
func (p *placer) before(a, b *domain) int { return p.Order().Compare(a.lead, b.lead) }

// byBound compares domains by bound, highest first, then in tie-break order.
func (p *placer) byBound(a, b *domain) int {
	return cmp.Or(cmp.Compare(b.bound, a.bound), p.before(a, b))
}

// perClass adds up numbers of pods by entry to numbers by class.
func (s *survey) perClass(counts []int) []int {
	pods := make([]int, len(s.kinds))
	for i, n := range counts {
		pods[s.of[i]] += n
	}
	return pods
}

// bound returns an upper bound of the pods that fit on nodes. pods is the number of pods by class; each class is bounded
// separately. first is the number of pods of the first entry.
func (s *survey) bound(ctx context.Context, nodes []uint32, pods []int, first int) (int, error) {
	sum := 0
	for kind, n := range pods {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if kind == 0 && s.now != nil && !slices.ContainsFunc(nodes, s.now.Has) {
			n -= first
		}
		sum += s.kinds[kind].bound(nodes, n)
	}
	return sum, ctx.Err()
}

func (c *capacity) bound(nodes []uint32, count int) int {
	for _, column := range c.exclusive {
		count = min(count, c.domains(column, nodes, count))
	}
	room := 0
	for _, n := range nodes {
		if room >= count {
			break
		}
		if !c.allowed.Has(n) {
			continue
		}
		fit := int64(count)
		if c.onePerNode {
			fit = 1
		}
		for k := range c.needs {
			need := &c.needs[k]
			fit = min(fit, max(0, need.Room(n))/need.Amount)
		}
		room += int(fit)
	}
	return min(room, count)
}

// domains counts the domains of nodes under a key, up to limit. It returns limit if a node lacks the key.
func (c *capacity) domains(column *topology.Column, nodes []uint32, limit int) int {
	seen := make(map[int32]struct{})
	for _, n := range nodes {
		if !c.allowed.Has(n) {
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
