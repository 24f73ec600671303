package cluster

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Budgets are the PodDisruptionBudgets of a cluster that select pods.
type Budgets struct {
	list []Budget
	in   map[intern.ID][]int32 // by namespace: ascending indexes of budgets that preemption respects
	all  map[intern.ID][]int32 // of all
}

// Budget is a compiled PodDisruptionBudget.
type Budget struct {
	Name      string
	selects   *selector.Selector
	disrupted []string // sorted
	Allowed   int32
	// AlwaysAllow is whether pods that are not ready are evicted without using the budget up.
	AlwaysAllow bool
	// Desired is the number of pods that are to be healthy, and Missing how many fewer are.
	Desired, Missing int32
	outdated         bool
}

// add compiles a budget, unless its selector is one with which it selects no pods.
func (b *Budgets) add(t *intern.Table, p *api.PodDisruptionBudget) {
	compiled := selector.CompileSelector(t, p.Selector)
	if compiled == nil {
		return
	}
	if b.all == nil {
		b.in, b.all = make(map[intern.ID][]int32), make(map[intern.ID][]int32)
	}
	namespace := t.Intern(p.Namespace)
	if !compiled.Empty() {
		b.in[namespace] = append(b.in[namespace], int32(len(b.list)))
	}
	b.all[namespace] = append(b.all[namespace], int32(len(b.list)))
	disrupted := slices.Clone(p.Disrupted)
	slices.Sort(disrupted)
	b.list = append(b.list, Budget{
		Name: p.Name, selects: compiled, disrupted: disrupted, Allowed: p.DisruptionsAllowed, AlwaysAllow: p.AlwaysAllow,
		Desired: p.DesiredHealthy, Missing: missing(p), outdated: p.Outdated,
	})
}

// missing returns how many pods fewer are healthy than are to be. The difference of two numbers may be one that is too large.
func missing(p *api.PodDisruptionBudget) int32 {
	return int32(min(max(0, int64(p.DesiredHealthy)-int64(p.CurrentHealthy)), math.MaxInt32))
}

// Len is the number of budgets.
func (b *Budgets) Len() int { return len(b.list) }

// At returns a budget.
func (b *Budgets) At(i int32) *Budget { return &b.list[i] }

// In returns the indexes of the budgets of a namespace that preemption respects, in their order. One with an empty selector is
// none of them.
func (b *Budgets) In(namespace intern.ID) []int32 { return b.in[namespace] }

// maxDisrupted is the number of disrupted pods beyond which the API server evicts no pod of a budget
// (pkg/registry/core/pod/storage/eviction.go MaxDisruptedPodSize, v1.37).
const maxDisrupted = 2000

// Evictions returns how many evictions the API server allows a budget (eviction.go checkAndDecrement, v1.37).
func (b *Budget) Evictions() int32 {
	if b.Stuck() {
		return 0
	}
	return max(0, b.Allowed)
}

// Stuck reports whether the API server evicts no pod that uses the budget up, whatever becomes ready.
func (b *Budget) Stuck() bool { return b.outdated || len(b.disrupted) > maxDisrupted }

// Outdated reports whether the budget is stuck because its status is older than its spec.
func (b *Budget) Outdated() bool { return b.outdated }

// Evicting returns the indexes of the budgets that the API server looks at when it evicts pods of a group. An empty selector
// selects all pods, and pods without labels may be selected (eviction.go getPodDisruptionBudgets, v1.37).
func (b *Budgets) Evicting(g *Group) (selecting []int32) {
	for _, i := range b.all[g.Namespace] {
		if b.list[i].selects.Matches(g.Labels) {
			selecting = append(selecting, i)
		}
	}
	return selecting
}

// Selects reports whether a budget of a group's namespace selects its pods for preemption. None selects pods without labels.
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
