package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// SearchJointly is PlaceJointly without placing the pods one by one first, and without improving what is found.
func (c *Cluster) SearchJointly(ctx context.Context, group []Pending, o JointOptions) (nodes []uint32, known bool, steps int) {
	j := c.joiningFor(ctx, group, o)
	j.compile(ctx)
	spots, known := j.rules.Search(j.order, nil, j.effort)
	if spots != nil {
		nodes = j.nodesOf(spots)
	}
	return nodes, known, j.effort.Steps
}

// InOrderJointly reports whether placing the pods one by one in some order comes to a right placement.
func (c *Cluster) InOrderJointly(ctx context.Context, group []Pending, o JointOptions) (bool, error) {
	j := c.joiningFor(ctx, group, o)
	j.compile(ctx)
	err := j.inOrder(ctx)
	return j.best != nil, err
}

// HoldTogether reports whether the search finds a placement that satisfies some rules and need not satisfy others.
func (c *Cluster) HoldTogether(ctx context.Context, group []Pending, o JointOptions, rules []verdict.JointRule) (bool, error) {
	j := c.joiningFor(ctx, group, o)
	j.compile(ctx)
	given := make([]bool, len(j.rules.Rules))
	for i, r := range j.rules.Rules {
		given[i] = !slices.Contains(rules, r)
	}
	spots, _ := j.rules.Search(j.order, given, j.effort)
	return spots != nil, ctx.Err()
}
