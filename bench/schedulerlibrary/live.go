package main

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"sigs.k8s.io/scheduler-library/pkg/state"

	stowagestate "github.com/stowage-scheduler/stowage/bench/schedulerlibrary/state"
)

// live is the live state of a cluster: kube-scheduler's cache, and snapshots of it.
type live struct {
	cache.Cache
	snapshot func() (*side, error)
}

// libraryState returns the library's state of objects.
func libraryState(ctx context.Context, o *objects) (*live, error) {
	shared, profiles, err := new(objects).upstream(ctx)
	if err != nil {
		return nil, err
	}
	s := state.New(cache.New(ctx, nil, false), profiles, shared)
	return &live{s.Cache, func() (*side, error) {
		of, err := s.Snapshot(klog.Background())
		if err != nil {
			return nil, err
		}
		return &side{calls: of, preempt: preempting(of.PreemptPods, of.Unpreempt)}, nil
	}}, o.fill(s.Cache)
}

// stowageState returns the same over Stowage.
func stowageState(ctx context.Context, o *objects) (*live, error) {
	shared, profiles, err := new(objects).upstream(ctx)
	if err != nil {
		return nil, err
	}
	s := stowagestate.New(cache.New(ctx, nil, false), profiles, shared)
	return &live{s.Cache, func() (*side, error) {
		of, err := s.Snapshot(klog.Background())
		if err != nil {
			return nil, err
		}
		return &side{calls: of, preempt: preempting(of.PreemptPods, of.Unpreempt)}, nil
	}}, o.fill(s.Cache)
}

// fill puts the objects into kube-scheduler's cache.
func (o *objects) fill(c cache.Cache) error {
	for _, n := range o.nodes {
		c.AddNode(klog.Background(), n)
	}
	for _, p := range o.pods {
		if err := c.AddPod(klog.Background(), p); err != nil {
			return err
		}
	}
	return nil
}

// follow times what a controller does for each decision: one pod was bound, a snapshot is taken, and the feasible nodes of a pod are
// requested. The pod keeps away from the bound one.
func follow(ctx context.Context, o *objects, turns int) (took [2]times, err error) {
	for i, of := range []func(context.Context, *objects) (*live, error){libraryState, stowageState} {
		l, err := of(ctx, o)
		if err != nil {
			return took, err
		}
		for turn := range turns + 1 {
			bound := pod(fmt.Sprint("bound-", turn), fmt.Sprint("bound-", turn), "1")
			bound.Spec.NodeName = o.nodes[turn].Name
			begin := now()
			if err := l.AddPod(klog.Background(), bound); err != nil {
				return took, err
			}
			s, err := l.snapshot()
			if err != nil {
				return took, err
			}
			if err := s.everywhere(o); err != nil {
				return took, err
			}
			nodes, _, err := s.CanSchedulePod(ctx, apart(pod("pending", bound.Labels["app"], "1")), s.all)
			if err != nil {
				return took, err
			}
			if turn > 0 { // the first snapshot reads everything
				took[i].add(begin)
			}
			if len(nodes) != len(o.nodes)-1 {
				return took, fmt.Errorf("%d of %d nodes are feasible beside the bound pod, want all but one", len(nodes), len(o.nodes))
			}
		}
	}
	return took, nil
}
