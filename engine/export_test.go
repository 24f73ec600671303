package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// PlaceByScanning is Place by the engine's own Filter and Score of every node for each pod.
func (c *Cluster) PlaceByScanning(ctx context.Context, queue []Pending, o PlaceOptions) ([]verdict.Placement, error) {
	o.Scan = true
	p, err := c.Place(ctx, queue, o)
	if err != nil {
		return nil, err
	}
	return p.Placements, nil
}

// WithBoard returns options by which no pod is placed by scanning because that costs less.
func (o PlaceOptions) WithBoard() PlaceOptions {
	o.tuning.Board = true
	return o
}

// Forgetting returns options by which what is known of templates is forgotten at once.
func (o PlaceOptions) Forgetting() PlaceOptions {
	o.tuning.Bytes = 1
	return o
}

// WithFew returns options by which keys with up to so many domains have few.
func (o PlaceOptions) WithFew(most int) PlaceOptions {
	o.tuning.LowCardinality = func(domains, _ int) bool { return domains <= most }
	return o
}

// Preference returns the nodes of a cluster in the order in which equally good ones are chosen.
func Preference(c *api.Cluster, seed uint64) []uint32 {
	names := make([]string, len(c.Nodes))
	for i := range names {
		names[i] = c.Nodes[i].Name
	}
	return place.Preference(names, seed)
}
