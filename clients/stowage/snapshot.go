package stowage

import (
	"context"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Snapshot is the content of a cluster. Client.Put puts it; requests then refer to it by its address. It is immutable
// and safe for concurrent use.
type Snapshot struct {
	content *content.Content
	address string
	base    string // the address that delta applies to
	delta   *stowagev1.ClusterDelta
}

// NewSnapshot returns the snapshot of a cluster. The cluster may be changed afterwards. Package compact encodes clusters in fewer bytes.
// The error is a *content.Error with the path of the field in the cluster.
func NewSnapshot(cluster *stowagev1.Cluster) (*Snapshot, error) {
	c, err := content.Of(cluster)
	if err != nil {
		return nil, err
	}
	return &Snapshot{content: c, address: c.Address().String()}, nil
}

// With returns the snapshot that results from a delta. The delta must not be changed afterwards. The two snapshots share equal parts.
// Put sends only the delta to a server that has s, so every snapshot of a chain should be put. The error is a *content.Error with the
// path of the field in the delta.
func (s *Snapshot) With(delta *stowagev1.ClusterDelta) (*Snapshot, error) {
	c, _, err := s.content.Apply(context.Background(), delta)
	if err != nil {
		return nil, err
	}
	return &Snapshot{content: c, address: c.Address().String(), base: s.address, delta: delta}, nil
}

// Address returns the content address for SnapshotReference: 64 hexadecimal digits. Snapshots with equal content have
// equal addresses.
func (s *Snapshot) Address() string { return s.address }

// difference yields the messages that put the snapshot to a server with its base.
func (s *Snapshot) difference(yield func(*stowagev1.PutSnapshotRequest) bool) {
	_ = yield(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: s.base}}) &&
		yield(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: s.delta}}) &&
		yield(s.end())
}

// whole yields the messages that put the snapshot to any server. It yields at least one part, because a stream with only an end checks
// whether the server has the snapshot.
func (s *Snapshot) whole(yield func(*stowagev1.PutSnapshotRequest) bool) {
	for part := range s.content.Parts() {
		if !yield(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: encoded(part)}}) {
			return
		}
	}
	yield(s.end())
}

func (s *Snapshot) end() *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{
		Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: &s.address}},
	}
}

// encoded returns a cluster from its encoding. It holds the encoding as unknown fields, which are sent unchanged.
func encoded(raw []byte) *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	c.ProtoReflect().SetUnknown(raw)
	return c
}
