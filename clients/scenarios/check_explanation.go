package scenarios

import (
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (k *checker) explanation(what string, want *Explanation, got *stowagev1.Explanation) {
	if want == nil {
		return
	}
	if got == nil {
		k.differences = append(k.differences, what+": is missing")
		return
	}
	if want.Failing != nil {
		k.same(what+": failing", want.Failing, byReason(got.FailingChecks))
	}
	if want.Taints != nil {
		taints := map[string][]string{}
		for _, t := range got.UntoleratedTaints {
			taints[words.Taint(t.Taint)] = t.GetNodes().GetNames()
		}
		k.same(what+": taints", want.Taints, taints)
	}
	if want.Undeclared != nil {
		undeclared := map[string][]string{}
		for _, u := range got.UndeclaredFeatures {
			undeclared[u.GetFeature()] = u.GetNodes().GetNames()
		}
		k.same(what+": undeclared", want.Undeclared, undeclared)
	}
	used := map[int]bool{}
	for i := range want.Counts {
		w := &want.Counts[i]
		key := w.TopologyKey
		if key == "" {
			key = k.q.Case.TopologyKey
		}
		at := what + ": " + w.Rule + " by " + key
		// The order distinguishes several rules of one kind and key.
		n := slices.IndexFunc(got.TopologyCounts, func(c *stowagev1.TopologyCounts) bool {
			return words.Rule(c.Rule) == w.Rule && c.TopologyKey == key && !used[slices.Index(got.TopologyCounts, c)]
		})
		if n < 0 {
			k.differences = append(k.differences, at+": is missing")
			continue
		}
		used[n] = true
		k.counts(at, w, got.TopologyCounts[n])
	}
}

func (k *checker) counts(at string, want *Counts, got *stowagev1.TopologyCounts) {
	domains, skews := map[string]int64{}, map[string]int64{}
	nodes, conflicts, uncounted := map[string][]string{}, map[string][]string{}, map[string][]string{}
	var feasible []string
	for _, d := range got.Domains {
		domains[d.Value], skews[d.Value] = d.MatchingPods, d.Skew
		nodes[d.Value] = d.GetNodes().GetNames()
		if d.Feasible {
			feasible = append(feasible, d.Value)
		}
		for _, p := range d.ConflictingPods {
			conflicts[d.Value] = append(conflicts[d.Value], k.podName(p))
		}
		slices.Sort(conflicts[d.Value])
	}
	for _, u := range got.UncountedNodes {
		uncounted[words.Uncounted(u.Reason)] = u.GetNodes().GetNames()
	}
	if want.Domains != nil {
		k.same(at+": domains", want.Domains, domains)
	}
	if want.Skews != nil {
		k.same(at+": skews", want.Skews, skews)
	}
	if want.Minimum != nil {
		k.same(at+": minimum", *want.Minimum, got.Minimum)
	}
	if want.Feasible != nil {
		k.same(at+": feasible", *want.Feasible, feasible)
	}
	if want.Nodes != nil {
		k.same(at+": nodes", want.Nodes, nodes)
	}
	if want.Uncounted != nil {
		k.same(at+": uncounted", want.Uncounted, uncounted)
	}
	if want.Conflicts != nil {
		for value := range conflicts {
			if len(conflicts[value]) == 0 {
				delete(conflicts, value)
			}
		}
		k.same(at+": conflicts", want.Conflicts, conflicts)
	}
}

// podName returns the name of a pod, or of its workload if the same request placed it.
func (k *checker) podName(p *stowagev1.PodReference) string {
	if o, ok := p.Origin.(*stowagev1.PodReference_QueueIndex); ok {
		return k.q.Snapshot.Queue[o.QueueIndex].Origin.Name
	}
	return p.Name
}
