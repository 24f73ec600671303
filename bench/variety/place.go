package variety

import (
	"context"
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Compiled is a workload whose cluster the engine has.
type Compiled struct {
	of      *Workload
	cluster *decode.Snapshot
}

// Compile compiles the cluster.
func (w *Workload) Compile(ctx context.Context) (*Compiled, error) {
	in := decode.NewRequest(ctx)
	in.Message(bigcluster.Compact(w.Cluster))
	if err := in.Err(); err != nil {
		return nil, err
	}
	return &Compiled{w, in.Cluster()}, nil
}

// Placer returns a function that places the first pods of the queue and returns their nodes. It fails unless as many pods have a
// node as the workload says. With scan each node is evaluated for each pod. Without groups, any number of pods may be placed.
func (c *Compiled) Placer(ctx context.Context, pods int, scan bool) (func() ([]uint32, error), error) {
	request := &stowagev1.PlaceRequest{Queue: c.of.Queue[:pods], IncludeChanges: c.of.Changes}
	if n := len(c.of.Groups); n > 0 {
		request.PodGroups = c.of.Groups[:n*pods/len(c.of.Queue)]
	}
	in := decode.On(ctx, c.cluster)
	call := in.Place(request)
	if err := in.Err(); err != nil {
		return nil, err
	}
	call.Options.Scan = scan
	return func() ([]uint32, error) { return c.place(ctx, call.Queue, call.Options) }, nil
}

func (c *Compiled) place(ctx context.Context, queue []engine.Pending, o engine.PlaceOptions) (nodes []uint32, err error) {
	got, err := c.cluster.Place(ctx, queue, o)
	if err != nil {
		return nil, err
	}
	for i := range got.Placements {
		p := &got.Placements[i]
		if (p.Unplaced > 0) != c.of.Full {
			return nil, fmt.Errorf("entry %d, on a full cluster %v: %d pods without a node: %s", i, c.of.Full, p.Unplaced, p.Message)
		}
		if c.of.Changes && len(p.Changes) == 0 {
			return nil, fmt.Errorf("entry %d has no changes", i)
		}
		nodes = append(nodes, p.Nodes...)
	}
	return nodes, nil
}
