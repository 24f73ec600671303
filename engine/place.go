package engine

import (
	"context"
	"errors"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/change"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/scaledown"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Pending is a queue entry: a number of equal pods in a row.
type Pending = place.Pending

// Group is queue entries that are placed together.
type Group = gang.Group

// Watcher is told where the pods of a queue go while they are placed.
type Watcher = place.Watcher

// PlaceOptions are the arguments of Place besides the queue.
type PlaceOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Seed picks among the best nodes: 0 the one with the lowest index, otherwise the first in ascending order of
	// splitmix64(Seed xor FNV-1a-64(name)), then of index.
	Seed    uint64
	Explain bool
	// Changes asks for Placement.Changes.
	Changes bool
	// Groups are entries that are placed together; an entry is in one at most.
	Groups []Group
	// Partial asks for what was placed so far when the context's deadline comes.
	Partial bool
	// Watch, if there is one, is told what is decided as it is.
	Watch Watcher
	// Scan evaluates every node for every pod and disables equivalence classes. It gives the same nodes, and is there to
	// compare with.
	Scan bool

	tuning place.Tuning
}

// Place decides where the pods of the queue go, one by one, each placed pod counting for the next, and those of a group
// together.
func (c *Cluster) Place(ctx context.Context, queue []Pending, o PlaceOptions) (*verdict.Place, error) {
	f := c.framework(o.Profile)
	q, err := place.New(ctx, f, cluster.NewState(ctx, c.compiled), c.candidates(o.Candidates), queue, place.Options{
		Seed: o.Seed, Explain: o.Explain, Changes: o.Changes, Watch: o.Watch, Scan: o.Scan, Tuning: o.tuning,
	})
	q.Explainer = change.Find
	groups := make([]verdict.Group, len(o.Groups))
	if err == nil {
		err = gang.Place(ctx, q, o.Profile, o.Groups, groups)
	}
	result := &verdict.Place{Placements: q.Placements, Groups: groups}
	if errors.Is(err, context.DeadlineExceeded) && o.Partial {
		result.Partial = true
		gang.CutOff(q, o.Groups, groups)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// ScaleDownOptions are the arguments of ScaleDown besides the pod.
type ScaleDownOptions struct {
	Profile *api.Profile
	// Selector selects the replicas among the pods of the pod's namespace; nil for the pod's labels.
	Selector *api.LabelSelector
	// Replicas is how many remain.
	Replicas int
}

// MaxDeletions bounds how many replicas a call of ScaleDown deletes.
const MaxDeletions = scaledown.MaxDeletions

// ScaleDown tells which replicas of a workload to delete. The pod is one of them. Replicas are chosen one after the other,
// all that remain being where they are: the one that leaves the fewest replicas where they would be rejected; of these the
// one that most plugins reject, then the one with the lowest scores by the pod's own rules, then one in the domain with
// the most replicas, on the node with the most, with the lowest score. If that would be more than MaxDeletions, none is
// deleted.
func (c *Cluster) ScaleDown(ctx context.Context, pod *api.Pod, o ScaleDownOptions) (*verdict.ScaleDown, error) {
	return scaledown.Run(ctx, c.framework(o.Profile), cluster.NewState(ctx, c.compiled), pod, scaledown.Options{
		Selector: o.Selector, Replicas: o.Replicas,
	})
}
