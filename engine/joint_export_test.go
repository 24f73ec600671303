package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/tiebreak"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// JointOptions are the arguments of PlaceJointly in addition to the group.
type JointOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	Seed       uint64
	FewestPods bool
	Steps      int
}

// JointSteps is the default budget of PlaceJointly.
const JointSteps = gang.JointSteps

func (c *Cluster) joining(ctx context.Context, group []Pending, o JointOptions) *gang.Joining {
	state := cluster.NewState(ctx, c.compiled)
	return gang.NewJoining(ctx, c.framework(o.Profile), state, group, gang.JointOptions{
		Candidates: c.candidates(o.Candidates), Seed: o.Seed, FewestPods: o.FewestPods,
		Order: tiebreak.New(state.Names, o.Seed, o.FewestPods).Nodes(), Steps: o.Steps,
	})
}

// PlaceJointly places a group of pods as a whole.
func (c *Cluster) PlaceJointly(ctx context.Context, group []Pending, o JointOptions) (*verdict.Joint, error) {
	return c.joining(ctx, group, o).Result(ctx, nil)
}

// SearchJointly runs the search alone, without placing the pods in order and without improvement.
func (c *Cluster) SearchJointly(ctx context.Context, group []Pending, o JointOptions) (nodes []uint32, known bool, steps int) {
	j := c.joining(ctx, group, o)
	spots, known := j.Rules.Search(j.Order, nil, j.Budget)
	if spots != nil {
		nodes = j.NodesOf(spots)
	}
	return nodes, known, j.Budget.Steps
}

// InOrderJointly reports whether placing the pods one by one in some order gives a valid placement.
func (c *Cluster) InOrderJointly(ctx context.Context, group []Pending, o JointOptions) (bool, error) {
	return c.joining(ctx, group, o).InOrder(ctx)
}

// HoldTogether reports whether the search finds a placement that satisfies the given rules.
func (c *Cluster) HoldTogether(ctx context.Context, group []Pending, o JointOptions, rules []verdict.PodRule) (bool, error) {
	j := c.joining(ctx, group, o)
	dropped := make([]bool, len(j.Rules.Rules))
	for i, r := range j.Rules.Rules {
		dropped[i] = !slices.Contains(rules, r)
	}
	spots, _ := j.Rules.Search(j.Order, dropped, j.Budget)
	return spots != nil, ctx.Err()
}
