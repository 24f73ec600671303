package gang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// subsetSearch looks for the largest subset of a group's pods that can be placed as a whole.
type subsetSearch struct {
	*placer
	g          *queued
	candidates nodeset.Set
	found      *verdict.PodGroupPlacement

	whole     *Joining   // of all pods
	large     *largePart // nil if subsets are tried
	part      [][]uint32 // by entry: the largest valid part of a search that exceeded its budget
	known     [][]uint32 // by entry: the largest valid part, for the answer at the deadline
	undecided bool
}

// placeJointly places the largest subset of a group's pods that can be placed as a whole, down to the minimum. It leaves the state
// unchanged and adds to found.Steps. The answer is never worse than placing in order, if only resources connect the pods. If the
// deadline comes before all pods were attempted in order, it returns what is placed, if that is the minimum, with the error.
func (p *placer) placeJointly(
	ctx context.Context, g *queued, candidates nodeset.Set, found *verdict.PodGroupPlacement,
) (*trial, error) {
	found.Most = false
	s := &subsetSearch{
		placer: p, g: g, candidates: candidates, found: found, whole: p.joining(ctx, g, g.counts, candidates, found),
	}
	var err error
	s.large, err = p.placeLarge(ctx, g, s.whole, found)
	switch {
	case s.whole.cut:
		return g.cutOff(s.whole, found)
	case err != nil:
		return nil, err
	case s.large != nil:
		s.undecided, s.part = !s.large.optimal, s.large.nodes
	default:
		if t, err := s.trySubsets(ctx); t != nil || err != nil {
			return t, err
		}
	}
	if s.part != nil {
		if t, err := s.improvePart(ctx); t != nil || err != nil {
			return t, err
		}
	}
	return s.fail(), nil
}

// trySubsets tries one subset after another until one is placed, and returns its trial; nil if none is placed.
func (s *subsetSearch) trySubsets(ctx context.Context) (*trial, error) {
	for counts := range s.subsets(s.g) {
		if s.part != nil && sum(counts) <= count(s.part) {
			break
		}
		j := s.whole // the first are all pods
		if sum(counts) < s.g.pods {
			if s.found.Steps >= s.g.limit() {
				s.undecided = true
				break
			}
			if s.known != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return s.unscored(s.known), nil
			}
			j = s.joining(ctx, s.g, counts, s.candidates, s.found)
			j.brief = true
		}
		if t, err := s.try(ctx, j); t != nil || err != nil {
			return t, err
		}
	}
	return nil, nil
}

// try tries a subset and returns its trial; nil if it is not placed.
func (s *subsetSearch) try(ctx context.Context, j *Joining) (*trial, error) {
	result, err := j.Result(ctx, nil)
	if s.whole.cut {
		return s.g.cutOff(s.whole, s.found)
	}
	if n := count(j.parts); n >= s.g.minimum && n > count(s.known) {
		s.known = j.parts
	}
	if errors.Is(err, context.DeadlineExceeded) && s.known != nil {
		return s.unscored(s.known), nil
	}
	if err != nil {
		return nil, err
	}
	s.found.Steps = min(result.Steps, s.g.limit())
	switch result.Status {
	case verdict.JointComplete:
		s.found.Most = !s.undecided
		return s.g.joined(result, s.found), nil
	case verdict.JointInfeasible:
		if !j.brief {
			s.g.conflict(s.found, result.Conflict, result.Minimal)
		}
	case verdict.JointBestEffort:
		s.undecided = true
		if n := count(result.Nodes); n >= s.g.minimum && n > count(s.part) {
			s.part = result.Nodes
		}
	}
	return nil, nil
}

// improvePart moves the pods of the part to nodes with higher scores and returns its trial; nil if it is not valid.
func (s *subsetSearch) improvePart(ctx context.Context) (*trial, error) {
	counts := make([]int, len(s.part))
	for i, nodes := range s.part {
		counts[i] = len(nodes)
	}
	most := s.large != nil && s.large.optimal || count(s.part) == s.g.pods
	better, err := (*verdict.Joint)(nil), ctx.Err()
	if err == nil {
		better, err = s.joining(ctx, s.g, counts, s.candidates, s.found).Result(ctx, s.part)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.found.Most = most
		return s.unscored(s.part), nil
	}
	if err != nil || better.Status != verdict.JointComplete {
		return nil, err
	}
	s.found.Most, s.found.Steps = most, min(better.Steps, s.g.limit())
	return s.g.joined(better, s.found), nil
}

// unscored returns the trial of a placement by entry that is valid, but has no scores as the deadline came.
func (s *subsetSearch) unscored(nodes [][]uint32) *trial {
	return s.g.joined(&verdict.Joint{Nodes: nodes}, s.found)
}

