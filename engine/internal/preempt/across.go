package preempt

import (
	"context"
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Across finds victims of lower priority, on any nodes, that make one candidate feasible at the smallest cost. It ends after a
// number of steps.
//
// For each candidate, the rules that reject it name the pods that may have to go. Every set of victims that makes the node feasible
// has at least one pod of each such list, so only these sets are searched. A step is the computation of one list.
func Across(ctx context.Context, d *decide.Decision, candidates nodeset.Set, steps int) (*verdict.AcrossNodes, error) {
	return newAcross(ctx, d, candidates, steps).search(candidates)
}

func newAcross(ctx context.Context, d *decide.Decision, candidates nodeset.Set, steps int) *across {
	d.State.OwnResources()
	_, groups := d.State.Added()
	a := &across{
		Decision: d, ctx: ctx, limit: steps, rules: d.Rules(), nominated: d.NominatedOn(candidates), proven: true,
		selection: selection{cost: cost{highest: math.MinInt32}, charged: make(map[int32]int64)},
		index:     make(map[Spot]int), lists: make(map[listKey][]int),
		budgets: newBudgets(d.State, groups), weighted: make(map[int32]rule.Vector),
	}
	a.rules.Count()
	return a
}

func (a *across) search(candidates nodeset.Set) (*verdict.AcrossNodes, error) {
	if err := a.findItems(); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	var key []byte
	for n := range a.Static(candidates).All() {
		if a.steps >= a.limit || a.kept > maxKept {
			a.proven = false
			break
		}
		if key = a.appendKey(key[:0], n); len(key) > 0 {
			if seen[string(key)] {
				continue
			}
			seen[string(key)] = true
		}
		a.node = n
		if err := a.findOnNode(); err != nil {
			return nil, err
		}
		if err := a.descend(); err != nil {
			return nil, err
		}
	}
	out := &verdict.AcrossNodes{Candidate: a.found, Proven: a.proven, Steps: min(a.steps, a.limit)}
	return out, a.ctx.Err()
}

// across is a branch and bound search over sets of victims.
type across struct {
	*decide.Decision
	ctx       context.Context
	rules     *rule.Set
	nominated map[uint32][]cluster.Nominated

	items    []item
	budgets  budgets
	kept     int                   // total length of the items' budget lists, shared lists counted once; beyond maxKept the search ends
	weighted map[int32]rule.Vector // by group, if it counts anywhere
	index    map[Spot]int
	lists    map[listKey][]int // items that a rule counts in a domain, in the order in which they are tried
	local    []int             // items on the current node
	node     uint32

	selection

	best  cost // of found
	found *verdict.Candidate

	steps, limit int
	looked       int // at budgets and items since the last look at the context
	proven       bool
}

// ended returns the context's error once in a while, by the number of budgets and items that are looked at.
func (a *across) ended(looks int) error {
	if a.looked += looks; a.looked < 1024 {
		return nil
	}
	a.looked = 0
	return a.ctx.Err()
}

// step counts a step, and reports whether the search goes on.
func (a *across) step() bool {
	if a.steps++; a.steps > a.limit || a.kept > maxKept {
		a.proven = false
		return false
	}
	return true
}
