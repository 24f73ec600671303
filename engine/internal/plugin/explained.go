package plugin

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Explained takes the cost of counts from what the request may still explain. Domains for which nothing is left are cut
// off; it reports whether none are.
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
