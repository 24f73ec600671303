package preempt

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// budgets are the PodDisruptionBudgets as victims use them up
// (pkg/scheduler/framework/preemption/util.go FilterVictimsWithPDBViolation, v1.37).
type budgets struct {
	compiled  map[intern.ID][]budget // by namespace; nil until needed
	of        [][]int32              // by group: indexes of the budgets that select it in those of its namespace; nil until known
	used      []*budget              // on the current node
	matching  []*budget
	violating []cluster.Victim
}

type budget struct {
	*api.PodDisruptionBudget
	selects   *selector.Selector
	allowed   int64
	disrupted map[string]bool
	used      bool
}

// unselected is the budgets of a group that none selects.
var unselected = []int32{}

// selecting returns the indexes of the budgets that select a group. An empty selector selects none, and none selects pods
// without labels.
func (b *budgets) selecting(s *cluster.State, group int32) []int32 {
	if known := b.of[group]; known != nil {
		return known
	}
	g := s.Group(int(group))
	found := unselected
	for i, candidate := range b.compiled[g.Namespace] {
		if len(g.Labels) > 0 && candidate.selects.Matches(g.Labels) {
			found = append(found, int32(i))
		}
	}
	b.of[group] = found
	return found
}

func (b *budgets) compile(s *cluster.State) {
	b.compiled = make(map[intern.ID][]budget)
	stated := s.Budgets()
	for i := range stated {
		selects := selector.CompileSelector(s.Symbols, stated[i].Selector)
		if selects == nil || selects.Empty() {
			continue
		}
		compiled := budget{PodDisruptionBudget: &stated[i], selects: selects}
		if names := stated[i].Disrupted; len(names) > 0 {
			compiled.disrupted = make(map[string]bool, len(names))
			for _, name := range names {
				compiled.disrupted[name] = true
			}
		}
		namespace := s.Symbols.Intern(stated[i].Namespace)
		b.compiled[namespace] = append(b.compiled[namespace], compiled)
	}
}

// split takes the victims that violate budgets out of victims, which are in the order of their importance, and returns them.
// The counts of the others become smaller.
func (b *budgets) split(d *decide.Decision, node uint32, victims []cluster.Victim) (violating []cluster.Victim) {
	if len(d.State.Budgets()) == 0 {
		return nil
	}
	if b.compiled == nil {
		b.compile(d.State)
	}
	for _, used := range b.used {
		used.used = false
	}
	b.used, violating = b.used[:0], b.violating[:0]
	for i := range victims {
		v := &victims[i]
		selecting := b.selecting(d.State, v.Group)
		if len(selecting) == 0 {
			continue
		}
		name := d.State.VictimName(node, v)
		all := b.compiled[d.State.Group(int(v.Group)).Namespace]
		b.matching = b.matching[:0]
		for _, at := range selecting {
			matching := &all[at]
			if name != "" && matching.disrupted[name] {
				continue
			}
			if !matching.used {
				matching.used, matching.allowed = true, int64(matching.DisruptionsAllowed)
				b.used = append(b.used, matching)
			}
			b.matching = append(b.matching, matching)
		}
		if within := spend(b.matching, int64(v.Count)); within < int64(v.Count) {
			of := *v
			of.Count -= int32(within)
			v.Count = int32(within)
			violating = append(violating, of)
		}
	}
	b.violating = violating
	return violating
}

// spend uses up budgets by a number of equal victims, and returns how many of them violate none. A victim stops at the first
// budget that is exhausted, and does not use those after it.
func spend(of []*budget, count int64) (within int64) {
	for count > 0 {
		last := slices.IndexFunc(of, func(b *budget) bool { return b.allowed <= 0 })
		step, uses := count, of
		if last >= 0 {
			uses = of[:last+1]
		}
		for i, b := range uses {
			if i != last {
				step = min(step, b.allowed)
			}
		}
		for _, b := range uses {
			b.allowed -= step
		}
		if count -= step; last < 0 {
			within += step
		}
	}
	return within
}
