package gang

import "github.com/stowage-scheduler/stowage/engine/verdict"

// conflict returns rules that no placement satisfies together. It drops as many rules as it can, in halves, while the
// search still proves that no placement exists. minimal reports that no remaining rule can be dropped.
func (j *Joining) conflict() (rules []verdict.PodRule, minimal bool) {
	all := j.Rules.Rules
	given := make([]bool, len(all))
	minimal = true
	var giveUp func(from, to int)
	giveUp = func(from, to int) {
		if j.Budget.Context.Err() != nil {
			minimal = false
			return
		}
		for i := from; i < to; i++ {
			given[i] = true
		}
		// One hard search must not use up the budget of the others.
		part := *j.Budget
		part.Limit = part.Steps + (part.Limit-part.Steps)/16
		spots, known := j.Rules.Search(j.Order, given, &part)
		j.Budget.Steps = part.Steps
		if spots == nil && known {
			return
		}
		for i := from; i < to; i++ {
			given[i] = false
		}
		if to-from > 1 {
			middle := (from + to) / 2
			giveUp(from, middle)
			giveUp(middle, to)
		} else {
			minimal = minimal && known
		}
	}
	giveUp(0, len(all))
	for i, r := range all {
		if !given[i] {
			rules = append(rules, r)
		}
	}
	return rules, minimal
}
