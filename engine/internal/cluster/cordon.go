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
	if err := cordoned.Taints.cordon(ctx, nodes); err != nil {
		return nil, err
	}
	return &cordoned, nil
}

// cordon moves nodes to the classes that also have UnschedulableTaint. It adds missing ones. Lists and classes that others share
// stay unchanged.
func (t *Taints) cordon(ctx context.Context, nodes []uint32) error {
	const missing = -1
	classes := make(map[int32]int32) // of the cordoned nodes, by class before
	wanted := make(map[string]int32) // classes before, by the key of the list that their nodes get
	var scratch []byte
	for i, n := range nodes {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		class := t.Class[n]
		if _, known := classes[class]; known {
			continue
		}
		list := t.Lists[class]
		if classes[class] = class; !slices.ContainsFunc(list, Cordons) {
			scratch = taintKey(taintKey(scratch[:0], list), unschedulable)
			classes[class], wanted[string(scratch)] = missing, class
		}
	}
	for i, list := range t.Lists {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if last := len(list) - 1; len(wanted) > 0 && last >= 0 && list[last] == UnschedulableTaint {
			scratch = taintKey(scratch[:0], list)
			if class, ok := wanted[string(scratch)]; ok {
				classes[class] = int32(i)
			}
		}
	}
	t.Class, t.Lists = slices.Clone(t.Class), slices.Clip(t.Lists)
	for i, n := range nodes {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		class := t.Class[n]
		to, known := classes[class]
		switch {
		case !known: // n is listed twice
			continue
		case to == missing:
			to = int32(len(t.Lists))
			t.Lists = append(t.Lists, append(slices.Clip(t.Lists[class]), UnschedulableTaint))
			classes[class] = to
		}
		t.Class[n] = to
	}
	return nil
}

var unschedulable = []api.Taint{UnschedulableTaint}

// Cordons reports whether a taint is that of cordoned nodes.
func Cordons(t api.Taint) bool {
	return t.Key == UnschedulableTaint.Key && t.Effect == UnschedulableTaint.Effect
}

// Cordon cordons nodes for the state, and returns the cluster that Uncordon takes back. Decisions that were compiled before do
// not know of it. Once the request has ended, nothing happens.
func (s *State) Cordon(nodes []uint32) (before *Cluster) {
	before = s.Cluster
	if cordoned, err := before.Cordoned(s.ctx, nodes); err == nil {
		s.Cluster = cordoned
	}
	return before
}

// Uncordon takes back what a call of Cordon did.
func (s *State) Uncordon(before *Cluster) { s.Cluster = before }
