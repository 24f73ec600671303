package stowage

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Parts merges the parts of a PlaceStream response into the response of Place.
type Parts struct {
	request *stowagev1.PlaceRequest
	answer  *stowagev1.PlaceResponse
	groups  map[string]*stowagev1.PodGroupPlacement
	total   uint32
}

// NewParts returns an empty response to a request.
func NewParts(request *stowagev1.PlaceRequest) *Parts {
	p := &Parts{request: request, answer: &stowagev1.PlaceResponse{}, groups: map[string]*stowagev1.PodGroupPlacement{}}
	for _, g := range request.GetPodGroups() {
		p.group(g.GetName())
	}
	for _, q := range request.GetQueue() {
		p.answer.Placements = append(p.answer.Placements, &stowagev1.Placement{Nodes: &stowagev1.NodeList{}})
		p.total += q.PodCount()
		if name := q.GetPodGroup(); name != "" {
			p.group(name)
		}
	}
	return p
}

// group returns the placement of a group, and adds it to the response if it is missing.
func (p *Parts) group(name string) *stowagev1.PodGroupPlacement {
	placed := p.groups[name]
	if placed == nil {
		placed = &stowagev1.PodGroupPlacement{Name: name}
		p.groups[name] = placed
		p.answer.PodGroups = append(p.answer.PodGroups, placed)
	}
	return placed
}

// Add merges the next part. It fails, and merges nothing, if the part has an entry that the request lacks. Groups that the request
// does not name are groups of the cluster that its pods name.
func (p *Parts) Add(part *stowagev1.PlaceStreamResponse) error {
	for _, q := range part.GetPlacements() {
		if int(q.GetQueueIndex()) >= len(p.answer.Placements) {
			return fmt.Errorf("the response has entry %d of a queue of %d", q.GetQueueIndex(), len(p.answer.Placements))
		}
	}
	for _, q := range part.GetPlacements() {
		proto.Merge(p.answer.Placements[q.GetQueueIndex()], q.GetPlacement())
	}
	for _, g := range part.GetPodGroups() {
		proto.Merge(p.group(g.GetName()), g)
	}
	p.answer.PlacedCount, p.answer.UnplacedCount = part.GetPlacedCount(), part.GetUnplacedCount()
	p.answer.SnapshotAddress, p.answer.Partial = part.GetSnapshotAddress(), part.GetPartial()
	p.answer.ClaimBindings, p.answer.ClaimDevices = part.GetClaimBindings(), part.GetClaimDevices()
	p.answer.Evictions, p.answer.EvictedCount = append(p.answer.Evictions, part.GetEvictions()...), part.GetEvictedCount()
	return nil
}

// TotalCount returns the number of pods of the queue.
func (p *Parts) TotalCount() uint32 { return p.total }

// Answer returns the response so far, which is complete when the stream has ended. Add changes it.
func (p *Parts) Answer() *stowagev1.PlaceResponse { return p.answer }

// Cut turns the response so far into Place's response at a deadline, with all other pods unattempted. Use it for a stream that ended
// early. No Add may follow. With KUBE_SCHEDULER all evictions precede the placements, so the response may have evictions of entries
// without a placement.
func (p *Parts) Cut() {
	p.answer.Partial = true
	pods := map[string]*stowagev1.PodGroupPlacement{}
	for _, g := range p.answer.PodGroups {
		if g.Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNSPECIFIED {
			g.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNATTEMPTED
			pods[g.Name] = g
		}
	}
	p.answer.UnplacedCount, p.answer.EvictedCount = p.total-p.answer.PlacedCount, 0
	for i, q := range p.request.GetQueue() {
		placement := p.answer.Placements[i]
		left := q.PodCount() - uint32(len(placement.GetNodes().GetIndexes())) - placement.UnplacedCount - placement.EvictedCount
		placement.UnplacedCount += left
		p.answer.UnplacedCount -= placement.EvictedCount
		p.answer.EvictedCount += placement.EvictedCount
		placement.UnattemptedCount += left
		if g := pods[q.GetPodGroup()]; g != nil {
			g.UnplacedCount += left
		}
	}
}
