package engine

import (
	"context"
	"runtime"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// DrainMode is the question about the nodes of a drain.
type DrainMode uint8

// The modes.
const (
	// DrainEach drains each node alone.
	DrainEach DrainMode = iota
	// DrainTogether drains all nodes at once.
	DrainTogether
	// DrainLargestSet drains as many nodes as possible, one after another.
	DrainLargestSet
)

// DrainOptions are the arguments of Drain.
type DrainOptions struct {
	Profile *api.Profile
	// Nodes are the nodes to drain. Targets are the nodes that may receive pods, nil for all nodes. Both are ascending without
	// duplicates.
	Nodes, Targets []uint32
	Mode           DrainMode
	// Seed and FewestPods are as in PlaceOptions.
	Seed       uint64
	FewestPods bool
	// Scheduler places the pods of a round as PlaceOptions.Scheduler does.
	Scheduler bool
	// Terminating lets evicted pods terminate while the replacements of their round are placed. Otherwise evicted pods are gone by
	// then.
	Terminating bool
	// IgnoreBudgets evicts pods whatever their PodDisruptionBudgets allow.
	IgnoreBudgets bool
	// Force, DeleteEmptyDirData and RefuseDaemonSetPods are as in drain.Filters.
	Force, DeleteEmptyDirData, RefuseDaemonSetPods bool
	// Moves requests Drain.Moves.
	Moves bool
	// Steps is the step budget of DrainLargestSet.
	Steps int
	// Scan is as in PlaceOptions.
	Scan bool

	workers int // replaces the number of cores unless 0
}

// MaxDrainPods bounds the pods on the nodes of one drain, and of all drains of DrainLargestSet.
const MaxDrainPods = 2_000_000

// DrainPods returns the number of pods that MaxDrainPods bounds.
func (c *Cluster) DrainPods(o *DrainOptions) (pods int64) {
	for _, node := range c.drained(o) {
		if on := c.compiled.PodsOn(node); o.Mode == DrainEach {
			pods = max(pods, on)
		} else {
			pods += on
		}
	}
	return pods
}

// drained returns the nodes to drain.
func (c *Cluster) drained(o *DrainOptions) []uint32 {
	if o.Nodes != nil {
		return o.Nodes
	}
	nodes := make([]uint32, c.Len())
	for i := range nodes {
		nodes[i] = uint32(i)
	}
	return nodes
}

// Drain drains nodes: it cordons them, evicts their pods in rounds as PodDisruptionBudgets allow, and places the pods that come
// back. It passes the outcomes to use: by node, in their order or for DrainLargestSet in the order of draining, or one for all
// nodes. An error of use ends the call and is returned.
func (c *Cluster) Drain(ctx context.Context, o DrainOptions, use func(*verdict.Drain) error) (*verdict.DrainSummary, error) {
	nodes := c.drained(&o)
	options := &drain.Options{
		Nodes: nodes, Targets: c.candidates(o.Targets), Seed: o.Seed, FewestPods: o.FewestPods,
		Scheduler: o.Scheduler, Terminating: o.Terminating, IgnoreBudgets: o.IgnoreBudgets,
		Filters: drain.Filters{
			Force: o.Force, DeleteEmptyDirData: o.DeleteEmptyDirData, RefuseDaemonSetPods: o.RefuseDaemonSetPods,
		},
		Moves: o.Moves, Steps: o.Steps, Scan: o.Scan, Workers: o.workers,
	}
	if options.Workers == 0 {
		options.Workers = runtime.GOMAXPROCS(0)
	}
	f := c.framework(o.Profile)
	sum := &verdict.DrainSummary{Total: len(nodes)}
	listed := drain.NewLists()
	pass := func(d *verdict.Drain) error {
		if d.Status == verdict.Drained {
			sum.Drained += len(d.Nodes)
		}
		listed.Cut(d)
		return use(d)
	}
	switch o.Mode {
	case DrainLargestSet:
		found, err := drain.Largest(ctx, f, c.compiled, options, pass)
		if err != nil {
			return nil, err
		}
		return found, nil
	case DrainTogether:
		d, err := drain.Together(ctx, f, c.compiled, options)
		if err == nil {
			err = pass(d)
		}
		if err != nil {
			return nil, err
		}
	default:
		if err := drain.Each(ctx, f, c.compiled, options, pass); err != nil {
			return nil, err
		}
	}
	return sum, nil
}
