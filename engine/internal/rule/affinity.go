package rule

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Affinity rejects the nodes that are not, for each term, in a domain with pods that match all terms. The first pod of
// a set that matches its own terms is allowed wherever the keys are.
type Affinity struct {
	Terms []Term
	// Self reports whether the pod matches its own terms.
	Self bool
	Pods Pods

	counted  bool
	matched  int64       // pods in a domain of any term
	rejected nodeset.Set // nil until known
}

// Term is one required affinity term.
type Term struct {
	ID     verdict.PodRule
	Column *topology.Column
	// Counts is the number of pods that match all terms, by domain. Affinity.Count computes it.
	Counts []int64
}

// Matches reports whether the pods of a shape match all terms.
func (a *Affinity) Matches(s *cluster.Shape) bool { return a.Pods.Weight(&cluster.Group{Shape: s}) > 0 }

// Count counts the pods of the state, once.
func (a *Affinity) Count() *Affinity {
	if a.counted {
		return a
	}
	a.counted = true
	members := a.Pods.Members()
	for i := range a.Terms {
		t := &a.Terms[i]
		t.Counts = topology.Count(t.Column, members, nil)
		t.Counts[topology.None] = 0
	}
	a.findMatched(members)
	return a
}

func (a *Affinity) findMatched(members []topology.Members) {
	a.matched = 0
	if len(a.Terms) == 1 {
		for _, n := range a.Terms[0].Counts {
			a.matched += n
		}
		return
	}
	for i := range members {
		for n, count := range members[i].All() {
			if a.Anywhere(n) {
				a.matched += int64(count)
			}
		}
	}
}

// Fork returns the rule with counts of its own.
func (a *Affinity) Fork() *Affinity { return a.Only(func(int) bool { return true }) }

// Only returns the rule with some of its terms, by index, and counts of its own. Pods still have to match all terms.
func (a *Affinity) Only(keep func(term int) bool) *Affinity {
	only := *a.Count()
	only.Terms, only.rejected = nil, nil
	for i, t := range a.Terms {
		if keep(i) {
			t.Counts = slices.Clone(t.Counts)
			only.Terms = append(only.Terms, t)
		}
	}
	if len(only.Terms) < len(a.Terms) {
		only.findMatched(a.Pods.Members())
	}
	return &only
}

// Anywhere reports whether a node is in a domain of any term.
func (a *Affinity) Anywhere(node uint32) bool {
	for i := range a.Terms {
		if a.Terms[i].Column.Domain[node] != topology.None {
			return true
		}
	}
	return false
}

// Matched returns the number of pods that match all terms in a domain of any term.
func (a *Affinity) Matched() int64 { return a.Count().matched }

// First reports whether the pod can be the first of its set: it matches its own terms, and no matching pod is in a
// domain of any term.
func (a *Affinity) First() bool { return a.Self && a.Matched() == 0 }

// FirstWithout reports whether a pod on a node could be there as the first of its set. It counts own among the pods that
// match, which is 0 or 1.
func (a *Affinity) FirstWithout(node uint32, own int64) bool {
	return a.Self && a.Matched() == own && a.Offers(node, WithKey)
}

// Rejected returns the rejected nodes at the time of compilation.
func (a *Affinity) Rejected() nodeset.Set {
	if a.rejected == nil {
		a.rejected = a.unoffered()
	}
	return a.rejected
}

func (a *Affinity) unoffered() nodeset.Set {
	nodes := len(a.Terms[0].Column.Domain)
	allowed, having := nodeset.Full(nodes), nodeset.Full(nodes)
	found := false
	members := a.Pods.Members()
	for i := range a.Terms {
		column := a.Terms[i].Column
		if inhabited := column.Inhabited(members); inhabited != nil {
			found = true
			allowed.And(inhabited)
		} else {
			clear(allowed)
		}
		having.And(column.Having)
	}
	if !found && a.Self {
		allowed = having
	}
	return nodeset.Full(nodes).Minus(allowed)
}

// Add adds pods that match all terms on a node; a negative count removes them. It reports whether they count there.
func (a *Affinity) Add(node uint32, count int64) bool {
	a.Count()
	for i := range a.Terms {
		t := &a.Terms[i]
		if d := t.Column.Domain[node]; d != topology.None {
			t.Counts[d] += count
		}
	}
	if !a.Anywhere(node) {
		return false
	}
	a.matched += count
	return true
}

// MatchedWithout reports whether the domain of a node has a matching pod, ignoring own pods on the node.
func (t *Term) MatchedWithout(node uint32, own int64) bool {
	d := t.Column.Domain[node]
	return d != topology.None && t.Counts[d] > own
}

// Level is what a domain provides for a term.
type Level int64

// The levels in ascending order. A level includes the lower ones.
const (
	WithoutKey Level = iota
	WithKey
	WithMatch
)

// Level returns what a domain offers.
func (t *Term) Level(domain int32) Level {
	switch {
	case domain == topology.None:
		return WithoutKey
	case t.Counts[domain] > 0:
		return WithMatch
	}
	return WithKey
}

// Offers reports whether a node's domains have a level for all terms.
func (a *Affinity) Offers(node uint32, level Level) bool {
	for i := range a.Terms {
		if t := &a.Terms[i]; t.Level(t.Column.Domain[node]) < level {
			return false
		}
	}
	return true
}

// Allows reports whether the rule allows a node.
func (a *Affinity) Allows(node uint32) bool { return a.Offers(node, a.Needs()) }

// AllowsWith reports whether the rule allows a node with a number of additional pods on it that match all terms, or with as
// many fewer if it is negative.
func (a *Affinity) AllowsWith(node uint32, pods int64) bool {
	switch {
	case pods > 0: // each domain of the node then has one
		return !slices.ContainsFunc(a.Terms, func(t Term) bool { return t.Column.Domain[node] == topology.None })
	case pods < 0:
		return a.allowsWithout(node, -pods)
	case a.counted:
		return a.Allows(node)
	}
	return !a.Rejected().Has(node)
}

// allowsWithout reports whether the rule allows a node without some of the pods on it that match all terms.
func (a *Affinity) allowsWithout(node uint32, pods int64) bool {
	matched := a.Matched()
	if a.Anywhere(node) {
		matched -= pods
	}
	first := a.Self && matched == 0
	for i := range a.Terms {
		t := &a.Terms[i]
		if d := t.Column.Domain[node]; d == topology.None || !first && t.Counts[d] <= pods {
			return false
		}
	}
	return true
}

// Needs returns the level that a node's domains must have for all terms.
func (a *Affinity) Needs() Level {
	if a.First() {
		return WithKey
	}
	return WithMatch
}
