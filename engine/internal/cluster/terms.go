package cluster

import (
	"iter"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// TermOf is a term that the pods of a group have.
type TermOf struct {
	*Term
	Group    int32
	Required bool
	// Weight is the weight of a preferred term, negative for anti-affinity.
	Weight int64
}

// terms is an index of terms by a label that they require.
type terms struct {
	byLabel map[selector.Label][]TermOf
	others  []TermOf // require no single label
	lists   arena[TermOf]
}

func (x *terms) add(t TermOf) {
	label, ok := t.Selector.Label()
	switch {
	case t.Selector == nil:
	case ok:
		if x.byLabel == nil {
			x.byLabel, x.lists.chunk = make(map[selector.Label][]TermOf), 64
		}
		list, found := x.byLabel[label]
		if !found { // most labels have one term
			list = x.lists.keep(x.lists.take(1)[:1])[:0]
		}
		x.byLabel[label] = append(list, t)
	default:
		x.others = append(x.others, t)
	}
}

// addAntiAffinity adds the required anti-affinity terms of a group.
func (x *terms) addAntiAffinity(group int, s *Shape) {
	for i := range s.AntiAffinity {
		x.add(TermOf{Term: &s.AntiAffinity[i], Group: int32(group), Required: true})
	}
}

// addWishes adds the terms of a group that count for scores: required affinity and all preferred terms.
func (x *terms) addWishes(group int, s *Shape) {
	for i := range s.Affinity {
		x.add(TermOf{Term: &s.Affinity[i], Group: int32(group), Required: true})
	}
	for i := range s.PreferredAffinity {
		t := &s.PreferredAffinity[i]
		x.add(TermOf{Term: &t.Term, Group: int32(group), Weight: t.Weight})
	}
	for i := range s.PreferredAntiAffinity {
		t := &s.PreferredAntiAffinity[i]
		x.add(TermOf{Term: &t.Term, Group: int32(group), Weight: -t.Weight})
	}
}

// groupTerms holds indexes of a range of groups by their terms and labels. Each is built at its first use. Groups without pods are in
// them, so that clusters that are derived from each other share them.
type groupTerms struct {
	from, to             int
	antiAffinity, wishes atomic.Pointer[terms]
	byLabel              atomic.Pointer[byLabel]
}

// indexesOf returns indexes of a number of groups: the indexes of a base followed by an index of the newer groups. If there are many
// newer groups, all groups are indexed again.
func indexesOf(base []*groupTerms, groups int) []*groupTerms {
	if base != nil {
		if first := base[0]; (groups-first.to)*unindexedShare <= first.to+unindexed*unindexedShare {
			return []*groupTerms{first, {from: first.to, to: groups}}
		}
	}
	return []*groupTerms{{to: groups}}
}

// unindexedShare is the ratio of all groups to groups missing in the indexes of a base, from which on all groups are indexed again.
const unindexedShare = 8

// termIndex returns an index of a range of groups.
func (c *Cluster) termIndex(of *groupTerms, published *atomic.Pointer[terms], add func(*terms, int, *Shape)) *terms {
	if x := published.Load(); x != nil {
		return x
	}
	x := &terms{}
	for i := of.from; i < of.to; i++ {
		add(x, i, c.groups.get(i).Shape)
	}
	published.Store(x)
	return x
}

// AntiAffinity iterates over the required anti-affinity terms of existing pods that select a pod, until the request ends.
func (s *State) AntiAffinity(p *Pending) iter.Seq[TermOf] {
	return s.selecting(p, &s.addedAntiAffinity, func(of *groupTerms) *terms {
		return s.Cluster.termIndex(of, &of.antiAffinity, (*terms).addAntiAffinity)
	})
}

// Blocking returns the existing pods with a required anti-affinity term that selects a pod, by the term's topology key. A
// group with two such terms of one key may occur twice.
func (s *State) Blocking(p *Pending) map[intern.ID][]topology.Members {
	byKey := make(map[intern.ID][]topology.Members)
	for t := range s.AntiAffinity(p) {
		byKey[t.TopologyKey] = append(byKey[t.TopologyKey], s.Group(int(t.Group)).Members)
	}
	return byKey
}

// Wishes iterates over the required affinity terms and all preferred terms of existing pods that select a pod, until the
// request ends.
func (s *State) Wishes(p *Pending) iter.Seq[TermOf] {
	return s.selecting(p, &s.addedWishes, func(of *groupTerms) *terms {
		return s.Cluster.termIndex(of, &of.wishes, (*terms).addWishes)
	})
}

// selecting iterates over the terms that select a pod: terms of the cluster's groups with pods, and terms of groups added by the
// request.
func (s *State) selecting(p *Pending, added *terms, index func(*groupTerms) *terms) iter.Seq[TermOf] {
	return func(yield func(TermOf) bool) {
		tried := 0
		all := make([]*terms, 0, len(s.terms)+1)
		for _, of := range s.terms {
			all = append(all, index(of))
		}
		for _, x := range append(all, added) {
			lists := make([][]TermOf, 0, len(p.Shape.Labels)+1)
			for _, l := range p.Shape.Labels {
				lists = append(lists, x.byLabel[l])
			}
			for _, list := range append(lists, x.others) {
				for i := range list {
					if tried++; tried%1024 == 0 && s.Ended() {
						return
					}
					t := &list[i]
					if int(t.Group) < s.Cluster.groups.len() && s.Group(int(t.Group)).empty() {
						continue
					}
					if t.Matches(p.Namespace, p.NamespaceLabels, p.Shape.Labels) && !yield(*t) {
						return
					}
				}
			}
		}
	}
}
