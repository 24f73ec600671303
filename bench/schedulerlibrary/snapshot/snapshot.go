// Package snapshot has the interface of sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot (v0.1.0-alpha1), with Stowage's
// decisions. A ClusterSnapshot is for one goroutine at a time.
//
// New gets kube-scheduler's snapshot and frameworks. Nodes, pods and enabled plugins are read from them once. Readers of the snapshot
// expect to see what was scheduled and preempted, so each change of pods is written there, too. No decision is read from it.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync"
	library "sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"

	"github.com/stowage-scheduler/stowage/clients/embedded"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Types without behaviour are the library's, so that callers of both share them.
type (
	// SchedulePodsOptions are the options of SchedulePods.
	SchedulePodsOptions = library.SchedulePodsOptions
	// SchedulePodsByTemplateOptions are the options of SchedulePodsByTemplate.
	SchedulePodsByTemplateOptions = library.SchedulePodsByTemplateOptions
	// TransactionResult is how a transaction ends.
	TransactionResult = library.TransactionResult
	// SchedulingResult is the outcome of one pod.
	SchedulingResult = library.SchedulingResult
)

// The results of a transaction.
const (
	Commit = library.Commit
	Revert = library.Revert
)

// Constructors of the library's options.
var (
	NewSchedulePodsOptions           = library.NewSchedulePodsOptions
	NewSchedulePodsByTemplateOptions = library.NewSchedulePodsByTemplateOptions
)

// ClusterSnapshot is a cluster in which pods are scheduled and preempted.
type ClusterSnapshot struct {
	err        error // of New, which has no error of its own
	view       view
	frameworks *upstreamsync.ProfileMap
	names      map[string]*stowagev1.Profile // by scheduler name
	first      *simulate.Snapshot            // before any change
	state      *simulate.Snapshot            // has the open transaction
	profiles   map[string]*simulate.Snapshot // by scheduler name: state with that profile
	last       candidates
	epoch      epoch
}

// server is the process's own server. It stops with the process, because ClusterSnapshot has no method to close it.
var server = sync.OnceValues(func() (*stowage.Client, error) {
	client, _, err := embedded.Dial(context.Background())
	return client, err
})

// New returns a snapshot of the nodes and pods of kube-scheduler's snapshot. If Stowage cannot read an object or a profile, all
// methods return the error.
func New(s *cache.Snapshot, profiles *upstreamsync.ProfileMap) *ClusterSnapshot {
	out := &ClusterSnapshot{view: newView(s), frameworks: profiles, names: map[string]*stowagev1.Profile{}}
	first, err := out.read(profiles)
	if err != nil {
		out.err = err
		return out
	}
	out.first = first
	out.start()
	return out
}

func (s *ClusterSnapshot) read(profiles *upstreamsync.ProfileMap) (*simulate.Snapshot, error) {
	ctx := context.Background()
	client, err := server()
	if err != nil {
		return nil, err
	}
	for name, framework := range profiles.Map {
		if s.names[name], err = profileOf(ctx, client, framework); err != nil {
			return nil, fmt.Errorf("profile %q: %w", name, err)
		}
	}
	infos, err := s.view.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	for _, info := range infos {
		s.view.see(info)
		nodes, pods = append(nodes, info.Node()), append(pods, podsOf(info)...)
	}
	cluster, err := simulate.Objects(nodes, pods)
	if err != nil {
		return nil, err
	}
	out, err := simulate.New(ctx, client, cluster, simulate.Options{})
	if err == nil && len(cluster.Misreads) > 0 {
		err = cluster.Misreads[0]
	}
	return out, err
}

// start makes the snapshots that change.
func (s *ClusterSnapshot) start() {
	s.state, s.profiles = s.first.Fork(), map[string]*simulate.Snapshot{}
	for name, profile := range s.names {
		s.profiles[name] = s.first.ForkWith(simulate.Options{Profile: profile})
	}
}

// by returns the snapshot with the profile of a pod, in the current state.
func (s *ClusterSnapshot) by(pod *corev1.Pod) (*simulate.Snapshot, error) {
	name := schedulerName(pod)
	out := s.profiles[name]
	if out == nil {
		return nil, fmt.Errorf("pod %s/%s: there is no profile for the scheduler name %q", pod.Namespace, pod.Name, name)
	}
	return out, out.Adopt(s.state)
}

func schedulerName(pod *corev1.Pod) string {
	if pod.Spec.SchedulerName == "" {
		return corev1.DefaultSchedulerName
	}
	return pod.Spec.SchedulerName
}

// Transaction runs do, and undoes its changes if do returns Revert or an error. Transactions do not nest, as in the library.
func (s *ClusterSnapshot) Transaction(_ context.Context, do func() (TransactionResult, error)) error {
	switch {
	case s.err != nil:
		return s.err
	case s.state.Open() > 0:
		return errors.New("a transaction is already in progress")
	}
	outside := s.epoch.begin()
	reverted := true
	err := s.state.Transaction(func() error {
		result, err := do()
		reverted = err != nil || result == Revert
		if err == nil && reverted {
			return simulate.ErrRevert
		}
		return err
	})
	if reverted {
		s.epoch.now = outside
		if err := s.view.write(s.state, s.view.written()...); err != nil {
			return err
		}
	} else {
		s.epoch.next()
	}
	if err != nil {
		return fmt.Errorf("transaction failed: %w", err)
	}
	return nil
}

// candidates is the placement of the last call, as the server's candidates. Callers repeat placements.
type candidates struct {
	placement *fwk.Placement
	nodes     *simulate.Nodes // nil for all
}

// MakePlacement returns a placement of nodes of the snapshot.
func (s *ClusterSnapshot) MakePlacement(names []string) (*fwk.Placement, error) {
	out := &fwk.Placement{Nodes: make([]fwk.NodeInfo, 0, len(names))}
	for _, name := range names {
		info, err := s.view.snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, fmt.Errorf("getting node %s: %w", name, err)
		}
		out.Nodes = append(out.Nodes, info)
	}
	return out, s.err
}

// candidates returns the nodes of a placement, nil for all nodes. A placement does not change after MakePlacement.
func (s *ClusterSnapshot) candidates(placement *fwk.Placement) (*simulate.Nodes, error) {
	if s.last.placement == placement {
		return s.last.nodes, nil
	}
	names, different := make([]string, len(placement.Nodes)), map[string]bool{}
	for i, n := range placement.Nodes {
		names[i] = n.Node().Name
		different[names[i]] = true
	}
	nodes, err := s.state.Nodes(names...)
	if err != nil {
		return nil, err
	}
	if len(different) == len(s.state.NodeNames()) {
		nodes = nil
	}
	s.last = candidates{placement, nodes}
	return nodes, nil
}
