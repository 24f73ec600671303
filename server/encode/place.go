package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Place encodes the answer to a PlaceRequest.
func Place(placements []verdict.Placement, names Names) *stowagev1.PlaceResponse {
	out := &stowagev1.PlaceResponse{Placements: make([]*stowagev1.Placement, len(placements))}
	for i := range placements {
		p := &placements[i]
		out.Placements[i] = &stowagev1.Placement{
			Nodes:         names.list(p.Nodes),
			UnplacedCount: uint32(p.Unplaced),
			Message:       p.Message,
			Rejections:    names.rejections(p.Rejections),
			Explanation:   names.explanation(p.Explanation),
		}
		out.PlacedCount += uint32(len(p.Nodes))
		out.UnplacedCount += uint32(p.Unplaced)
	}
	return out
}
