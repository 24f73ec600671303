package engine

import (
	"context"
)

// SearchJointly is PlaceJointly without placing the pods one by one first, and without improving what is found.
func (c *Cluster) SearchJointly(ctx context.Context, group []Pending, o JointOptions) (nodes []uint32, known bool, steps int) {
	j := c.joining(ctx, group, o)
	j.compile(ctx)
	spots, known := j.rules.Search(j.order, nil, j.effort)
	if spots != nil {
		nodes = j.nodesOf(spots)
	}
	return nodes, known, j.effort.Steps
}

// InOrderJointly reports whether placing the pods one by one in some order comes to a right placement.
func (c *Cluster) InOrderJointly(ctx context.Context, group []Pending, o JointOptions) (bool, error) {
	j := c.joining(ctx, group, o)
	j.compile(ctx)
	err := j.inOrder(ctx)
	return j.best != nil, err
}
