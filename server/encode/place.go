package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Place encodes the answer to a PlaceRequest, decided on the cluster of an address.
func Place(placements []verdict.Placement, names Names, address string) ([]byte, error) {
	e := encoder{names: names}
	out := &stowagev1.PlaceResponse{SnapshotAddress: address}
	for i := range placements {
		p := &placements[i]
		e.sized(1, func() {
			e.nodes(1, p.Nodes)
			e.rejections(4, p.Rejections)
			e.message(&stowagev1.Placement{
				UnplacedCount: uint32(p.Unplaced),
				Message:       p.Message,
				Explanation:   names.explanation(p.Explanation),
			})
		})
		out.PlacedCount += uint32(len(p.Nodes))
		out.UnplacedCount += uint32(p.Unplaced)
		out.ScannedCount += uint32(p.Scanned)
	}
	e.message(out)
	return e.b, e.err
}
