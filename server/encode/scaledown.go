package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ScaleDown encodes the response to a ScaleDownRequest. address is the content address of the cluster.
func ScaleDown(_ *stowagev1.ScaleDownRequest, d *verdict.ScaleDown, names Names, address string) ([]byte, error) {
	e := encoder{}
	out := &stowagev1.ScaleDownResponse{
		Deletions:       names.scaledPods(d.Deletions),
		Remaining:       names.scaledPods(d.Remaining),
		SnapshotAddress: address,
		Doubts:          doubts(d.Doubts),
	}
	for i := range d.Spread {
		spread := &stowagev1.ReplicaSpread{TopologyKey: d.Spread[i].TopologyKey}
		for _, r := range d.Spread[i].Domains {
			spread.Domains = append(spread.Domains, &stowagev1.DomainReplicas{
				Value: r.Value, Before: uint32(r.Before), After: uint32(r.After),
			})
		}
		out.Spread = append(out.Spread, spread)
	}
	e.message(out)
	return e.b, e.err
}

func (n Names) scaledPods(pods []verdict.ScaledPod) []*stowagev1.ScaledPod {
	var out []*stowagev1.ScaledPod
	for i := range pods {
		p := &pods[i]
		s := &stowagev1.ScaledPod{
			Pod:          podReference(&p.Pod),
			DeletionCost: p.Cost,
			TotalScore:   p.Score,
		}
		if len(p.Broken) > 0 {
			s.BrokenRules = podRules(p.Broken)
		}
		if n != nil {
			s.NodeName = n[p.Pod.Node]
		}
		out = append(out, s)
	}
	return out
}
