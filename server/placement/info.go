package placement

import (
	"context"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/version"
)

// Limits are the limits of the server around a service. 0 is no limit.
type Limits struct {
	ReceiveMessageBytes, InFlightBytes, SnapshotBytes int64
	RequestDuration                                   time.Duration
	RequestsPerSecond                                 float64
}

// features are the features of the service.
var features = []stowagev1.Feature{
	stowagev1.Feature_FEATURE_PLACE_STREAM,
	stowagev1.Feature_FEATURE_JOINT_PLACEMENT,
	stowagev1.Feature_FEATURE_CHANGES,
	stowagev1.Feature_FEATURE_SCALE_DOWN,
	stowagev1.Feature_FEATURE_DISABLED_PLUGINS,
	stowagev1.Feature_FEATURE_PREEMPTION,
	stowagev1.Feature_FEATURE_NOMINATED_PODS,
	stowagev1.Feature_FEATURE_QUEUE,
	stowagev1.Feature_FEATURE_GROUP_PREEMPTION,
	stowagev1.Feature_FEATURE_SAFE_PREEMPTION,
	stowagev1.Feature_FEATURE_PREEMPTION_ACROSS_NODES,
	stowagev1.Feature_FEATURE_SCHEDULED_GROUP_PODS,
	stowagev1.Feature_FEATURE_WHAT_IF,
	stowagev1.Feature_FEATURE_DRAIN,
	stowagev1.Feature_FEATURE_FIT,
	stowagev1.Feature_FEATURE_PROVISION,
	stowagev1.Feature_FEATURE_QUEUE_GROUPS,
	stowagev1.Feature_FEATURE_TIE_BREAK,
	stowagev1.Feature_FEATURE_CONSOLIDATE,
	stowagev1.Feature_FEATURE_REMEDIES,
	stowagev1.Feature_FEATURE_GET_SNAPSHOT,
	stowagev1.Feature_FEATURE_DECLARED_FEATURES,
}

// SetLimits sets the limits that GetServerInfo returns. It must be called before the service is used.
func (s *Service) SetLimits(l Limits) { s.limits = l }

// GetServerInfo returns the release, profiles, limits and features.
func (s *Service) GetServerInfo(_ context.Context, in *stowagev1.GetServerInfoRequest) (*stowagev1.GetServerInfoResponse, error) {
	if number, _, n := protowire.ConsumeTag(in.ProtoReflect().GetUnknown()); n > 0 {
		return nil, statusOf(decode.Refuse("", stowagev1.ViolationReason_VIOLATION_REASON_UNKNOWN_FIELD, "unknown field %d", number))
	}
	limits := &stowagev1.ServerLimits{
		MaxReceiveMessageBytes:  bytesLimit(s.limits.ReceiveMessageBytes),
		MaxInFlightBytes:        bytesLimit(s.limits.InFlightBytes),
		MaxSnapshotBytes:        bytesLimit(s.limits.SnapshotBytes),
		MaxClusterPods:          decode.MaxClusterPods,
		MaxQueuePods:            decode.MaxQueuePods,
		MaxJointPods:            engine.MaxJointPods,
		MaxDeletions:            engine.MaxDeletions,
		MaxDistinctResources:    decode.MaxDistinctResources,
		MaxDistinctTopologyKeys: decode.MaxDistinctTopologyKeys,
		MaxInherited:            decode.MaxInherited,
	}
	if d := s.limits.RequestDuration; d > 0 {
		limits.MaxRequestDuration = durationpb.New(d)
	}
	if r := s.limits.RequestsPerSecond; r > 0 {
		limits.MaxRequestsPerSecond = &r
	}
	return &stowagev1.GetServerInfoResponse{
		Release:  version.Current(),
		Profiles: []*stowagev1.ProfileInfo{decode.ProfileInfo()},
		Limits:   limits,
		Features: features,
	}, nil
}

func bytesLimit(n int64) *uint64 {
	if n <= 0 {
		return nil
	}
	return new(uint64(n))
}
