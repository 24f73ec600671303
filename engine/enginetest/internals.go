package enginetest

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// LabelSelectorError returns the error of a label selector that Kubernetes does not parse, empty for none.
func LabelSelectorError(s *api.LabelSelector) string { return selector.LabelSelectorError(s) }

// PreferredNodeTermsError returns the error of preferred node terms that Kubernetes does not parse, empty for none.
func PreferredNodeTermsError(terms []api.PreferredNodeTerm) string {
	return selector.PreferredNodeTermsError(terms)
}

// CountPods returns a function that counts pods by topology domain, without a cluster around it, to measure counting
// alone: a number of groups of pods, each with one pod on every 16th of the nodes, and nodes that take turns over a
// number of domains. The function returns how many pods it counted.
func CountPods(nodes, groups, each, domains int) func() int64 {
	column := &topology.Column{Domain: make([]int32, nodes), Values: make([]intern.ID, domains+1)}
	for i := range column.Domain {
		column.Domain[i] = int32(1 + i%domains)
	}
	members := make([]topology.Members, groups)
	for g := range members {
		for i := range each {
			members[g].Nodes = append(members[g].Nodes, uint32(i*16+g%16))
		}
	}
	return func() int64 {
		pods := int64(0)
		for _, n := range topology.Count(column, members, nil) {
			pods += n
		}
		return pods
	}
}
