package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Budgets are the PodDisruptionBudgets of a cluster that select pods.
type Budgets struct {
	list []Budget
	in   map[intern.ID][]int32 // indexes by namespace, in ascending order
}

// Budget is a compiled PodDisruptionBudget.
type Budget struct {
	selects   *selector.Selector
	disrupted []string // sorted
	Allowed   int32
}

// add compiles a budget, unless its selector is one with which it selects no pods.
func (b *Budgets) add(t *intern.Table, p *api.PodDisruptionBudget) {
	compiled := selector.CompileSelector(t, p.Selector)
	if compiled == nil || compiled.Empty() {
		return
	}
	if b.in == nil {
		b.in = make(map[intern.ID][]int32)
	}
	namespace := t.Intern(p.Namespace)
	b.in[namespace] = append(b.in[namespace], int32(len(b.list)))
	disrupted := slices.Clone(p.Disrupted)
	slices.Sort(disrupted)
	b.list = append(b.list, Budget{compiled, disrupted, p.DisruptionsAllowed})
}

// Len is the number of budgets.
func (b *Budgets) Len() int { return len(b.list) }

// At returns a budget.
func (b *Budgets) At(i int32) *Budget { return &b.list[i] }

// In returns the indexes of the budgets of a namespace in their order.
func (b *Budgets) In(namespace intern.ID) []int32 { return b.in[namespace] }

// Selects reports whether a budget of a group's namespace selects its pods. None selects pods without labels.
func (b *Budget) Selects(g *Group) bool { return len(g.Labels) > 0 && b.selects.Matches(g.Labels) }

// Disrupted reports whether a pod with a name counts as evicted already.
func (b *Budget) Disrupted(name string) bool {
	if name == "" || len(b.disrupted) == 0 {
		return false
	}
	_, found := slices.BinarySearch(b.disrupted, name)
	return found
}

// Budgets returns the PodDisruptionBudgets.
func (c *Cluster) Budgets() *Budgets { return &c.budgets }
