package gang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/joint"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// jointly places the largest subset of a group's pods that can be placed as a whole, down to the minimum. It leaves the
// state unchanged and adds to found.Steps. The answer is never worse than placing in order, if only resources connect the pods. If the
// deadline comes before all pods were attempted in order, it returns what is placed, if that is the minimum, with the error.
func (p *placer) jointly(ctx context.Context, g *queued, candidates nodeset.Set, found *verdict.PodGroupPlacement) (*trial, error) {
	var part [][]uint32  // by entry: the largest valid part of a search that exceeded its budget
	var known [][]uint32 // by entry: the largest valid part, for the answer at the deadline
	undecided := false
	found.Most = false
	whole := p.joining(ctx, g, g.counts, candidates, found)
	large, err := p.large(ctx, g, whole, found)
	if whole.cut {
		return g.cutOff(whole, found)
	}
	if err != nil {
		return nil, err
	}
	if large != nil {
		undecided, part, known = !large.optimal, large.nodes, large.nodes
	}
	for counts := range p.subsets(g) {
		if large != nil || part != nil && sum(counts) <= count(part) {
			break
		}
		j := whole // the first are all pods
		if j.brief = sum(counts) < g.pods; j.brief {
			if found.Steps >= g.limit() {
				undecided = true
				break
			}
			if known != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return g.joined(&verdict.Joint{Nodes: known}, found), nil
			}
			j = p.joining(ctx, g, counts, candidates, found)
			j.brief = true
		}
		result, err := j.Result(ctx, nil)
		if whole.cut {
			return g.cutOff(whole, found)
		}
		if n := count(j.parts); n >= g.minimum && n > count(known) {
			known = j.parts
		}
		if errors.Is(err, context.DeadlineExceeded) && known != nil {
			return g.joined(&verdict.Joint{Nodes: known}, found), nil
		}
		if err != nil {
			return nil, err
		}
		found.Steps = min(result.Steps, g.limit())
		switch result.Status {
		case verdict.JointComplete:
			found.Most = !undecided
			return g.joined(result, found), nil
		case verdict.JointInfeasible:
			if !j.brief {
				found.Conflict, found.Minimal = result.Conflict, result.Minimal
				for i := range found.Conflict {
					found.Conflict[i].Entry = g.Entries[found.Conflict[i].Entry]
				}
			}
		case verdict.JointBestEffort:
			undecided = true
			if n := count(result.Nodes); n >= g.minimum && n > count(part) {
				part = result.Nodes
			}
		}
	}
	if part != nil {
		counts := make([]int, len(part))
		for i, nodes := range part {
			counts[i] = len(nodes)
		}
		most := large != nil && large.optimal || count(part) == g.pods
		better, err := (*verdict.Joint)(nil), ctx.Err()
		if err == nil {
			better, err = p.joining(ctx, g, counts, candidates, found).Result(ctx, part)
		}
		if errors.Is(err, context.DeadlineExceeded) { // valid, but without scores
			found.Most = most
			return g.joined(&verdict.Joint{Nodes: part}, found), nil
		}
		if err != nil {
			return nil, err
		}
		if better.Status == verdict.JointComplete {
			found.Most, found.Steps = most, min(better.Steps, g.limit())
			return g.joined(better, found), nil
		}
	}
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
	if undecided {
		found.Status = verdict.GroupUndecided
		found.Message = fmt.Sprintf("no placement of the %s required was found in %d steps", g.required(), found.Steps)
	}
	return t, nil
}

// A group with more pods than largeGroup that may be placed in part has too many subsets to try one after another.
const (
	largeGroup = 12
	largeSteps = 1 << 15 // of the search for a conflict of such a group
)

// largePart is the most pods of a large group.
type largePart struct {
	nodes   [][]uint32 // by entry; nil if they are too few
	optimal bool       // whether it is proven that there are no more
}

