package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/internal/tiebreak"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// PlaceByScanning is Place with Scan.
func (c *Cluster) PlaceByScanning(ctx context.Context, queue []Pending, o PlaceOptions) ([]verdict.Placement, error) {
	o.Scan = true
	p, err := c.Place(ctx, queue, o)
	if err != nil {
		return nil, err
	}
	return p.Placements, nil
}

// WithBoard returns options that use the board even where scanning costs less.
func (o PlaceOptions) WithBoard() PlaceOptions {
	o.tuning.Board = true
	return o
}

// ForgettingClasses returns options with room for one class on the board.
func (o PlaceOptions) ForgettingClasses() PlaceOptions {
	o.tuning.Bytes = 1
	return o
}

// Forgetting returns options that search for the victims of each pod of a queue, and rank the domains of each group, as if it were the first.
func (o PlaceOptions) Forgetting() PlaceOptions {
	o.tuning.Forget = true
	return o
}

// WithLowCardinality returns options that bound the domains of keys of low cardinality.
func (o PlaceOptions) WithLowCardinality(most int) PlaceOptions {
	o.tuning.LowCardinality = func(domains, _ int) bool { return domains <= most }
	return o
}

// Preference returns the nodes of a cluster in tie-break order.
func Preference(c *api.Cluster, seed uint64) []uint32 {
	names := make([]string, len(c.Nodes))
	for i := range names {
		names[i] = c.Nodes[i].Name
	}
	return tiebreak.New(names, seed, false).Nodes()
}

// Cordoned returns the cluster in which nodes are cordoned.
func Cordoned(c *Cluster, nodes []uint32) *Cluster {
	cordoned, err := c.compiled.Cordoned(context.Background(), nodes)
	if err != nil {
		panic(err)
	}
	return newCluster(cordoned)
}

// WithWorkers returns options with a number of goroutines.
func (o DrainOptions) WithWorkers(workers int) DrainOptions {
	o.workers = workers
	return o
}

// CutDrain cuts the lists of the first drain of a call.
func CutDrain(d *verdict.Drain) {
	lists := drain.NewLists()
	lists.Cut(d)
}

// WithWorkers returns options with a number of goroutines.
func (o ProvisionOptions) WithWorkers(workers int) ProvisionOptions {
	o.workers = workers
	return o
}

// WithWorkers returns options with a number of goroutines.
func (o ConsolidateOptions) WithWorkers(workers int) ConsolidateOptions {
	o.workers = workers
	return o
}