// fail returns the trial of a group of which too few pods can be placed, and sets why.
func (s *subsetSearch) fail() *trial {
	g, found := s.g, s.found
	t := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: g.Entries[0]}
	if len(found.Conflict) > 0 {
		t.first = found.Conflict[0].Entry
	}
	for _, rule := range found.Conflict {
		if rule.Error != "" && rule.Plugin != verdict.InterPodAffinity { // InterPodAffinity rejects the pod without an error
			t.fail(rule.Error, rule.Entry)
			break
		}
	}
	found.Status = verdict.GroupInfeasible
	found.Message = fmt.Sprintf("no placement of the %s required satisfies their rules together", g.required())
	if s.undecided {
		found.Status = verdict.GroupUndecided
		found.Message = fmt.Sprintf("no placement of the %s required was found in %d steps", g.required(), found.Steps)
	}
	return t
}

// conflict sets the rules that no placement of the group satisfies together. They come with indexes into the group's entries.
func (g *queued) conflict(found *verdict.PodGroupPlacement, rules []verdict.PodRule, minimal bool) {
	found.Conflict, found.Minimal = rules, minimal
	for i := range found.Conflict {
		found.Conflict[i].Entry = g.Entries[found.Conflict[i].Entry]
	}
}

// limit is the budget of steps of the group's joint placement.
func (g *queued) limit() int { return cmp.Or(g.Steps, JointSteps) }

// joining returns the joint placement of a number of pods per entry.
func (p *placer) joining(
	ctx context.Context, g *queued, counts []int, candidates nodeset.Set, found *verdict.PodGroupPlacement,
) *Joining {
	group := make([]place.Pending, len(counts))
	for i, e := range g.Entries {
		group[i] = place.Pending{Pod: p.Pending[e].Pod, Count: counts[i]}
	}
	o := JointOptions{
		Candidates: candidates, Seed: p.Options.Seed, FewestPods: p.Options.FewestPods, Order: p.Order().Nodes(), Steps: g.Steps,
	}
	j := NewJoining(ctx, p.Framework, p.State, group, o)
	j.Budget.Steps = found.Steps
	return j
}

// joined returns the trial of a joint placement by entry.
func (g *queued) joined(result *verdict.Joint, found *verdict.PodGroupPlacement) *trial {
	t := &trial{placements: make([]verdict.Placement, len(g.Entries)), first: -1}
	for i := range t.placements {
		r := &t.placements[i]
		r.Nodes = result.Nodes[i]
		if result.Scores != nil {
			r.Scores = result.Scores[i]
		}
		t.placed += len(r.Nodes)
		if r.Unplaced = g.counts[i] - len(r.Nodes); r.Unplaced == 0 {
			continue
		}
		r.Message = noMorePods
		if t.first < 0 {
			t.first = g.Entries[i]
		}
	}
	found.Sum, found.LocallyOptimal = result.Sum, result.LocallyOptimal
	return t
}

// cutOff returns what is placed in order when the deadline comes, with its error. The other pods were not attempted.
func (g *queued) cutOff(j *Joining, found *verdict.PodGroupPlacement) (*trial, error) {
	if count(j.parts) < g.minimum {
		return nil, context.DeadlineExceeded
	}
	found.Steps = min(j.Budget.Steps, g.limit())
	t := g.joined(&verdict.Joint{Nodes: j.parts}, found)
	for i := range t.placements {
		t.placements[i].Unplaced, t.placements[i].Message = 0, "" // CutOff counts them
	}
	return t, context.DeadlineExceeded
}

// noMorePods is the message for unplaced pods of a jointly placed group.
const noMorePods = "no placement of more of the pod group's pods was found"

func sum(counts []int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

func count(nodes [][]uint32) int { return len(slices.Concat(nodes...)) }

// subsets iterates over numbers of pods per entry in descending order of their sum, down to the minimum. Subsets with
// equal sums are in descending order of the pods of earlier entries. Of subsets that differ only in identical pods, it
// yields the first.
func (p *placer) subsets(g *queued) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		counts := slices.Clone(g.counts)
		rest := make([]int, len(counts))  // pods of all later entries
		alike := make([]int, len(counts)) // pods of later entries of the same class
		sums := make(map[*place.Class]int, len(counts))
		for i := len(counts) - 1; i >= 0; i-- {
			t := p.Classes[g.Entries[i]]
			if i+1 < len(counts) {
				rest[i] = rest[i+1] + counts[i+1]
			}
			alike[i] = sums[t]
			sums[t] += counts[i]
		}
		// Entries from the i-th on leave out n pods. owed of them are identical to pods that are left out already.
		out := make(map[*place.Class]bool, len(counts))
		var leave func(i, n, owed int) bool
		leave = func(i, n, owed int) bool {
			if i == len(counts) {
				return yield(slices.Clone(counts))
			}
			t := p.Classes[g.Entries[i]]
			if out[t] {
				counts[i] = 0
				return leave(i+1, n-g.counts[i], owed-g.counts[i])
			}
			defer func() { counts[i], out[t] = g.counts[i], false }()
			for k := max(0, n-rest[i]); k <= min(n, g.counts[i]); k++ {
				counts[i], out[t] = g.counts[i]-k, k > 0
				also := 0
				if k > 0 {
					also = alike[i]
				}
				if k+owed+also <= n && !leave(i+1, n-k, owed+also) {
					return false
				}
			}
			return true
		}
		for n := 0; n <= g.pods-g.minimum; n++ {
			if !leave(0, n, 0) {
				return
			}
		}
	}
}
