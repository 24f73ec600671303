package plugin

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Domains returns the domains that have any of the given nodes, in ascending order of their values. describe completes the
// entry of a domain.
func Domains(
	s *cluster.State, column *topology.Column, in nodeset.Set, describe func(domain int, d *verdict.DomainCount),
) []verdict.DomainCount {
	var out []verdict.DomainCount
	for domain, nodes := range column.Nodes(in) {
		if domain == topology.None || len(nodes) == 0 {
			continue
		}
		d := verdict.DomainCount{Value: s.Symbols.Name(column.Values[domain]), Nodes: nodes}
		describe(domain, &d)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b verdict.DomainCount) int { return cmp.Compare(a.Value, b.Value) })
	return out
}

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
