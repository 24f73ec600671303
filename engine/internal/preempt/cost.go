package preempt

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// cost is what victims cost: the disruptions that budgets do not allow, the priority of the most important victim, their
// number.
type cost struct {
	violations int64
	highest    int32
	pods       int64
}

func (c cost) compare(o cost) int {
	return cmp.Or(cmp.Compare(c.violations, o.violations), cmp.Compare(c.highest, o.highest), cmp.Compare(c.pods, o.pods))
}

// promising reports whether the victims cost less than the best ones.
func (a *across) promising() bool { return a.found == nil || a.cost.compare(a.best) < 0 }

// worthAll reports whether the victims with all of some items, and as many more as the resources of the current node need, can
// cost less than the best ones.
func (a *across) worthAll(items []int) bool {
	if a.found == nil {
		return true
	}
	with := a.cost
	var here []int // of the items
	for _, i := range items {
		it := &a.items[i]
		if it.left == 0 {
			continue
		}
		with.pods += int64(it.left)
		with.highest = max(with.highest, it.Priority)
		if it.node == a.node {
			here = append(here, i)
			it.whole = true
		}
	}
	needs, more := a.rules.Fit.Needs(), int64(0)
	for i := range needs {
		short, most := saturating.Sub(needs[i].Amount, needs[i].Room(a.node)), int64(0)
		for _, j := range here {
			it := &a.items[j]
			short = saturating.Sub(short, saturating.Mul(it.Usage.Of(needs[i].Resource), int64(it.left)))
		}
		for _, j := range a.local {
			if it := &a.items[j]; it.left > 0 && !it.whole {
				most = max(most, it.Usage.Of(needs[i].Resource))
			}
		}
		if short > 0 && most > 0 {
			more = max(more, (short-1)/most+1)
		}
	}
	for _, i := range here {
		a.items[i].whole = false
	}
	with.pods += more
	return with.compare(a.best) < 0
}

// worth reports whether the victims with as many more as a demand needs can cost less than the best ones.
func (a *across) worth(d demand) (bool, error) {
	needed, with := d.least, a.cost
	harmless := int64(0)
	for _, i := range d.items {
		it := &a.items[i]
		if it.left == 0 {
			continue
		}
		charge, err := a.chargeOf(it)
		if err != nil {
			return false, err
		}
		if charge == 0 {
			harmless += int64(it.left)
		}
	}
	with.violations += max(0, needed-harmless)
	priorities := a.lowest(d)
	if priorities == nil {
		return false, nil
	}
	with.highest = max(with.highest, *priorities)
	with.pods += needed
	return a.found == nil || with.compare(a.best) < 0, nil
}

// lowest returns the lowest priority that as many items as a demand needs do not exceed; nil if there are fewer.
func (a *across) lowest(d demand) *int32 {
	counts := make(map[int32]int64)
	var priorities []int32
	for _, i := range d.items {
		if it := &a.items[i]; it.left > 0 {
			if counts[it.Priority] == 0 {
				priorities = append(priorities, it.Priority)
			}
			counts[it.Priority] += int64(it.left)
		}
	}
	slices.Sort(priorities)
	needed := d.least
	for i := range priorities {
		if needed -= counts[priorities[i]]; needed <= 0 {
			return &priorities[i]
		}
	}
	return nil
}
