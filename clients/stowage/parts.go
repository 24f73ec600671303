package stowage

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Parts puts the parts of an answer to PlaceStream together, to what Place answers.
type Parts struct {
	request *stowagev1.PlaceRequest
	answer  *stowagev1.PlaceResponse
	groups  map[string]*stowagev1.PodGroupPlacement
	total   uint32
}

// NewParts is for the answer to a request, of which nothing is there yet.
func NewParts(request *stowagev1.PlaceRequest) *Parts {
	p := &Parts{request: request, answer: &stowagev1.PlaceResponse{}, groups: map[string]*stowagev1.PodGroupPlacement{}}
	for _, q := range request.GetQueue() {
		p.answer.Placements = append(p.answer.Placements, &stowagev1.Placement{Nodes: &stowagev1.NodeList{}})
		p.total += q.PodCount()
	}
	for _, g := range request.GetPodGroups() {
		placed := &stowagev1.PodGroupPlacement{Name: g.GetName()}
		p.groups[g.GetName()] = placed
		p.answer.PodGroups = append(p.answer.PodGroups, placed)
	}
	return p
}

// Add takes the next part in. Of a part about an entry or a group that the request does not have, nothing is.
func (p *Parts) Add(part *stowagev1.PlaceStreamResponse) error {
	for _, q := range part.GetPlacements() {
		if int(q.GetQueueIndex()) >= len(p.answer.Placements) {
			return fmt.Errorf("the server answers about entry %d of a queue of %d", q.GetQueueIndex(), len(p.answer.Placements))
		}
	}
	for _, g := range part.GetPodGroups() {
		if p.groups[g.GetName()] == nil {
			return fmt.Errorf("the server answers about a pod group %q", g.GetName())
		}
	}
	for _, q := range part.GetPlacements() {
		proto.Merge(p.answer.Placements[q.GetQueueIndex()], q.GetPlacement())
	}
	for _, g := range part.GetPodGroups() {
		proto.Merge(p.groups[g.GetName()], g)
	}
	p.answer.PlacedCount, p.answer.UnplacedCount = part.GetPlacedCount(), part.GetUnplacedCount()
	p.answer.SnapshotAddress, p.answer.ScannedCount = part.GetSnapshotAddress(), part.GetScannedCount()
	p.answer.Partial = part.GetPartial()
	return nil
}

// TotalCount is how many pods there are to place.
func (p *Parts) TotalCount() uint32 { return p.total }

// Answer is what is there so far: once the stream has ended, the answer. It changes with the next part.
func (p *Parts) Answer() *stowagev1.PlaceResponse { return p.answer }

// Cut makes what is there the answer that Place gives when a deadline comes in between: all else is unattempted. It is for
// streams that ended early, after which no part follows.
func (p *Parts) Cut() {
	p.answer.Partial = true
	pods := map[string]*stowagev1.PodGroupPlacement{}
	for _, g := range p.answer.PodGroups {
		if g.Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNSPECIFIED {
			g.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNATTEMPTED
			pods[g.Name] = g
		}
	}
	p.answer.UnplacedCount = p.total - p.answer.PlacedCount
	for i, q := range p.request.GetQueue() {
		placement := p.answer.Placements[i]
		left := q.PodCount() - uint32(len(placement.GetNodes().GetIndexes())) - placement.UnplacedCount
		placement.UnplacedCount += left
		placement.UnattemptedCount += left
		if g := pods[q.GetPodGroup()]; g != nil {
			g.UnplacedCount += left
		}
	}
}
