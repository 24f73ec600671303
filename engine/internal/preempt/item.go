package preempt

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// item is equal pods of a node that may be victims.
type item struct {
	cluster.Victim
	node    uint32
	left    int32 // how many may still be taken
	taken   int32
	budgets []int32
	counts  rule.Vector // by counter
	charge  int64       // when it was sorted
	whole   bool        // is in the set of worthAll
}

// listKey is a counter, by its place, and a domain of it.
type listKey struct {
	rule   int
	domain int32
}

// findItems finds the pods that the rules count by domain.
func (a *across) findItems() error {
	nodes := nodeset.New(a.State.Len())
	for i, g := range a.State.Groups() {
		if err := a.ended(1 + a.rules.Places()); err != nil {
			return err
		}
		if w := a.rules.Weights(g); w != nil {
			a.weighted[int32(i)] = w
			for n := range g.All() {
				nodes.Add(n)
			}
		}
	}
	var victims []cluster.Victim
	for n := range nodes.All() {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		victims = a.victims(victims[:0], n)
		for i := range victims {
			if a.weighted[victims[i].Group] == nil {
				continue
			}
			item, err := a.add(n, &victims[i])
			if err != nil || a.kept > maxKept {
				return err
			}
			a.list(item)
		}
	}
	for _, list := range a.lists {
		if err := a.sort(list); err != nil {
			return err
		}
	}
	return a.ctx.Err()
}

// victims appends the pods of a node that may leave. Pods that leave only with the others of their pod group stay, so that nothing
// is proven.
func (a *across) victims(victims []cluster.Victim, n uint32) []cluster.Victim {
	victims = a.State.Victims(victims, n, a.Pod.Spec().Priority)
	return slices.DeleteFunc(victims, func(v cluster.Victim) bool {
		m := a.State.Membership(&v)
		whole := m != nil && m.All
		a.proven = a.proven && !whole
		return whole
	})
}

// add adds an item, once.
func (a *across) add(n uint32, v *cluster.Victim) (int, error) {
	key := Spot{n, v.ID()}
	if i, known := a.index[key]; known {
		return i, a.ended(1)
	}
	budgets, err := a.budgetsOf(n, v)
	if err != nil {
		return 0, err
	}
	a.index[key] = len(a.items)
	a.items = append(a.items, item{Victim: *v, node: n, left: v.Count, budgets: budgets, counts: a.weighted[v.Group]})
	return len(a.items) - 1, nil
}

// budgetsOf returns the budgets that a victim uses: budgets that select its group and do not count the victim as evicted already.
// Victims of a group with equal budgets share one list.
func (a *across) budgetsOf(n uint32, v *cluster.Victim) ([]int32, error) {
	if a.budgets.of == nil {
		return nil, a.ended(1)
	}
	first := a.budgets.of[v.Group] == nil
	selecting, err := a.budgets.selecting(a.ctx, v.Group)
	if err != nil {
		return nil, err
	}
	if first {
		a.kept += len(selecting)
	}
	if err := a.ended(1 + len(selecting)); err != nil {
		return nil, err
	}
	name := a.State.VictimName(n, v)
	disrupted := func(b int32) bool { return a.State.Budgets().At(b).Disrupted(name) }
	if !slices.ContainsFunc(selecting, disrupted) {
		return selecting, nil
	}
	own := slices.DeleteFunc(slices.Clone(selecting), disrupted)
	a.kept += len(own)
	return own, nil
}

// list lists an item with the rules that count it.
func (a *across) list(i int) {
	it := &a.items[i]
	for place, c := range a.rules.Counters() {
		if it.counts[place] == 0 {
			continue
		}
		if domain, in := c.Domain(it.node); in {
			key := listKey{place, domain}
			a.lists[key] = append(a.lists[key], i)
		}
	}
}

// sort puts items into the order of trial. Items that violate no budget by themselves come first, then low priorities, then late
// starts.
func (a *across) sort(items []int) error {
	for _, i := range items {
		var err error
		if a.items[i].charge, err = a.chargeOf(&a.items[i]); err != nil {
			return err
		}
	}
	slices.SortFunc(items, func(x, y int) int {
		p, q := &a.items[x], &a.items[y]
		return cmp.Or(cmp.Compare(p.charge, q.charge), cmp.Compare(p.Priority, q.Priority),
			cmp.Compare(q.Started(), p.Started()), cmp.Compare(x, y))
	})
	return nil
}

// chargeOf returns how many budgets do not allow that one more pod of an item goes.
func (a *across) chargeOf(it *item) (violations int64, err error) {
	for _, b := range it.budgets {
		if a.charged[b] >= int64(max(0, a.State.Budgets().At(b).Allowed)) {
			violations++
		}
	}
	return violations, a.ended(1 + len(it.budgets))
}

// findOnNode finds the pods on the current node.
func (a *across) findOnNode() error {
	a.local = a.local[:0]
	if a.rules.Fit == nil {
		return a.ctx.Err()
	}
	for _, v := range a.victims(nil, a.node) {
		item, err := a.add(a.node, &v)
		if err != nil || a.kept > maxKept {
			return err
		}
		a.local = append(a.local, item)
	}
	return a.sort(a.local)
}
