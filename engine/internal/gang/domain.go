package gang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// attempt is the result of placing a group in a domain.
type attempt struct {
	*trial
	domain *domain
	full   int64 // utilization of the domain with the group
	group  *verdict.PodGroupPlacement
}

// placeInOneDomain places a group in one domain. A group with Preferred may go to several domains.
func (p *placer) placeInOneDomain(ctx context.Context, g *queued, found *verdict.PodGroupPlacement) (*trial, error) {
	if _, unknown := pinned(p.State, g, g.Keys[0]); unknown != "" && g.mirrored() {
		t := g.attemptNone()
		t.failure = unknown
		return t, nil
	}
	s, err := p.keptSurvey(ctx, g)
	if s == nil && err == nil {
		s, err = p.survey(ctx, g)
	}
	if err != nil {
		return nil, err
	}
	var rejected *attempt
	tried := 0
	for _, key := range g.Keys {
		r, err := s.rank(ctx, key)
		if err != nil {
			return nil, err
		}
		tried += len(r.all)
		best, worst, err := s.best(ctx, r, found)
		if err != nil {
			return nil, err
		}
		if worst != nil && worst.failure != "" {
			return worst.trial, nil
		}
		p.keep(s, r)
		if best != nil {
			t := best.trial
			if t.placed < g.pods && !g.Joint { // again, with explanations
				if t, err = s.placeInDomain(ctx, best.domain, g.counts, g.minimum, true); err != nil {
					return nil, err
				}
			}
			p.commit(g, t)
			found.Domains = []verdict.Domain{best.domain.Domain}
			return t, nil
		}
		if worst != nil && (rejected == nil || worst.placed > rejected.placed) {
			rejected = worst
			rejected.report(found)
		}
	}
	if g.Preferred {
		return p.placeAcrossDomains(ctx, s, found)
	}
	return s.refuse(ctx, rejected, tried, found)
}

// refuse returns the trial of a group that no domain takes, and sets why. rejected is the attempt that took the most pods, nil for
// none, and tried the number of domains.
func (s *survey) refuse(ctx context.Context, rejected *attempt, tried int, found *verdict.PodGroupPlacement) (*trial, error) {
	g := s.g
	keys := strings.Join(g.Keys, ", ")
	if !g.mirrored() {
		found.Message = fmt.Sprintf("no domain of %s takes the %s required", keys, g.required())
	}
	if rejected == nil {
		if g.mirrored() {
			found.Message = NoPlacements
		}
		return g.attemptNone(), nil
	}
	if g.Joint {
		if s.undecided {
			found.Status = verdict.GroupUndecided
			found.Message = fmt.Sprintf("no domain of %s that takes the %s required was found in %d steps", keys, g.required(), found.Steps)
		}
		return rejected.trial, nil
	}
	t, err := s.placeInDomain(ctx, rejected.domain, g.counts, g.minimum, true)
	if err != nil {
		return nil, err
	}
	t.domains = tried
	if !g.mirrored() {
		found.Message += fmt.Sprintf("; %s=%s takes %d", rejected.domain.Key, rejected.domain.Value, t.placed)
	}
	return t, nil
}

// erring returns the trial of a group that is placed in order if kube-scheduler fails with an error on one of its pods
// in some domain, nil otherwise. Such a group is placed nowhere (pkg/scheduler/schedule_one_podgroup.go
// podGroupSchedulingPlacementAlgorithm, v1.37).
func (s *survey) erring(ctx context.Context, domains []*domain) (*trial, error) {
	mayFail := func(kind capacity) bool {
		t := kind.class
		rejected := t.Decision.PreFilter().Rejected
		return rejected != nil && rejected.Code == verdict.Error || t.Decision.PreScoreFailure(t.Pod.Spec()) != nil
	}
	if s.g.Joint || s.kept != nil {
		return nil, nil
	}
	if s.mayFail = slices.ContainsFunc(s.kinds, mayFail) || !s.validOn(s.p.Candidates.All()); !s.mayFail {
		return nil, nil
	}
	for _, d := range domains {
		t, err := s.placeInDomain(ctx, d, s.g.counts, s.g.minimum, false)
		if err != nil {
			return nil, err
		}
		if t.failure != "" {
			return s.placeInDomain(ctx, d, s.g.counts, s.g.minimum, true) // again, with explanations
		}
	}
	return nil, nil
}

