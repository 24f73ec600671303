package preempt

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// selection is the victims now, and what they cost.
type selection struct {
	taken   []taking // in their order, so that the last ones can be released
	cost    cost
	charged map[int32]int64 // disruptions by budget
}

// taking is some pods of an item that are victims now.
type taking struct {
	item, count int32
	mark        cluster.Mark
}

// take makes pods of an item victims.
func (a *across) take(i int, count int32) {
	it := &a.items[i]
	t := taking{item: int32(i), count: count, mark: a.State.Mark()}
	v := it.Victim
	v.Count = count
	o := a.State.VictimOccupant(it.node, &v)
	a.State.Evict(it.node, &o)
	a.rules.AddPod(it.node, it.counts, -int64(count))
	a.spend(it, int64(count))
	a.cost.pods += int64(count)
	it.left -= count
	it.taken += count
	a.taken = append(a.taken, t)
	a.cost.highest = max(a.cost.highest, it.Priority)
}

// release takes back what was taken since the number of takings was mark.
func (a *across) release(mark int) {
	for len(a.taken) > mark {
		t := a.taken[len(a.taken)-1]
		a.taken = a.taken[:len(a.taken)-1]
		it := &a.items[t.item]
		it.left += t.count
		it.taken -= t.count
		a.State.Undo(t.mark)
		a.rules.AddPod(it.node, it.counts, int64(t.count))
		a.spend(it, -int64(t.count))
		a.cost.pods -= int64(t.count)
	}
	a.cost.highest = math.MinInt32
	for _, t := range a.taken {
		a.cost.highest = max(a.cost.highest, a.items[t.item].Priority)
	}
}

// spend lets pods of an item use their budgets, or with a negative number takes that back.
func (a *across) spend(it *item, pods int64) {
	for _, b := range it.budgets {
		allowed := int64(max(0, a.State.Budgets().At(b).Allowed))
		before := a.charged[b]
		a.charged[b] = before + pods
		a.cost.violations += max(0, before+pods-allowed) - max(0, before-allowed)
	}
}
