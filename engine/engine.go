// Package engine decides where pods go, as kube-scheduler v1.37 does with every node considered.
//
// Compile turns a stated cluster into an immutable one. Filter, Score and Place read it; what a call changes is its
// own, so any number of calls may share a cluster without locks. The same arguments give the same result, whatever the
// parallelism.
//
// The engine is pure: values in, values out, no clock, randomness, logging or IO. A call returns the context's error if
// the context ends before the answer is there, and no other error.
package engine

import (
	"context"
	"errors"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Cluster is a compiled cluster. It is immutable and safe for concurrent use.
type Cluster struct{}

// Compile compiles a cluster. It keeps no reference to c's slices.
func Compile(ctx context.Context, c *api.Cluster) (*Cluster, error) {
	return nil, errors.ErrUnsupported
}

// FilterOptions are the arguments of Filter besides the pod.
type FilterOptions struct {
	Profile *api.Profile
	// Candidates are the nodes to consider, in ascending order without duplicates; nil for all.
	Candidates []uint32
	Explain    bool
}

// Filter tells which nodes can take the pod, and why the others cannot.
func (c *Cluster) Filter(ctx context.Context, pod *api.Pod, o FilterOptions) (*verdict.Filter, error) {
	return nil, errors.ErrUnsupported
}

// ScoreOptions are the arguments of Score besides the pod.
type ScoreOptions struct {
	Profile    *api.Profile
	Candidates []uint32
}

// Score tells how good each node is that can take the pod.
func (c *Cluster) Score(ctx context.Context, pod *api.Pod, o ScoreOptions) (*verdict.Score, error) {
	return nil, errors.ErrUnsupported
}

// Pending is a queue entry: Count equal pods in a row.
type Pending struct {
	Pod   api.Pod
	Count int
}

// PlaceOptions are the arguments of Place besides the queue.
type PlaceOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Seed picks among the best nodes: 0 the one with the lowest index, otherwise the first in ascending order of
	// splitmix64(Seed xor FNV-1a-64(name)), then of index.
	Seed    uint64
	Explain bool
}

// Place decides where the pods of the queue go, one by one, each placed pod counting for the next.
// The result has one placement per queue entry.
func (c *Cluster) Place(ctx context.Context, queue []Pending, o PlaceOptions) ([]verdict.Placement, error) {
	return nil, errors.ErrUnsupported
}
