package preempt

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// maxTaken bounds the depth of the search: the victims that are taken one by one.
const maxTaken = 4096

// descend looks for the rest of the victims.
func (a *across) descend() error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if !a.step() {
		return nil
	}
	if len(a.taken) > maxTaken {
		a.proven = false
		return nil
	}
	d := a.demand()
	if d.none {
		fits, err := a.fits()
		if err != nil {
			return err
		}
		if fits {
			a.keep()
			return nil
		}
		relevant, err := a.relevant()
		if err != nil {
			return err
		}
		d = demand{items: relevant, least: 1}
	}
	if d.never {
		return nil
	}
	if d.all {
		return a.takeAll(d.items)
	}
	return a.takeOne(d)
}

// takeAll descends with all of some items as victims.
func (a *across) takeAll(items []int) error {
	if !a.worthAll(items) {
		return nil
	}
	mark, entries := len(a.taken), 0
	for _, i := range items {
		if a.items[i].left > 0 {
			entries++
		}
	}
	if mark+entries > maxTaken {
		a.proven = false
		return nil
	}
	for _, i := range items {
		it := &a.items[i]
		if err := a.ended(1 + len(it.budgets)); err != nil {
			return err
		}
		if it.left > 0 {
			a.take(i, it.left)
		}
	}
	defer a.release(mark)
	if len(a.taken) == mark || !a.promising() {
		return nil
	}
	return a.descend()
}

// takeOne descends with one more victim, for each of some items. Tried items do not return in the later ones.
func (a *across) takeOne(d demand) error {
	if worth, err := a.worth(d); err != nil || !worth {
		return err
	}
	var tried []taking // items without what was left of them
	for _, i := range d.items {
		it := &a.items[i]
		if it.left == 0 {
			continue
		}
		mark := len(a.taken)
		a.take(i, 1)
		if a.promising() {
			if err := a.descend(); err != nil {
				return err
			}
		} else {
			a.step()
		}
		a.release(mark)
		if a.steps > a.limit {
			break
		}
		tried = append(tried, taking{item: int32(i), count: it.left})
		it.left = 0
		if worth, err := a.worth(d); err != nil {
			return err
		} else if !worth {
			break
		}
	}
	for _, t := range tried {
		a.items[t.item].left = t.count
	}
	return nil
}

// fits reports whether the current node takes the pod, by a decision from scratch.
func (a *across) fits() (bool, error) {
	outcome, err := decide.New(a.Framework, a.State, a.Pod).FilterAll(a.ctx, nodeset.Of(a.State.Len(), []uint32{a.node}))
	return err == nil && outcome.Feasible.Has(a.node), err
}

// keep makes the current victims the best ones.
func (a *across) keep() {
	a.best = a.cost
	count := make(map[int32]int32)
	var order []int32
	for _, t := range a.taken {
		if count[t.item] == 0 {
			order = append(order, t.item)
		}
		count[t.item] += t.count
	}
	slices.SortFunc(order, func(x, y int32) int {
		p, q := &a.items[x], &a.items[y]
		return cmp.Or(cmp.Compare(q.Priority, p.Priority), cmp.Compare(p.Started(), q.Started()), cmp.Compare(p.node, q.node),
			cluster.CompareImportance(p.Victim, q.Victim))
	})
	c := &verdict.Candidate{Node: a.node, Violations: int(a.cost.violations)}
	for _, i := range order {
		it := &a.items[i]
		v := it.Victim
		v.Count = count[i]
		c.Victims = append(c.Victims, a.State.VictimReference(it.node, &v))
	}
	a.found = c
}
