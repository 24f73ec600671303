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
	stated    map[string][]*api.PodDisruptionBudget // by namespace; nil until needed
	compiled  map[intern.ID][]budget                // by namespace, of those that select pods
	of        [][]int32                             // by group: indexes in compiled of those that select it; nil until known
	used      []*budget                             // on the current node
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
	if len(g.Labels) > 0 {
		for i, candidate := range b.in(s, g.Namespace) {
			if i%1024 == 1023 && s.Ended() {
				break
			}
			if candidate.selects.Matches(g.Labels) {
				found = append(found, int32(i))
			}
		}
	}
	b.of[group] = found
	return found
}

// in returns the budgets of a namespace, without those that select no pods.
func (b *budgets) in(s *cluster.State, namespace intern.ID) []budget {
	if compiled, ok := b.compiled[namespace]; ok {
		return compiled
	}
	var compiled []budget
	for _, stated := range b.stated[s.Symbols.Name(namespace)] {
		selects := selector.CompileSelector(s.Symbols, stated.Selector)
		if selects == nil || selects.Empty() {
			continue
		}
		of := budget{PodDisruptionBudget: stated, selects: selects}
		if len(stated.Disrupted) > 0 {
			of.disrupted = make(map[string]bool, len(stated.Disrupted))
			for _, name := range stated.Disrupted {
				of.disrupted[name] = true
			}
		}
		if compiled = append(compiled, of); s.Ended() {
			break
		}
	}
	b.compiled[namespace] = compiled
	return compiled
}

// index finds the budgets of each namespace.
func (b *budgets) index(s *cluster.State) {
	b.stated, b.compiled = make(map[string][]*api.PodDisruptionBudget), make(map[intern.ID][]budget)
	stated := s.Budgets()
	for i := range stated {
		b.stated[stated[i].Namespace] = append(b.stated[stated[i].Namespace], &stated[i])
	}
}

// split takes the victims that violate budgets out of victims, which are in the order of their importance, and returns them.
// The counts of the others become smaller.
func (b *budgets) split(d *decide.Decision, node uint32, victims []cluster.Victim) (violating []cluster.Victim) {
	if len(d.State.Budgets()) == 0 {
		return nil
	}
	if b.stated == nil {
		b.index(d.State)
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
