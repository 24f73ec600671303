package gang

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// placeAcrossDomains places a group in few domains of its last key. If that fails, it places the group on any candidates.
func (p *placer) placeAcrossDomains(ctx context.Context, s *survey, found *verdict.PodGroupPlacement) (*trial, error) {
	g := s.g
	place := s.fillDomains
	if g.Joint {
		place = s.placeInFewDomains
	}
	t, err := place(ctx, found)
	if err != nil || t != nil {
		return t, err
	}
	return p.placeAnywhere(ctx, g, found)
}

// fillDomains fills the domains of the last key one after another, in queue order. It returns nil if that places fewer
// pods than the minimum.
func (s *survey) fillDomains(ctx context.Context, found *verdict.PodGroupPlacement) (*trial, error) {
	p, g := s.p, s.g
	domains, err := s.domains(ctx, g.Keys[len(g.Keys)-1])
	if err != nil {
		return nil, err
	}
	sum := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: -1}
	left := slices.Clone(g.counts)
	mark := p.State.Mark()
	for sum.placed < g.pods {
		t, d, err := s.bestDomain(ctx, domains, left)
		if err != nil {
			return nil, err
		}
		if t == nil {
			break
		}
		p.commit(g, t)
		s.now = nil
		found.Domains = append(found.Domains, d.Domain)
		domains = slices.DeleteFunc(domains, func(other *domain) bool { return other == d })
		for i := range t.placements {
			r := &t.placements[i]
			sum.placements[i].Nodes = append(sum.placements[i].Nodes, r.Nodes...)
			sum.placements[i].Scanned += r.Scanned
			left[i] -= len(r.Nodes)
		}
		sum.placed += t.placed
	}
	if sum.placed < g.minimum {
		p.Undo(mark)
		found.Domains = nil
		return nil, nil
	}
	for i, n := range left {
		if n > 0 {
			sum.placements[i].Unplaced, sum.placements[i].Message = n, noMoreDomains
			if sum.first < 0 {
				sum.first = g.Entries[i]
			}
		}
	}
	return sum, nil
}

// noMoreDomains is the message for unplaced pods of a placed group.
const noMoreDomains = "no further topology domain takes the pod"

// bestDomain returns the domain that takes the most pods, given a number of pods per entry, and its trial; nil if no
// domain takes a pod.
func (s *survey) bestDomain(ctx context.Context, domains []*domain, counts []int) (*trial, *domain, error) {
	p := s.p
	var best *trial
	var in *domain
	pods := s.perClass(counts)
	for _, d := range domains {
		var err error
		if d.bound, err = s.bound(ctx, d.nodes, pods, counts[0]); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(domains, p.byBound)
	for _, d := range domains {
		if d.bound == 0 || best != nil && (d.bound < best.placed || d.bound == best.placed && p.before(in, d) < 0) {
			break
		}
		t, err := s.placeInDomain(ctx, d, counts, 0, false)
		if err != nil {
			return nil, nil, err
		}
		if t.placed > 0 && (best == nil || t.placed > best.placed || t.placed == best.placed && p.before(d, in) < 0) {
			best, in = t, d
		}
	}
	return best, in, nil
}

// placeInFewDomains places the group jointly in 2, 4, 8, ... domains of the last key. It returns nil if that places fewer
// pods than the minimum.
func (s *survey) placeInFewDomains(ctx context.Context, found *verdict.PodGroupPlacement) (*trial, error) {
	p, g := s.p, s.g
	key := g.Keys[len(g.Keys)-1]
	domains, err := s.domains(ctx, key)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(domains, p.byBound)
	for n := 2; n < 2*len(domains); n *= 2 {
		some := domains[:min(n, len(domains))]
		var nodes []uint32
		for _, d := range some {
			nodes = append(nodes, d.nodes...)
		}
		result := verdict.PodGroupPlacement{Steps: found.Steps}
		t, err := p.placeJointly(ctx, g, nodeset.Of(p.State.Len(), nodes), &result)
		if err != nil {
			return nil, err
		}
		found.Steps = result.Steps
		if t.placed < g.minimum {
			continue
		}
		*found = result
		p.commit(g, t)
		taken := nodeset.New(p.State.Len())
		for i := range t.placements {
			taken.Or(nodeset.Of(p.State.Len(), t.placements[i].Nodes))
		}
		for _, d := range some {
			if slices.ContainsFunc(d.nodes, taken.Has) {
				found.Domains = append(found.Domains, d.Domain)
			}
		}
		return t, nil
	}
	*found = verdict.PodGroupPlacement{Steps: found.Steps}
	return nil, nil
}
