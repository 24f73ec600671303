package scenarios

import (
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (k *checker) scaleDown(want *ScaleDown, a *stowagev1.ScaleDownResponse) {
	var deleted, broken []string
	for _, d := range a.GetDeletions() {
		deleted = append(deleted, d.GetPod().GetName())
	}
	if len(a.GetDeletions()) > 0 {
		for _, r := range a.Deletions[0].GetBrokenRules() {
			broken = append(broken, words.BrokenRule(r))
		}
	}
	domains := map[string]int{}
	for _, s := range a.GetSpread() {
		if s.GetTopologyKey() == k.q.Case.TopologyKey {
			for _, d := range s.GetDomains() {
				domains[d.GetValue()] = int(d.GetAfter())
			}
		}
	}
	if want.Deleted != nil {
		k.same("deleted", want.Deleted, deleted)
	}
	if want.Domains != nil {
		k.same("domains", want.Domains, domains)
	}
	if want.Broken != nil {
		k.same("broken", want.Broken, broken)
	}
	remain := 0
	for _, r := range a.GetRemaining() {
		remain += int(r.GetPod().GetCount())
	}
	k.same("replicas", int(want.Replicas), remain)
}
