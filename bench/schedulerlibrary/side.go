package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	libraryframework "sigs.k8s.io/scheduler-library/pkg/framework"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync"
	library "sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"

	"github.com/stowage-scheduler/stowage/bench/schedulerlibrary/snapshot"
)

// calls are the methods of both snapshots without types of their own.
type calls interface {
	MakePlacement(names []string) (*fwk.Placement, error)
	CanSchedulePod(context.Context, *corev1.Pod, *fwk.Placement) ([]string, *framework.Diagnosis, error)
	SchedulePods(context.Context, []*corev1.Pod, *fwk.Placement, library.SchedulePodsOptions) ([]library.SchedulingResult, error)
	SchedulePodsByTemplate(context.Context, *corev1.PodTemplateSpec, *fwk.Placement, int, library.SchedulePodsByTemplateOptions) (
		[]library.SchedulingResult, error)
	Transaction(context.Context, func() (library.TransactionResult, error)) error
}

// side is a snapshot of the library, or of Stowage.
type side struct {
	calls
	// preempt evicts pods; undo puts them back.
	preempt func(context.Context, []*corev1.Pod) (undo func() error, err error)
	all     *fwk.Placement
}

// newLibrary returns the library's snapshot of objects.
func newLibrary(ctx context.Context, o *objects) (*side, error) {
	of, profiles, err := o.upstream(ctx)
	if err != nil {
		return nil, err
	}
	s := library.New(of, profiles)
	out := &side{calls: s, preempt: preempting(s.PreemptPods, s.Unpreempt)}
	return out, out.everywhere(o)
}

// newStowage returns the same interface over Stowage.
func newStowage(ctx context.Context, o *objects) (*side, error) {
	of, profiles, err := o.upstream(ctx)
	if err != nil {
		return nil, err
	}
	s := snapshot.New(of, profiles)
	out := &side{calls: s, preempt: preempting(s.PreemptPods, s.Unpreempt)}
	return out, out.everywhere(o)
}

// preempting hides the type of a handle.
func preempting[H any](preempt func(context.Context, []*corev1.Pod) (H, error), undo func(H) ([]*corev1.Pod, error)) func(
	context.Context, []*corev1.Pod) (func() error, error) {
	return func(ctx context.Context, pods []*corev1.Pod) (func() error, error) {
		handle, err := preempt(ctx, pods)
		return func() error { _, err := undo(handle); return err }, err
	}
}

// everywhere sets the placement of all nodes.
func (s *side) everywhere(o *objects) (err error) {
	var names []string
	for _, n := range o.nodes {
		names = append(names, n.Name)
	}
	s.all, err = s.MakePlacement(names)
	return err
}

// upstream returns kube-scheduler's snapshot and frameworks, with its default configuration.
func (o *objects) upstream(ctx context.Context) (*cache.Snapshot, *upstreamsync.ProfileMap, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	c := &schedulerapi.KubeSchedulerConfiguration{}
	if err := scheme.Scheme.Convert(&versioned, c, nil); err != nil {
		return nil, nil, err
	}
	of := cache.NewSnapshot(o.pods, o.nodes)
	profiles, err := libraryframework.NewProfileMap(ctx, fake.NewClientset(), nil, of, c)
	return of, profiles, err
}
