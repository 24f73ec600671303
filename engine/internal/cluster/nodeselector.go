package cluster

import (
	"iter"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Selected returns the nodes that match any term of a selector.
func (s *State) Selected(by *api.NodeSelector) nodeset.Set { return s.anyTerm(by, true) }

// SelectedByLabels is Selected for a node that has labels alone: requirements on its name are ignored, as kube-scheduler ignores them for
// nodes without fields (k8s.io/component-helpers/scheduling/corev1/nodeaffinity nodeSelectorTerm.match, v0.37).
func (s *State) SelectedByLabels(by *api.NodeSelector) nodeset.Set { return s.anyTerm(by, false) }

// reach is nodes: a list of them if they are few, otherwise a set. Neither must be changed.
type reach struct {
	few  []uint32
	many nodeset.Set
}

// fewNodes is the number of nodes up to which their list is faster than their set.
const fewNodes = 8

// These are what a cluster remembers the nodes of: the node affinity of volumes, the topologies of storage classes, and the topology of
// capacities.
type (
	affinityOf  struct{ *api.NodeSelector }
	allowedBy   struct{ *api.NodeSelector }
	capacityFor struct{ *api.LabelSelector }
)

// remember returns the nodes that a selector of a storage object selects, which find finds.
func (s *State) remember(key any, find func() nodeset.Set) reach {
	return s.reaches.Get(key, func() (of reach, bytes int64, complete bool) {
		set := find()
		if n := set.Len(); n <= fewNodes {
			of.few = set.AppendIndexes(make([]uint32, 0, n))
		} else {
			of.many = set
		}
		return of, int64(4*len(of.few) + 8*len(of.many)), !s.Ended()
	})
}

// reachOf returns the nodes that the node affinity of a volume selects, which is not nil.
func (s *State) reachOf(by *api.NodeSelector) reach {
	return s.remember(affinityOf{by}, func() nodeset.Set { return s.SelectedByLabels(by) })
}

// set returns the nodes as a set, which must not be changed.
func (r reach) set(nodes int) nodeset.Set {
	if r.many != nil {
		return r.many
	}
	return nodeset.Of(nodes, r.few)
}

// setOf returns the nodes that a selector of a volume selects; nil for all if the volume has none. They must not be changed.
func (s *State) setOf(by *api.NodeSelector) nodeset.Set {
	if by == nil {
		return nil
	}
	return s.reachOf(by).set(s.Len())
}

// reached returns the nodes of a set that a selector of a volume selects, which may be nil.
func (s *State) reached(in nodeset.Set, by *api.NodeSelector) iter.Seq[uint32] {
	if by == nil {
		return in.Clone().All()
	}
	return s.reachOf(by).within(in)
}

// within iterates over the nodes that are in a set, which may change.
func (r reach) within(in nodeset.Set) iter.Seq[uint32] {
	if r.many != nil {
		hit := in.Clone()
		hit.And(r.many)
		return hit.All()
	}
	return func(yield func(uint32) bool) {
		for _, node := range r.few {
			if in.Has(node) && !yield(node) {
				return
			}
		}
	}
}

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
