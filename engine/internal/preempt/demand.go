package preempt

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// demand is what has to go: at least some of the items, or all of them.
type demand struct {
	items []int
	least int64 // pods
	all   bool
	never bool // no victims help
	none  bool // the node takes the pod
}

// The rules that count pods by domain have the places of a Vector: spread rules, affinity, exclusions.

func (a *across) affinityPlace() int       { return len(a.rules.Spread) }
func (a *across) exclusionPlace(i int) int { return len(a.rules.Spread) + 1 + i }

// weights returns what a pod of a group adds to the counts of the rules; nil for nothing.
func (a *across) weights(g *cluster.Group) (weights []int64) {
	set := func(place int, weight int64) {
		if weight == 0 {
			return
		}
		if weights == nil {
			weights = make([]int64, a.exclusionPlace(len(a.rules.Exclusions)))
		}
		weights[place] = weight
	}
	for i, r := range a.rules.Spread {
		set(i, r.Pods.Weight(g))
	}
	if a.rules.Affinity != nil {
		set(a.affinityPlace(), a.rules.Affinity.Pods.Weight(g))
	}
	for i, r := range a.rules.Exclusions {
		set(a.exclusionPlace(i), r.Pods.Weight(g))
	}
	return weights
}

// domain returns the domain in which a rule counts the pods of a node, and whether it counts them. Those that match affinity
// terms are of one domain: all of them have to go together.
func (a *across) domain(place int, n uint32) (domain int32, in bool) {
	switch {
	case place < a.affinityPlace():
		r := a.rules.Spread[place]
		domain = r.Column.Domain[n]
		return domain, domain != topology.None && r.Counted.Has(n)
	case place == a.affinityPlace():
		return 0, a.rules.Affinity.Anywhere(n)
	}
	return a.rules.Exclusions[place-a.exclusionPlace(0)].Domain(n)
}

// count adds pods of an item to the counts of the rules.
func (a *across) count(it *item, pods int64) {
	for place, weight := range it.counts {
		switch {
		case weight == 0:
		case place < a.affinityPlace():
			a.rules.Spread[place].Add(it.node, pods*weight)
		case place == a.affinityPlace():
			a.rules.Affinity.Add(it.node, pods*weight)
		default:
			a.rules.Exclusions[place-a.exclusionPlace(0)].Add(it.node, pods*weight)
		}
	}
}

// appendKey appends a key: of nodes with equal keys one is enough. There is none for a node that resources, its own pods alone
// or nominated pods matter for.
func (a *across) appendKey(b []byte, n uint32) []byte {
	if a.nominated[n] != nil || a.rules.Fit != nil && a.rules.Fit.FullOn(n) {
		return b
	}
	for _, r := range a.rules.Spread {
		b = binary.AppendVarint(b, int64(r.Column.Domain[n]))
	}
	if r := a.rules.Affinity; r != nil {
		for i := range r.Terms {
			b = binary.AppendVarint(b, int64(r.Terms[i].Column.Domain[n]))
		}
	}
	for _, r := range a.rules.Exclusions {
		if r.Column != nil {
			b = binary.AppendVarint(b, int64(r.Column.Domain[n]))
		} else if r.Rejected().Has(n) {
			return b[:0]
		}
	}
	return append(b, 0)
}

// demand asks the rules what has to go for the current node.
func (a *across) demand() demand {
	for i, r := range a.rules.Exclusions {
		if domain, in := r.Domain(a.node); in && r.Counts()[domain] > 0 {
			place := a.exclusionPlace(i)
			return a.allOf(place, domain, r.Counts()[domain])
		}
	}
	if r := a.rules.Affinity; r != nil && !r.Allows(a.node) {
		if !r.Self || !r.Offers(a.node, rule.WithKey) {
			return demand{never: true}
		}
		return a.allOf(a.affinityPlace(), 0, r.Matched())
	}
	best := demand{none: true}
	for i, r := range a.rules.Spread {
		domain := r.Column.Domain[a.node]
		if domain == topology.None {
			return demand{never: true}
		}
		if over := r.SkewWith(a.node, 0) - r.MaxSkew; over > best.least {
			best = demand{items: a.lists[listKey{i, domain}], least: over}
		}
	}
	needs := a.rules.Fit.Needs()
	for i := range needs {
		need := &needs[i]
		short := saturating.Sub(need.Amount, need.Room(a.node))
		switch {
		case short <= 0:
			continue
		case a.rules.Fit.Unresolvable(i, a.node):
			return demand{never: true}
		}
		d := demand{}
		var most, sum int64
		for _, j := range a.local {
			it := &a.items[j]
			uses := it.Usage.Of(need.Resource)
			if uses < 0 {
				a.proven = false // it overflowed
			}
			if uses > 0 && it.left > 0 {
				d.items = append(d.items, j)
				most, sum = max(most, uses), saturating.Add(sum, saturating.Mul(uses, int64(it.left)))
			}
		}
		if sum < short {
			return demand{never: true}
		}
		if d.least = (short-1)/most + 1; d.least > best.least {
			best = d
		}
	}
	return best
}

// allOf returns the demand that all pods go that a rule counts in a domain; their weights must add up to a sum.
func (a *across) allOf(place int, domain int32, sum int64) demand {
	list := a.lists[listKey{place, domain}]
	for _, i := range list {
		sum -= a.items[i].counts[place] * int64(a.items[i].left)
	}
	return demand{items: list, all: true, never: sum > 0}
}

// relevant returns all items that matter for the current node.
func (a *across) relevant() ([]int, error) {
	items := slices.Clone(a.local)
	for place := range a.exclusionPlace(len(a.rules.Exclusions)) {
		if place == a.affinityPlace() && a.rules.Affinity == nil {
			continue
		}
		if domain, in := a.domain(place, a.node); in {
			items = append(items, a.lists[listKey{place, domain}]...)
		}
	}
	slices.Sort(items)
	items = slices.Compact(items)
	return items, a.sort(items)
}
