package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxEven bounds the sizes of nodes that are tried alone.
const maxEven = 3

// even tries fleets of nodes of one size, with equal numbers in each domain, because scores fill such nodes evenly. It tries the
// cheapest sizes according to rows, each with the number of nodes that the rows require. The trials that place the most pods come
// first.
func (s *solver) even(ctx context.Context, active []int) ([]*trial, error) {
	sizes, err := s.sizes(ctx, active)
	if err != nil {
		return nil, err
	}
	var all [][]int
	nodes := 0
	for _, z := range sizes[:min(len(sizes), maxEven)] {
		if counts, ok := s.evenly(z.templates, z.least); ok {
			all, nodes = append(all, counts), max(nodes, z.least)
		}
	}
	tried, err := s.try(ctx, all[:s.affords(len(all), nodes)])
	slices.SortStableFunc(tried, func(a, b *trial) int { return cmp.Compare(b.placed, a.placed) })
	return tried, err
}

// size is templates that differ only in their domains, and the number of their nodes that rows require.
type size struct {
	templates []int
	least     int
	cost      int64
}

// sizes returns the sizes of templates, ordered by the least cost according to rows.
func (s *solver) sizes(ctx context.Context, active []int) ([]size, error) {
	needs := s.everyNeed()
	domain := s.domains()
	at := make(map[string]int)
	var all []size
	for _, t := range active {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var key strings.Builder
		fmt.Fprint(&key, s.Templates[t].Price)
		for _, n := range needs {
			fmt.Fprint(&key, " ", n.Room(s.first(t)))
		}
		i, known := at[key.String()]
		if !known {
			i = len(all)
			at[key.String()] = i
			all = append(all, size{})
		}
		if !slices.ContainsFunc(all[i].templates, func(o int) bool { return domain(o) == domain(t) }) {
			all[i].templates = append(all[i].templates, t)
		}
	}
	for i := range all {
		if s.used += 1 + len(s.rows)/64; s.used >= s.limit || ctx.Err() != nil {
			return nil, ctx.Err()
		}
		low, high := 0, 1 // between them, the first number that meets the rows
		for ; high <= s.MaxNodes; low, high = high, 2*high {
			if counts, ok := s.evenly(all[i].templates, high); !ok || s.meets(counts) {
				break
			}
		}
		for high-low > 1 {
			middle := (low + high) / 2
			if counts, ok := s.evenly(all[i].templates, middle); ok && !s.meets(counts) {
				low = middle
			} else {
				high = middle
			}
		}
		counts, ok := s.evenly(all[i].templates, high)
		if ok && s.meets(counts) {
			all[i].least, all[i].cost = high, s.costOf(counts)
		}
	}
	all = slices.DeleteFunc(all, func(z size) bool { return z.least == 0 })
	slices.SortStableFunc(all, func(a, b size) int { return cmp.Compare(a.cost, b.cost) })
	return all, nil
}

// evenly returns counts with a number of nodes, divided evenly, if there may be as many.
func (s *solver) evenly(templates []int, n int) (counts []int, ok bool) {
	if n > s.MaxNodes {
		return nil, false
	}
	counts = make([]int, len(s.Templates))
	for i, t := range templates {
		if counts[t] = (n + i) / len(templates); counts[t] > s.most(t) {
			return nil, false
		}
	}
	return counts, true
}
