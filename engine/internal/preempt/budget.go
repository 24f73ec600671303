package preempt

import (
	"context"
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// budgets are the PodDisruptionBudgets as victims use them up
// (pkg/scheduler/framework/preemption/util.go FilterVictimsWithPDBViolation, v1.37).
type budgets struct {
	state     *cluster.State
	of        [][]int32 // by group: indexes of the budgets that select it; nil until known
	kept      int       // of these indexes
	allowed   []int32   // disruptions left on the current node, if used
	used      []bool    // on the current node
	users     []int32   // indexes of the used budgets
	looked    int       // budgets and victims looked at
	violating []cluster.Victim
}

// unselected is the budgets of a group that none selects.
var unselected = []int32{}

// maxKept bounds the numbers that are kept for all groups together.
const maxKept = 1 << 23

func newBudgets(s *cluster.State, groups int) budgets {
	n := s.Budgets().Len()
	if n == 0 {
		return budgets{state: s}
	}
	return budgets{state: s, of: make([][]int32, groups), allowed: make([]int32, n), used: make([]bool, n)}
}

// ended returns the context's error once in a while.
func (b *budgets) ended(ctx context.Context) error {
	if b.looked++; b.looked%1024 == 0 {
		return ctx.Err()
	}
	return nil
}

// selecting returns the indexes of the budgets that select a group.
func (b *budgets) selecting(ctx context.Context, group int32) ([]int32, error) {
	if known := b.of[group]; known != nil {
		return known, nil
	}
	g, found, all := b.state.Group(int(group)), unselected, b.state.Budgets()
	for _, i := range all.In(g.Namespace) {
		if err := b.ended(ctx); err != nil {
			return nil, err
		}
		if all.At(i).Selects(g) {
			found = append(found, i)
		}
	}
	if b.kept += len(found); b.kept > maxKept {
		clear(b.of)
		b.kept = len(found)
	}
	b.of[group] = found
	return found, nil
}

// split takes the victims that violate budgets out of victims, which are in the order of their importance, and returns them.
// The counts of the others become smaller.
func (b *budgets) split(ctx context.Context, node uint32, victims []cluster.Victim) (violating []cluster.Victim, err error) {
	if b.of == nil {
		return nil, nil
	}
	b.restore()
	violating = b.violating[:0]
	for i := range victims {
		v := &victims[i]
		within, err := b.spend(ctx, node, v)
		if err != nil {
			return nil, err
		}
		if within < v.Count {
			of := *v
			of.Count -= within
			v.Count = within
			violating = append(violating, of)
		}
	}
	b.violating = violating
	return violating, nil
}

// restore makes the budgets allow again what they do.
func (b *budgets) restore() {
	for _, i := range b.users {
		b.used[i] = false
	}
	b.users = b.users[:0]
}

// spend uses up budgets by equal victims, and returns how many of them violate none. A victim stops at the first exhausted budget,
// so only victims allowed by a budget use the next one.
func (b *budgets) spend(ctx context.Context, node uint32, v *cluster.Victim) (within int32, err error) {
	if err := b.ended(ctx); err != nil {
		return 0, err
	}
	selecting, err := b.selecting(ctx, v.Group)
	if err != nil || len(selecting) == 0 {
		return v.Count, err
	}
	name, all := b.state.VictimName(node, v), b.state.Budgets()
	within = v.Count
	for _, i := range selecting {
		if within == 0 {
			return 0, nil
		}
		if err := b.ended(ctx); err != nil {
			return 0, err
		}
		of := all.At(i)
		if of.Disrupted(name) {
			continue
		}
		if !b.used[i] {
			b.used[i], b.allowed[i] = true, of.Allowed
			b.users = append(b.users, i)
		}
		within, b.allowed[i] = use(b.allowed[i], within)
	}
	return within, nil
}

// use lets a number of pods use a budget. It returns how many of them the budget allows, and what is left. kube-scheduler
// decrements an int32, which wraps, and then looks whether it is negative.
func use(allowed, pods int32) (within, left int32) {
	if left = allowed - pods; allowed > 0 {
		return min(allowed, pods), left
	}
	return max(0, int32(int64(pods)-(int64(allowed)-math.MinInt32))), left
}
