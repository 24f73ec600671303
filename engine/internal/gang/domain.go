package gang

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// attempt is what a domain took.
type attempt struct {
	*trial
	domain *domain
	full   int64 // how full it is with it
	group  *verdict.Group
}

// together places a group in one domain, or in few.
func (p *placer) together(ctx context.Context, g *grouped, found *verdict.Group) (*trial, error) {
	s, err := p.survey(ctx, g)
	if err != nil {
		return nil, err
	}
	var refused *attempt
	for _, key := range g.Keys {
		domains, err := s.domains(ctx, key)
		if err != nil {
			return nil, err
		}
		failed, err := s.failing(ctx, domains)
		if err != nil {
			return nil, err
		}
		if failed != nil {
			found.Message = failed.failure
			return failed, nil
		}
		best, worst, err := s.best(ctx, domains, found)
		if err != nil {
			return nil, err
		}
		if worst != nil && worst.failure != "" {
			found.Message = worst.failure
			return worst.trial, nil
		}
		if best != nil {
			t := best.trial
			if t.placed < g.pods && !g.Joint { // once more, to say why
				if t, err = s.inDomain(ctx, best.domain, g.counts, g.minimum, true); err != nil {
					return nil, err
				}
			}
			p.commit(g, t)
			found.Domains = []verdict.Domain{best.domain.Domain}
			return t, nil
		}
		if worst != nil && (refused == nil || worst.placed > refused.placed) {
			refused = worst
			refused.report(found)
		}
	}
	if g.Preferred {
		return p.spreadOut(ctx, s, found)
	}
	keys := strings.Join(g.Keys, ", ")
	found.Message = fmt.Sprintf("no domain of %s takes the %s required", keys, g.required())
	if refused == nil {
		t := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: g.Entries[0]}
		for i, n := range g.counts {
			t.placements[i].Unplaced = n
		}
		return t, nil
	}
	if g.Joint {
		if s.undecided {
			found.Status = verdict.GroupUndecided
			found.Message = fmt.Sprintf("no domain of %s that takes the %s required was found in %d steps", keys, g.required(), found.Steps)
		}
		return refused.trial, nil
	}
	t, err := s.inDomain(ctx, refused.domain, g.counts, g.minimum, true)
	if err != nil {
		return nil, err
	}
	found.Message += fmt.Sprintf("; %s=%s takes %d", refused.domain.Key, refused.domain.Value, t.placed)
	return t, nil
}

// failing returns what becomes of a group that is placed in order if kube-scheduler fails on a pod of it in one of the domains,
// nil if it does not. It then places the group nowhere (pkg/scheduler/schedule_one_podgroup.go
// podGroupSchedulingPlacementAlgorithm, v1.37).
func (s *survey) failing(ctx context.Context, domains []*domain) (*trial, error) {
	mayFail := func(e int) bool {
		t := s.p.Classes[e]
		rejected := t.Decision.PreFilter().Rejected
		return rejected != nil && rejected.Code == verdict.Error || t.Decision.PreScoreFailure(t.Pod.Spec()) != nil ||
			!noderesources.NewScorer(t.Decision.Cycle).ValidOn(s.p.Candidates)
	}
	if s.g.Joint || !slices.ContainsFunc(s.g.Entries, mayFail) {
		return nil, nil
	}
	for _, d := range domains {
		t, err := s.inDomain(ctx, d, s.g.counts, s.g.minimum, false)
		if err != nil {
			return nil, err
		}
		if t.failure != "" {
			return t, nil
		}
	}
	return nil, nil
}