// large returns the most pods of a large group that are not placed as a whole in order, and adds to found.Steps; nil if it does not
// apply.
func (p *placer) large(ctx context.Context, g *queued, j *Joining, found *verdict.PodGroupPlacement) (*largePart, error) {
	if g.minimum == g.pods || g.pods <= largeGroup || p.State.AnyNominated() || !j.Rules.Packs() {
		return nil, nil
	}
	err := j.inOrder(ctx, j.queues()[0])
	if j.best != nil || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	if j.cut {
		return nil, err
	}
	if count(j.parts) == g.pods { // the deadline came before their scores
		return &largePart{j.parts, true}, nil
	}
	nodes, optimal, applies := p.most(g, j)
	if !applies {
		return nil, nil
	}
	if optimal && (nodes == nil || count(nodes) < g.pods) {
		j.Budget.Limit = min(j.Budget.Limit, j.Budget.Steps+largeSteps)
		found.Conflict, found.Minimal = j.conflict()
		for i := range found.Conflict {
			found.Conflict[i].Entry = g.Entries[found.Conflict[i].Entry]
		}
	}
	found.Steps = min(j.Budget.Steps, g.limit())
	if count(j.parts) >= g.minimum && slices.Compare(j.byPriority(j.parts), j.byPriority(nodes)) > 0 {
		nodes, optimal = j.parts, false
	}
	return &largePart{nodes, optimal}, nil
}

// most returns the nodes by entry of the most pods of a group, if that is at least the minimum, and whether there are no more: of
// the highest priority first, or if these are too few of all. applies is false if it does not know.
func (p *placer) most(g *queued, j *Joining) (nodes [][]uint32, optimal, applies bool) {
	priorities := make([]int32, len(j.decisions))
	for i, pod := range j.pods {
		priorities[pod.replicas] = j.group[j.pods[i].entry].Pod.Template.Spec.Priority
	}
	var floor []joint.Assignment
	for e, on := range j.parts {
		for _, n := range on {
			floor = append(floor, joint.Assignment{Replicas: j.of[e], Node: n})
		}
	}
	alike := func() bool { return len(slices.Compact(slices.Clone(priorities))) <= 1 }
	for {
		spots, optimal := j.Rules.Most(j.Order, priorities, floor, j.Budget)
		switch {
		case slices.Contains(j.Rules.Rejected(spots), true):
			return nil, false, false
		case len(spots) >= g.minimum:
			return j.byEntry(spots), optimal, true
		case alike():
			return nil, optimal, true
		}
		clear(priorities)
	}
}

// byEntry returns the nodes by entry of some of the pods.
func (j *Joining) byEntry(spots []joint.Assignment) [][]uint32 {
	byReplicas := make(map[int][]uint32)
	for _, s := range spots {
		byReplicas[s.Replicas] = append(byReplicas[s.Replicas], s.Node)
	}
	nodes := make([][]uint32, len(j.group))
	for _, p := range j.pods {
		if left := byReplicas[p.replicas]; len(left) > 0 {
			nodes[p.entry] = append(nodes[p.entry], left[0])
			byReplicas[p.replicas] = left[1:]
		}
	}
	return nodes
}

// byPriority counts pods with nodes by entry, of the group's highest priority first.
func (j *Joining) byPriority(nodes [][]uint32) []int {
	var priorities []int32
	for e := range j.group {
		priorities = append(priorities, j.group[e].Pod.Template.Spec.Priority)
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(priorities)))
	slices.Reverse(distinct)
	counts := make([]int, len(distinct))
	for e, on := range nodes {
		counts[slices.Index(distinct, priorities[e])] += len(on)
	}
	return counts
}

func (g *queued) limit() int { return cmp.Or(g.Steps, JointSteps) }

// joining returns the joint placement of a number of pods per entry.
func (p *placer) joining(ctx context.Context, g *queued, counts []int, candidates nodeset.Set, found *verdict.PodGroupPlacement) *Joining {
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
