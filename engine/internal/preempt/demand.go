package preempt

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// demand is what has to go: at least some of the items, or all of them.
type demand struct {
	items []int
	least int64 // pods
	all   bool
	never bool // no victims help
	none  bool // the node takes the pod
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
		} else if r.Excess(n, 0) > 0 {
			return b[:0]
		}
	}
	for _, k := range a.rules.Others {
		if k.Column() != nil {
			b = binary.AppendVarint(b, int64(k.Column().Domain[n]))
		} else if k.Excess(n, 0) > 0 {
			return b[:0]
		}
	}
	return append(b, 0)
}

// demand collects from the rules which pods have to leave to make the current node feasible.
func (a *across) demand() demand {
	best := demand{none: true}
	for place, c := range a.rules.Counters() {
		excess := c.Excess(a.node, 0)
		if excess <= 0 {
			continue
		}
		domain, _ := c.Domain(a.node)
		d := a.demandOf(a.lists[listKey{place, domain}], excess, func(it *item) int64 { return it.counts[place] })
		switch {
		case excess == rule.Never:
			return demand{never: true}
		case d.all || d.never:
			return d
		case d.least > best.least:
			best = d
		}
	}
	needs := a.rules.Fit.Needs()
	for i := range needs {
		need := &needs[i]
		excess := need.Excess(a.node)
		if excess <= 0 {
			continue
		}
		d := a.demandOf(a.local, excess, func(it *item) int64 { return it.Usage.Of(need.Resource) })
		switch {
		case d.never || a.rules.Fit.Unresolvable(i, a.node):
			return demand{never: true}
		case d.least > best.least:
			best = d
		}
	}
	return best
}

// demandOf returns the demand that items go until their weights add up to a rule's excess.
func (a *across) demandOf(list []int, excess int64, weigh func(*item) int64) (d demand) {
	var most, sum int64
	for _, i := range list {
		it := &a.items[i]
		weight := weigh(it)
		if weight < 0 {
			a.proven = false // it overflowed
		}
		if weight > 0 && it.left > 0 {
			d.items = append(d.items, i)
			most, sum = max(most, weight), saturating.Add(sum, saturating.Mul(weight, int64(it.left)))
		}
	}
	if sum < excess {
		return demand{never: true}
	}
	d.all, d.least = sum == excess, (excess-1)/most+1
	return d
}

// relevant returns all items that matter for the current node.
func (a *across) relevant() ([]int, error) {
	items := slices.Clone(a.local)
	for place, c := range a.rules.Counters() {
		if domain, in := c.Domain(a.node); in {
			items = append(items, a.lists[listKey{place, domain}]...)
		}
	}
	slices.Sort(items)
	items = slices.Compact(items)
	return items, a.sort(items)
}
