package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// JointOptions are the arguments of PlaceJointly in addition to the group.
type JointOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	Seed       uint64
	Steps      int
}

// JointSteps is the default budget of PlaceJointly.
const JointSteps = gang.JointSteps

func (c *Cluster) probe(ctx context.Context, group []Pending, o JointOptions) gang.Probe {
	return gang.NewProbe(ctx, c.framework(o.Profile), cluster.NewState(ctx, c.compiled), group, c.joint(o))
}

func (c *Cluster) joint(o JointOptions) gang.JointOptions {
	return gang.JointOptions{Candidates: c.candidates(o.Candidates), Seed: o.Seed, Steps: o.Steps}
}

// PlaceJointly places a group of pods as a whole.
func (c *Cluster) PlaceJointly(ctx context.Context, group []Pending, o JointOptions) (*verdict.Joint, error) {
	return gang.Jointly(ctx, c.framework(o.Profile), cluster.NewState(ctx, c.compiled), group, c.joint(o))
}

// SearchJointly runs the search alone, without placing the pods in order and without improvement.
func (c *Cluster) SearchJointly(ctx context.Context, group []Pending, o JointOptions) (nodes []uint32, known bool, steps int) {
	return c.probe(ctx, group, o).Search()
}

// InOrderJointly reports whether placing the pods one by one in some order gives a valid placement.
func (c *Cluster) InOrderJointly(ctx context.Context, group []Pending, o JointOptions) (bool, error) {
	return c.probe(ctx, group, o).InOrder(ctx)
}

// HoldTogether reports whether the search finds a placement that satisfies the given rules.
func (c *Cluster) HoldTogether(ctx context.Context, group []Pending, o JointOptions, rules []verdict.PodRule) (bool, error) {
	return c.probe(ctx, group, o).HoldTogether(rules), ctx.Err()
}
