package queue

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// unplaced returns the index of the run of an entry in the last attempt whose first pod found no node, or else of its first run with
// unplaced pods; -1 for none. No attempt follows.
func (g *group) unplaced(entry int) int {
	if g.first == nil {
		g.first = make(map[int]int)
		for i, e := range g.runs {
			first, known := g.first[e]
			unplaced := len(g.last.Placements[i].Nodes) == 0 || g.last.Placements[i].Unplaced > 0
			if unplaced && (!known || g.last.Rejected[i] && !g.last.Rejected[first]) {
				g.first[e] = i
			}
		}
	}
	if i, known := g.first[entry]; known {
		return i
	}
	return -1
}

// rejected reports whether a pod of an entry found no node in the last attempt.
func (g *group) rejected(entry int) bool {
	i := g.unplaced(entry)
	return i >= 0 && g.last.Rejected[i]
}

// member returns the first pods of an entry in a group that have no node, nil for none. No attempt follows.
func (g *group) member(entry int) *pods {
	if g.left == nil {
		g.left = make(map[int]*pods)
		for _, m := range g.members {
			if g.left[m.entry] == nil {
				g.left[m.entry] = m
			}
		}
	}
	return g.left[entry]
}

// waiting is what messages about pods begin with whose group is not attempted because of a pod with gates.
const waiting = "the pod group is not attempted: "

// explainMember reports why pods of an entry in a group have no node.
func (q *queue) explainMember(g *group, entry int, result *verdict.Placement, all *listed) {
	switch {
	case g.gated != nil:
		result.Unattempted = 0
		if gated := q.gate(q.Classes[entry]); gated != nil {
			q.explainGated(gated, result, all)
		} else {
			result.Message = waiting + g.gated.Reason.Message
		}
	case g.short:
		result.Unattempted, result.Message = 0, gang.TooFewMembers
	case g.last != nil:
		i := g.unplaced(entry)
		if i < 0 {
			return
		}
		result.Unattempted = 0
		run := &g.last.Placements[i]
		result.Message, result.Failed = run.Message, run.Failed
		if all.nodes += q.Candidates.Len(); all.nodes <= verdict.MaxListedNodes {
			result.Rejections = run.Rejections
		}
	}
}

// results fills the results of the groups from the placements.
func (q *queue) results(all *listed) {
	for i := range q.Options.Groups {
		spec, result := &q.Options.Groups[i], &q.Options.Results[i]
		var g *group
		if q.groups != nil {
			g = q.groups[i]
		}
		switch {
		case g != nil && g.last != nil:
			*result = g.last.PodGroupPlacement
			q.resultOf(g, result, all)
		case len(spec.Entries) == 0:
			*result = verdict.PodGroupPlacement{First: -1}
		case g != nil && g.gated != nil:
			*result = verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Message: waiting + g.gated.Reason.Message, First: g.gatedEntry,
			}
		case g != nil && g.short:
			*result = verdict.PodGroupPlacement{Status: verdict.GroupInfeasible, Message: gang.TooFewMembers, First: spec.Entries[0]}
		default:
			*result = verdict.PodGroupPlacement{Status: verdict.GroupUnattempted, First: -1}
		}
		result.Name, result.Placed, result.Unplaced = spec.Name, 0, 0
		for _, e := range spec.Entries {
			result.Placed += len(q.Placements[e].Nodes)
			result.Unplaced += q.Placements[e].Unplaced
		}
		if result.Status == 0 || result.Status == verdict.GroupUnattempted && result.Unplaced == 0 {
			q.standing(i, result)
		}
	}
}

// standing sets the status of a group that an attempt has placed, or that has no pods to place, from its pods that have a node.
func (q *queue) standing(group int, result *verdict.PodGroupPlacement) {
	spec := &q.Options.Groups[group]
	all := q.cycle.There(group)
	evicted := all - cluster.CountMembers(q.cycle.Scheduled(group))
	for _, e := range spec.Entries {
		all, evicted = all+q.Pending[e].Count, evicted+q.entries[e].evicted
	}
	minimum := q.cycle.Minimum(group)
	switch left := all - evicted - result.Unplaced; {
	case left == all:
		result.Status = verdict.GroupComplete
	case left >= minimum:
		result.Status = verdict.GroupBestEffort
	default:
		result.Status = verdict.GroupEvicted
		result.Message = fmt.Sprintf("pods with a node: %d of the %d required; evicted: %d", left, minimum, evicted)
	}
	if result.Unplaced == 0 {
		result.First = -1
	}
}

// resultOf completes the result of the last attempt of a group.
func (q *queue) resultOf(g *group, result *verdict.PodGroupPlacement, all *listed) {
	result.Domains = g.domains
	if result.First >= 0 {
		result.First = g.runs[result.First]
	}
	if p := result.Preemption; p != nil {
		preemption := *p
		preemption.Nominations = g.nominations(&gang.Attempt{Nominations: p.Nominations})
		lists := preemption.Listed()
		if all.found += lists; lists == 0 || all.found <= verdict.MaxListedNodes {
			result.Preemption = &preemption
		} else {
			result.Preemption = nil
		}
	}
	if g.placements == 0 {
		return
	}
	result.Status, result.Message, result.Failed, result.Preemption = 0, "", false, nil
}