// best returns the domain with the highest score of those that take the group's minimum, nil if none does, and then the
// one that took most of the pods; or one in which kube-scheduler fails on a pod.
func (s *survey) best(ctx context.Context, domains []*domain, found *verdict.Group) (best, refused *attempt, err error) {
	p, g := s.p, s.g
	most := 0
	for _, d := range domains {
		most = max(most, d.bound)
	}
	var failed []*domain
	domains = slices.DeleteFunc(domains, func(d *domain) bool {
		if d.bound < g.minimum {
			failed = append(failed, d)
		}
		return d.bound < g.minimum
	})
	for _, d := range domains {
		d.score = s.score(d.bound, most, noderesources.PlacementBound(p.State.Resources, &p.profile.Scoring, s.asked, d.nodes))
	}
	slices.SortFunc(domains, func(a, b *domain) int { return cmp.Or(cmp.Compare(b.score, a.score), p.before(a, b)) })
	var taken []*attempt
	reached := 0 // the most pods that a domain took
	for _, d := range domains {
		if best != nil && reached == most && (d.score < best.score(s, most) || d.score == best.score(s, most) && p.before(best.domain, d) < 0) {
			break
		}
		a, err := s.attempt(ctx, d, found)
		if err != nil {
			return nil, nil, err
		}
		if a.failure != "" {
			return nil, a, nil
		}
		if a.placed < g.minimum {
			if refused == nil || a.placed > refused.placed || a.placed == refused.placed && p.before(a.domain, refused.domain) < 0 {
				refused = a
			}
			continue
		}
		taken = append(taken, a)
		compare := func(a, b *attempt) int {
			return cmp.Or(cmp.Compare(b.score(s, reached), a.score(s, reached)), p.before(a.domain, b.domain))
		}
		if a.placed > reached {
			reached = a.placed
			best = slices.MinFunc(taken, compare)
		} else if compare(a, best) < 0 {
			best = a
		}
	}
	if best != nil {
		best.report(found)
		return best, nil, nil
	}
	if refused == nil && len(failed) > 0 && !g.Joint {
		d := slices.MinFunc(failed, p.roomier)
		refused = &attempt{trial: &trial{placed: -1, first: g.Entries[0]}, domain: d}
	}
	return nil, refused, nil
}

// report says what is known of a group that is placed jointly, or is not.
func (a *attempt) report(found *verdict.Group) {
	if a.group == nil {
		return
	}
	steps := found.Steps
	*found = *a.group
	found.Steps = steps
}

func (a *attempt) score(s *survey, most int) int64 { return s.score(a.placed, most, a.full) }

// score is kube-scheduler's of a domain that takes so many pods where the best takes most, and is then so full: PodGroupPodsCount
// (pkg/scheduler/framework/plugins/podgrouppodscount, v1.37), whose weight is 1, and NodeResourcesFit.
func (s *survey) score(placed, most int, full int64) int64 {
	return int64(placed)*plugin.MaxScore/int64(max(most, 1)) + full*s.p.profile.Weights.NodeResourcesFit
}

func (s *survey) full(d *domain, asked api.Resources) int64 {
	return noderesources.PlacementScore(s.p.State.Resources, &s.p.profile.Scoring, asked, d.nodes)
}

// attempt tries to place the group in a domain, and leaves the state as it is.
func (s *survey) attempt(ctx context.Context, d *domain, found *verdict.Group) (*attempt, error) {
	a := &attempt{domain: d}
	var err error
	if s.g.Joint {
		a.group = &verdict.Group{Steps: found.Steps}
		a.trial, err = s.p.jointly(ctx, s.g, s.nodesOf(d), a.group)
		found.Steps = a.group.Steps
		s.undecided = s.undecided || a.group.Status == verdict.GroupUndecided
		s.clear(d)
	} else {
		a.trial, err = s.inDomain(ctx, d, s.g.counts, s.g.minimum, false)
	}
	if err != nil {
		return nil, err
	}
	var specs []*api.PodSpec
	var counts []int
	for i, e := range s.g.Entries {
		specs, counts = append(specs, s.p.Classes[e].Pod.Spec()), append(counts, len(a.placements[i].Nodes))
	}
	a.full = s.full(d, noderesources.Total(specs, counts))
	return a, nil
}

func (s *survey) nodesOf(d *domain) nodeset.Set {
	for _, n := range d.nodes {
		s.set.Add(n)
	}
	return s.set
}

func (s *survey) clear(d *domain) {
	for _, n := range d.nodes {
		s.set.Remove(n)
	}
}

// smallDomain is up to how many nodes a domain is scanned for each pod.
const smallDomain = 64

// inDomain places so many pods of each entry one by one in a domain, and leaves the state as it is.
func (s *survey) inDomain(ctx context.Context, d *domain, counts []int, minimum int, explain bool) (*trial, error) {
	p := s.p
	within := *p
	within.Queue = p.Within(s.nodesOf(d), explain)
	copies := make(map[*place.Class]*place.Class, len(s.g.Entries))
	for _, e := range s.g.Entries {
		c := copies[p.Classes[e]]
		if c == nil {
			c = p.Classes[e].Copy(len(d.nodes) <= smallDomain)
			copies[p.Classes[e]] = c
		}
		within.Classes[e] = c
	}
	mark := len(p.State.AssumedPods())
	t, err := within.inTurn(ctx, s.g, counts, minimum)
	p.ForgetOf(within.Queue, mark)
	s.clear(d)
	return t, err
}
