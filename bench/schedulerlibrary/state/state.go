// Package state has the interface of sigs.k8s.io/scheduler-library/pkg/state (v0.1.0-alpha1), with Stowage's snapshots. The live state
// is a cache of kube-scheduler, because the interface has its type.
package state

import (
	"fmt"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync"

	"github.com/stowage-scheduler/stowage/bench/schedulerlibrary/snapshot"
)

// ClusterState is the live state of a cluster.
type ClusterState struct {
	Cache      cache.Cache
	profiles   *upstreamsync.ProfileMap
	sharedSnap *cache.Snapshot
	last       *snapshot.ClusterSnapshot
}

// New returns a state with a cache. snap is the snapshot that the frameworks of profiles read.
func New(c cache.Cache, profiles *upstreamsync.ProfileMap, snap *cache.Snapshot) *ClusterState {
	return &ClusterState{Cache: c, profiles: profiles, sharedSnap: snap}
}

// Snapshot returns a snapshot of the state. Earlier snapshots must not be used afterwards. It reads what changed since the last one.
func (s *ClusterState) Snapshot(logger klog.Logger) (*snapshot.ClusterSnapshot, error) {
	if s.last != nil {
		if err := s.last.Release(); err != nil {
			return nil, err
		}
	}
	if err := s.Cache.UpdateSnapshot(logger, s.sharedSnap); err != nil {
		return nil, fmt.Errorf("updating the snapshot: %w", err)
	}
	if s.last == nil {
		s.last = snapshot.New(s.sharedSnap, s.profiles)
	} else {
		s.last = s.last.Next()
	}
	return s.last, nil
}
