// Package nodeaffinity implements node selectors and node affinity: required terms filter, preferred ones score
// (pkg/scheduler/framework/plugins/nodeaffinity, v1.37).
package nodeaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Required returns the nodes that match a node selector and required node affinity; nil for all.
func Required(s *cluster.State, spec *api.PodSpec) nodeset.Set {
	var set nodeset.Set
	for _, r := range selector.CompileNodeLabels(s.Symbols, spec.NodeSelector) {
		set = intersect(set, matching(s, &r))
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		set = intersect(set, anyTerm(s, spec.NodeAffinity.Required))
	}
	return set
}

// anyTerm returns the nodes that match any term.
func anyTerm(s *cluster.State, sel *api.NodeSelector) nodeset.Set {
	set := nodeset.New(s.Len())
	for _, t := range sel.Terms {
		if s.Ended() {
			break
		}
		if m := term(s, t); m != nil {
			set.Or(m)
		}
	}
	return set
}

// term returns the nodes that match a term; nil if none can.
func term(s *cluster.State, selects api.NodeSelectorTerm) nodeset.Set {
	t, ok := selector.CompileNodeTerm(s.Symbols, selects)
	if !ok {
		return nil
	}
	var set nodeset.Set
	for i := range t.Labels {
		if s.Ended() {
			break
		}
		set = intersect(set, matching(s, &t.Labels[i]))
	}
	for _, r := range t.Names {
		named := nodeset.New(s.Len())
		if i, ok := s.Node(r.Name); ok {
			named.Add(i)
		}
		if r.Not {
			others := nodeset.Full(s.Len())
			others.AndNot(named)
			named = others
		}
		set = intersect(set, named)
	}
	return set
}

// matching returns the nodes whose label meets a requirement. It evaluates each distinct value once.
func matching(s *cluster.State, r *selector.Requirement) nodeset.Set {
	column := s.Column(r.Key)
	table := make([]uint8, column.Len())
	for d, v := range column.Values {
		if r.Matches(s.Symbols, v, d != 0) {
			table[d] = 1
		}
	}
	return column.Where(table)
}

// Meeting returns the nodes that meet one requirement on labels, and whether kube-scheduler can parse it.
func Meeting(s *cluster.State, r api.Requirement) (nodes nodeset.Set, parsable bool) {
	if nodes = term(s, api.NodeSelectorTerm{MatchExpressions: []api.Requirement{r}}); nodes == nil {
		return nodeset.New(s.Len()), false
	}
	return nodes, true
}

// intersect returns the nodes of both sets; nil stands for all. It may change a.
func intersect(a, b nodeset.Set) nodeset.Set {
	if a == nil {
		return b
	}
	a.And(b)
	return a
}
