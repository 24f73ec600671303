package plugin

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Explained charges the cost of counts to the request's budget for explanations. It cuts off the domains that exceed
// the budget, and reports whether the counts are complete.
func Explained(s *cluster.State, t *verdict.TopologyCounts) bool {
	for _, u := range t.Uncounted {
		s.Explain(len(u.Nodes))
	}
	for i := range t.Domains {
		if !s.Explain(verdict.EntryCost + len(t.Domains[i].Nodes)) {
			t.Domains = t.Domains[:i]
			return false
		}
	}
	return !s.Ended()
}
