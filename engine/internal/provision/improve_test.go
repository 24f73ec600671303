package provision

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
)

// exchanging returns a solver that has a node of each of many templates, the later ones at a higher price.
func exchanging(templates int) (s *solver, active []int) {
	s = &solver{Problem: &Problem{MaxNodes: templates + maxExchanged}, best: &trial{nodes: templates}, limit: 1 << 20}
	for t := range templates {
		s.Templates = append(s.Templates, Template{Price: int64(templates + t), Most: 1 + maxExchanged})
		s.best.counts = append(s.best.counts, 1)
		active = append(active, t)
	}
	return s, active
}

// TestExchangesSaveTheMost expects exchanges of the last templates, although the first ones have more than are considered.
func TestExchangesSaveTheMost(t *testing.T) {
	t.Parallel()
	const templates = 400
	s, active := exchanging(templates)
	var saved []int64 // by all exchanges, of one node for one
	for from := range templates {
		for to := range from {
			saved = append(saved, int64(from-to))
		}
	}
	slices.SortFunc(saved, func(a, b int64) int { return cmp.Compare(b, a) })
	got, err := s.exchanges(t.Context(), active)
	if err != nil || len(got) != maxExchanges || len(saved) <= 2*maxExchanges {
		t.Fatalf("%v, %d of %d exchanges", err, len(got), len(saved))
	}
	for i, e := range got {
		if e.saved != saved[i] || e.saved != s.Templates[e.from].Price-s.Templates[e.to].Price || e.fewer != 1 || e.more != 1 {
			t.Fatalf("exchange %d is %+v, one saves %d", i, e, saved[i])
		}
	}
}

// TestExchangesEnd expects that looking for exchanges ends with the context, and with the steps.
func TestExchangesEnd(t *testing.T) {
	t.Parallel()
	s, active := exchanging(10)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.exchanges(ended, active); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.used, s.limit = 0, 5
	if got, err := s.exchanges(t.Context(), active); err != nil || len(got) > 0 || s.used > 5 {
		t.Errorf("%d exchanges, %d steps, %v", len(got), s.used, err)
	}
}
