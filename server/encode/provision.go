package encode

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Provision encodes the response to a ProvisionRequest. names are the names of the cluster's nodes, nil for none. address is the
// content address of the cluster.
func Provision(_ *stowagev1.ProvisionRequest, p *verdict.Provision, names Names, address string) ([]byte, error) {
	if names != nil {
		names = slices.Concat(names, p.Names)
	}
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+placementBytes*len(p.Place.Placements))}
	e.message(&stowagev1.ProvisionResponse{
		Counts: p.Counts, NodeNames: p.Names, Cost: uint64(p.Cost), LowerBound: uint64(p.Bound), Optimal: p.Optimal,
		Steps: uint64(p.Steps), SnapshotAddress: address,
	})
	e.lengthDelimited(3, func() { e.place(&p.Place, "") })
	for i := range p.Unplaced { // one message after the other: there may be a million
		u := &p.Unplaced[i]
		out := &stowagev1.UnprovisionedPods{QueueIndex: uint32(u.Entry), Impossible: u.Impossible, Truncated: u.Truncated}
		for _, r := range u.Refusals {
			out.Refusals = append(out.Refusals, &stowagev1.TemplateRefusal{TemplateIndex: uint32(r.Template), Message: r.Message})
		}
		e.lengthDelimited(7, func() { e.message(out) })
	}
	return e.b, e.err
}
