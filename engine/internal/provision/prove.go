package provision

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// prove sets the lower bound, and whether nothing is better than the best trial. If there are steps for all counts that may be
// better, it tries them, in ascending order of cost.
func (s *solver) prove(ctx context.Context, out *verdict.Provision) error {
	if s.complete(s.best) {
		if out.Bound = min(s.least, s.best.cost); out.Bound == s.best.cost {
			out.Optimal = true
			return nil
		}
	}
	all, ended, err := s.better(ctx, out.Bound)
	if err != nil || !ended {
		return err
	}
	for len(all) > 0 {
		now := all[:min(batch, len(all))]
		all = all[len(now):]
		tried, err := s.try(ctx, now)
		if err != nil {
			return err
		}
		for _, t := range tried {
			s.accept(t)
		}
		if s.complete(s.best) { // the others are not cheaper, or not known not to be
			most := s.best.cost
			all = slices.DeleteFunc(all, func(counts []int) bool { return s.costOf(counts) >= most || !s.meets(counts) })
		}
	}
	out.Optimal, out.Bound = true, s.best.cost
	return nil
}

func (s *solver) costOf(counts []int) (cost int64) {
	for t, n := range counts {
		cost += int64(n) * s.Templates[t].Price
	}
	return cost
}

// Bounds of the counts that are listed and looked at, in numbers of counts and of counts times templates.
const (
	maxListedCells  = 1 << 21
	maxVisitedCells = 1 << 26
	maxVisited      = 1 << 20
)

// better lists the counts that may be better than the best trial, in ascending order of cost, and reports whether it ended with
// all of them and whether there are steps to try them.
func (s *solver) better(ctx context.Context, bound int64) (all [][]int, ended bool, err error) {
	order := make([]int, 0, len(s.Templates))
	for t := range s.Templates {
		if s.most(t) > 0 {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Templates[a].Price, s.Templates[b].Price) })
	complete := s.complete(s.best)
	add := func(p *pick) bool {
		counts := make([]int, len(s.Templates))
		for q := p; q != nil; q = q.before {
			t := order[q.at]
			if counts[t]++; counts[t] > s.most(t) {
				return true
			}
		}
		if slices.Equal(counts, s.best.counts) || complete && (p.costs() < bound || !s.meets(counts)) {
			return true
		}
		all = append(all, counts)
		return len(all)*len(s.Templates) <= maxListedCells && s.affords(len(all), s.best.nodes+p.number()) == len(all)
	}
	if !add(nil) {
		return nil, false, nil
	}
	if len(order) == 0 {
		return all, true, nil
	}
	picks := &picks{{cost: s.Templates[order[0]].Price, nodes: 1}}
	most := min(maxVisited, maxVisitedCells/len(s.Templates))
	for visited := 0; picks.Len() > 0; visited++ {
		if visited%1024 == 0 && ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if s.used++; visited >= most || s.used >= s.limit {
			return nil, false, nil
		}
		p := heap.Pop(picks).(*pick)
		if complete && p.cost >= s.best.cost {
			return all, true, nil
		}
		if !add(p) {
			return nil, false, nil
		}
		if p.nodes < s.MaxNodes && p.again() <= s.most(order[p.at])+1 { // one too many, which the next template replaces
			heap.Push(picks, &pick{before: p, at: p.at, cost: p.cost + s.Templates[order[p.at]].Price, nodes: p.nodes + 1})
		}
		if p.at+1 < len(order) {
			price := s.Templates[order[p.at+1]].Price - s.Templates[order[p.at]].Price
			heap.Push(picks, &pick{before: p.before, at: p.at + 1, cost: p.cost + price, nodes: p.nodes})
		}
	}
	return all, true, nil
}

// pick is a set of nodes: the nodes of an earlier pick, and one more node of a template that is not before theirs in the order of
// prices.
type pick struct {
	before *pick
	at     int
	cost   int64
	nodes  int
}

func (p *pick) costs() int64 {
	if p == nil {
		return 0
	}
	return p.cost
}

func (p *pick) number() int {
	if p == nil {
		return 0
	}
	return p.nodes
}

// again returns the number of nodes of the last template, and one more.
func (p *pick) again() int {
	n := 1
	for q := p; q != nil && q.at == p.at; q = q.before {
		n++
	}
	return n
}

// picks is a heap of picks by cost. Ties go to fewer nodes, and then to cheaper ones.
type picks []*pick

func (h picks) Len() int { return len(h) }
func (h picks) Less(i, j int) bool {
	if c := cmp.Or(cmp.Compare(h[i].cost, h[j].cost), cmp.Compare(h[i].nodes, h[j].nodes)); c != 0 {
		return c < 0
	}
	return h[i].compare(h[j]) < 0
}
func (h picks) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *picks) Push(x any)   { *h = append(*h, x.(*pick)) }
func (h *picks) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return p
}

// compare compares sets of as many nodes.
func (p *pick) compare(other *pick) int {
	for ; p != nil && p != other; p, other = p.before, other.before {
		if c := cmp.Compare(p.at, other.at); c != 0 {
			return c
		}
	}
	return 0
}