// validOn reports whether kube-scheduler accepts the resource scores of nodes for all classes.
func (s *survey) validOn(nodes iter.Seq[uint32]) bool {
	for i := range s.kinds {
		if !noderesources.NewScorer(s.kinds[i].class.Decision.Cycle).ValidOn(nodes) {
			return false
		}
	}
	return true
}

// best returns the domain with the highest score among the domains that take the group's minimum. If there is none, rejected is the
// domain that took the most pods. If kube-scheduler fails with an error in a domain, rejected is that domain.
func (s *survey) best(ctx context.Context, r *ranking, found *verdict.PodGroupPlacement) (best, rejected *attempt, err error) {
	p, g, most := s.p, s.g, r.most
	if t, err := s.erring(ctx, r.all); t != nil || err != nil {
		return nil, &attempt{trial: t}, err
	}
	var taken []*attempt
	reached := 0 // maximum number of pods that a domain took
	for _, d := range r.ranked {
		if best != nil && reached == most {
			if least := best.score(s, most); d.score < least || d.score == least && p.before(best.domain, d) < 0 {
				break // it and the domains after it cannot be better
			}
		}
		a, err := s.attempt(ctx, d, found)
		if g.Joint && best != nil && errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if a.failure != "" {
			return nil, a, nil
		}
		if a.placed < g.minimum {
			if rejected == nil || a.placed > rejected.placed || a.placed == rejected.placed && p.before(a.domain, rejected.domain) < 0 {
				rejected = a
			}
			continue
		}
		taken = append(taken, a)
		compare := func(a, b *attempt) int {
			return cmp.Or(cmp.Compare(b.score(s, reached), a.score(s, reached)), p.before(a.domain, b.domain))
		}
		if best == nil || a.placed > reached {
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
	if rejected == nil && len(r.all) > 0 && !g.Joint { // no domain takes the minimum
		d := slices.MinFunc(r.all, p.byBound)
		rejected = &attempt{trial: &trial{placed: -1, first: g.Entries[0]}, domain: d}
	}
	return nil, rejected, nil
}

// report copies the result of a joint placement.
func (a *attempt) report(found *verdict.PodGroupPlacement) {
	if a.group == nil {
		return
	}
	steps := found.Steps
	*found = *a.group
	found.Steps = steps
}

func (a *attempt) score(s *survey, most int) int64 { return s.score(a.placed, most, a.full) }

// score is kube-scheduler's score of a domain: PodGroupPodsCount (pkg/scheduler/framework/plugins/podgrouppodscount,
// v1.37) with weight 1, from the pods placed and the maximum of all domains, plus NodeResourcesFit.
func (s *survey) score(placed, most int, full int64) int64 {
	return int64(placed)*plugin.MaxScore/int64(max(most, 1)) + full*s.p.profile.Weights.NodeResourcesFit
}

func (s *survey) full(d *domain, requested api.Resources) int64 {
	return noderesources.PlacementScore(s.p.State.Resources, &s.p.profile.Scoring, requested, d.nodes)
}

// attempt places the group in a domain and undoes it.
func (s *survey) attempt(ctx context.Context, d *domain, found *verdict.PodGroupPlacement) (*attempt, error) {
	a := &attempt{domain: d}
	var err error
	if s.g.Joint {
		a.group = &verdict.PodGroupPlacement{Steps: found.Steps}
		a.trial, err = s.p.placeJointly(ctx, s.g, nodeset.Of(s.p.State.Len(), d.nodes), a.group)
		found.Steps = a.group.Steps
		s.undecided = s.undecided || a.group.Status == verdict.GroupUndecided
	} else {
		a.trial, err = s.placeInDomain(ctx, d, s.g.counts, s.g.minimum, false)
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

// smallDomain is the number of nodes up to which a domain is scanned for each pod.
const smallDomain = 64

// placeInDomain places a number of pods per entry in a domain, in queue order, and undoes it.
func (s *survey) placeInDomain(ctx context.Context, d *domain, counts []int, minimum int, explain bool) (*trial, error) {
	p := s.p
	within := *p
	within.Queue = p.Within(nodeset.Of(p.State.Len(), d.nodes), explain)
	copies := make(map[*place.Class]*place.Class, len(s.g.Entries))
	for _, e := range s.g.Entries {
		c := copies[p.Classes[e]]
		if c == nil {
			c = p.Classes[e].Copy(len(d.nodes) <= smallDomain)
			copies[p.Classes[e]] = c
		}
		within.Classes[e] = c
	}
	mark := p.State.Mark()
	t, err := within.placeInQueueOrder(ctx, s.g, counts, minimum)
	p.UndoOf(within.Queue, mark)
	return t, err
}
