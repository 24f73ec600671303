package cluster

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Selected returns the nodes that match any term of a selector.
func (s *State) Selected(by *api.NodeSelector) nodeset.Set { return s.anyTerm(by, true) }

// SelectedByLabels is Selected for a node that has labels alone: requirements on its name are ignored, as kube-scheduler ignores them for
// nodes without fields (k8s.io/component-helpers/scheduling/corev1/nodeaffinity nodeSelectorTerm.match, v0.37).
func (s *State) SelectedByLabels(by *api.NodeSelector) nodeset.Set { return s.anyTerm(by, false) }

func (s *State) anyTerm(by *api.NodeSelector, names bool) nodeset.Set {
	set := nodeset.New(s.Len())
	for _, t := range by.Terms {
		if s.Ended() {
			break
		}
		if m := s.term(t, names); m != nil {
			set.Or(m)
		}
	}
	return set
}

// Meeting returns the nodes that meet one requirement on labels, and whether kube-scheduler can parse it.
func (s *State) Meeting(r api.Requirement) (nodes nodeset.Set, parsable bool) {
	if nodes = s.term(api.NodeSelectorTerm{MatchExpressions: []api.Requirement{r}}, true); nodes == nil {
		return nodeset.New(s.Len()), false
	}
	return nodes, true
}

// SelectedByTerm returns the nodes that match a term; nil if none can.
func (s *State) SelectedByTerm(selects api.NodeSelectorTerm) nodeset.Set {
	return s.term(selects, true)
}

func (s *State) term(selects api.NodeSelectorTerm, names bool) nodeset.Set {
	t, ok := selector.CompileNodeTerm(s.Symbols, selects)
	if !ok {
		return nil
	}
	var set nodeset.Set
	for i := range t.Labels {
		if s.Ended() {
			break
		}
		set = intersect(set, s.LabelMeets(&t.Labels[i]))
	}
	if !names {
		if set == nil {
			set = nodeset.Full(s.Len())
		}
		return set
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

// LabelMeets returns the nodes whose label meets a requirement. It evaluates each distinct value once.
func (s *State) LabelMeets(r *selector.Requirement) nodeset.Set {
	column := s.Column(r.Key)
	table := make([]uint8, column.Len())
	for d, v := range column.Values {
		table[d] = flag(r.Matches(s.Symbols, v, d != 0))
	}
	return column.Where(table)
}

// Labelled returns the nodes whose labels match a selector: none for nil, and none if kube-scheduler cannot parse it.
func (s *State) Labelled(by *api.LabelSelector) nodeset.Set {
	if by == nil {
		return nodeset.New(s.Len())
	}
	var all []api.Requirement
	for _, l := range by.MatchLabels {
		all = append(all, api.Requirement{Key: l.Key, Operator: api.In, Values: []string{l.Value}})
	}
	all = append(all, by.MatchExpressions...)
	if len(all) == 0 {
		return nodeset.Full(s.Len())
	}
	if set := s.term(api.NodeSelectorTerm{MatchExpressions: all}, true); set != nil {
		return set
	}
	return nodeset.New(s.Len())
}

// intersect returns the nodes of both sets; nil stands for all. It may change a.
func intersect(a, b nodeset.Set) nodeset.Set {
	if a == nil {
		return b
	}
	a.And(b)
	return a
}
