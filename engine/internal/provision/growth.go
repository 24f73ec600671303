package provision

import (
	"cmp"
	"context"
	"slices"
)

// maxTimes bounds for how many times the unplaced pods nodes are added at once.
const maxTimes = 64

// grow adds nodes until all pods are placed, or until no further attempt places more. It starts from fleets of one size and from no
// nodes. The first of the cheapest results is kept.
func (s *solver) grow(ctx context.Context) error {
	if s.complete(s.best) {
		return nil
	}
	active, err := s.active(ctx)
	if err != nil {
		return err
	}
	from, err := s.even(ctx, active)
	if err != nil {
		return err
	}
	for _, t := range from {
		s.accept(t)
	}
	for _, t := range append(from, s.start) {
		if err := s.growFrom(ctx, t, active); err != nil {
			return err
		}
	}
	return nil
}

// growFrom adds nodes to the nodes of a trial until all pods are placed, or until it costs no less than the best trial, if that one
// places all pods. While most of the unplaced pods stay unplaced, it adds more nodes for them, because other pods may take the room
// or the nodes meant for them. Superfluous nodes are removed afterwards.
func (s *solver) growFrom(ctx context.Context, from *trial, active []int) error {
	use := func(t *trial) bool {
		s.accept(t)
		if !t.better(from) {
			return false
		}
		from = t
		return true
	}
	for times := 1; !s.complete(from) && (!s.complete(s.best) || from.cost < s.best.cost); {
		before := s.target - from.placed
		counts, err := s.estimate(ctx, from, active, -1, times)
		if err != nil {
			return err
		}
		if s.complete(s.best) && s.costOf(counts) >= s.best.cost {
			return nil
		}
		more := false
		if !slices.Equal(counts, from.counts) {
			more, err = s.firstOf(ctx, [][]int{counts}, use)
			if after := s.target - from.placed; err == nil && 2*after > before && times < maxTimes {
				times *= 2
				continue
			}
		}
		if err == nil && !more {
			more, err = s.unstick(ctx, from, active, use)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// accept makes a trial the best one if it is better.
func (s *solver) accept(t *trial) bool {
	if !t.better(s.best) {
		return false
	}
	s.best = t
	return true
}

// maxTemplatesTried bounds the templates that are tried one by one where estimates do not help.
const maxTemplatesTried = 64

// unstick tries nodes of each template, one and as many as the first unplaced pods need alone, the cheapest first, until more pods
// are placed.
func (s *solver) unstick(ctx context.Context, from *trial, active []int, use func(*trial) bool) (bool, error) {
	kinds := s.unplaced(from)
	var all [][]int
	templates := 0
	for _, t := range active {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		counts := from.counts
		room := min(s.most(t)-counts[t], s.MaxNodes-from.nodes)
		at := slices.IndexFunc(kinds, func(k *kind) bool { return k.most(s.first(t)) > 0 })
		if room <= 0 || at < 0 {
			continue
		}
		if templates++; templates > maxTemplatesTried {
			break
		}
		fit := kinds[at].most(s.first(t))
		for _, n := range []int{1, (from.left[kinds[at].index]-1)/fit + 1} {
			more := slices.Clone(counts)
			more[t] += min(n, room)
			if len(all) == 0 || !slices.Equal(all[len(all)-1], more) {
				all = append(all, more)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b []int) int { return cmp.Compare(s.costOf(a), s.costOf(b)) })
	return s.firstOf(ctx, all, use)
}
