package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// UnschedulableTaint is the taint that the node lifecycle controller adds to cordoned nodes
// (pkg/controller/nodelifecycle/node_lifecycle_controller.go, v1.37).
var UnschedulableTaint = api.Taint{Key: "node.kubernetes.io/unschedulable", Effect: api.NoSchedule}

// Cordoned returns the cluster in which nodes are cordoned: they have spec.unschedulable, and UnschedulableTaint unless they have
// a taint with its key and effect. c stays unchanged. The clusters share everything else, with all memos, because these follow
// from labels, pods and resources alone. If the context ends first, it returns the context's error.
func (c *Cluster) Cordoned(ctx context.Context, nodes []uint32) (*Cluster, error) {
	cordoned := *c
	cordoned.Unschedulable = c.Unschedulable.Clone()
	for _, n := range nodes {
		cordoned.Unschedulable.Add(n)
	}
	if err := cordoned.addTaint(ctx, nodes); err != nil {
		return nil, err
	}
	return &cordoned, nil
}

// addTaint gives nodes UnschedulableTaint. It adds missing lists of taints. Lists that other clusters share stay unchanged.
func (c *Cluster) addTaint(ctx context.Context, nodes []uint32) error {
	const missing = -1
	t := c.ownTaints()
	lists := make(map[int32]int32)   // of the cordoned nodes, by list before
	wanted := make(map[string]int32) // lists before, by the key of the list that their nodes get
	var scratch []byte
	for i, n := range nodes {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		before := *t.at(n)
		if _, known := lists[before]; known {
			continue
		}
		list := t.list[before]
		if lists[before] = before; !slices.ContainsFunc(list, Cordons) {
			scratch = t.key(t.key(scratch[:0], list), unschedulable)
			lists[before], wanted[string(scratch)] = missing, before
		}
	}
	for i, list := range t.list {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if last := len(list) - 1; len(wanted) > 0 && last >= 0 && list[last] == UnschedulableTaint {
			scratch = t.key(scratch[:0], list)
			if before, ok := wanted[string(scratch)]; ok {
				lists[before] = int32(i)
			}
		}
	}
	for i, n := range nodes {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		before := *t.at(n)
		to, known := lists[before]
		switch {
		case !known: // n is listed twice
			continue
		case to == missing:
			to = int32(len(t.list))
			t.list = append(t.list, append(slices.Clip(t.list[before]), UnschedulableTaint))
			lists[before] = to
		}
		set(&t.column, n, to)
	}
	return nil
}

var unschedulable = []api.Taint{UnschedulableTaint}

// Cordons reports whether a taint is the taint of cordoned nodes.
func Cordons(t api.Taint) bool {
	return t.Key == UnschedulableTaint.Key && t.Effect == UnschedulableTaint.Effect
}
