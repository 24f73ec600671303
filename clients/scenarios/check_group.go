package scenarios

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (k *checker) groups(a *stowagev1.PlaceResponse) {
	for _, name := range slices.Sorted(maps.Keys(k.q.Step.Groups)) {
		want := k.q.Step.Groups[name]
		i := slices.IndexFunc(a.GetPodGroups(), func(g *stowagev1.PodGroupPlacement) bool { return g.Name == name })
		if i < 0 {
			k.differences = append(k.differences, "group "+name+": is not in the answer")
			continue
		}
		got, at := a.PodGroups[i], "group "+name+": "
		if want.Status != nil {
			k.same(at+"status", *want.Status, words.GroupStatus(got.Status))
		}
		if want.Placed != nil {
			k.same(at+"placed", *want.Placed, int(got.PlacedCount))
		}
		if want.Unplaced != nil {
			k.same(at+"unplaced", *want.Unplaced, int(got.UnplacedCount))
		}
		if want.Domains != nil {
			var domains []string
			for _, d := range got.Domains {
				domains = append(domains, d.TopologyKey+"="+d.Value)
			}
			k.same(at+"domains", want.Domains, domains)
		}
		if want.First != nil {
			first := ""
			if got.FirstUnplacedQueueIndex != nil {
				first = k.q.Snapshot.Queue[got.GetFirstUnplacedQueueIndex()].Origin.Name
			}
			k.same(at+"first", *want.First, first)
		}
		if want.Message != nil {
			k.same(at+"message", *want.Message, got.Message)
		}
		if want.Conflict != nil {
			var conflict []string
			for _, r := range got.Conflict {
				conflict = append(conflict, k.rule(r))
			}
			k.same(at+"conflict", *want.Conflict, conflict)
		}
	}
}

// rule names a rule by its workload, its kind, and its topology key or resource.
func (k *checker) rule(r *stowagev1.PodRule) string {
	out := k.q.Snapshot.Queue[r.GetQueueIndex()].Origin.Name + ": "
	if r.Rule == stowagev1.TopologyRule_TOPOLOGY_RULE_UNSPECIFIED {
		out += words.Plugin(r.Plugin)
	} else {
		out += words.Rule(r.Rule)
	}
	if r.TopologyKey != "" {
		out += " by " + r.TopologyKey
	}
	if r.Resource != "" {
		out += " of " + r.Resource
	}
	return out
}
