package stowage

import (
	"context"
	"iter"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// partBytes is about how large the parts are in which a snapshot is put.
const partBytes = 1 << 20

// Snapshot is the content of a cluster, to be put with Client.Put and then named by its address. It never changes, and
// may be used concurrently.
type Snapshot struct {
	content *content.Content
	address string
	base    string // the address that delta applies to
	delta   *stowagev1.ClusterDelta
}

// NewSnapshot makes a snapshot of a cluster, which may be changed afterwards; package compact states clusters in few
// bytes. The error is a *content.Error with the path of the field inside the cluster.
func NewSnapshot(cluster *stowagev1.Cluster) (*Snapshot, error) {
	c, err := content.Of(cluster)
	if err != nil {
		return nil, err
	}
	return &Snapshot{content: c, address: c.Address().String()}, nil
}

// With makes the snapshot that a delta leads to, which must not be changed afterwards. The two share what is the same.
// Only the delta has to be sent to a server that has this snapshot, so every snapshot of a chain should be put. The error
// is a *content.Error with the path of the field inside the delta.
func (s *Snapshot) With(delta *stowagev1.ClusterDelta) (*Snapshot, error) {
	c, _, err := s.content.Apply(context.Background(), delta)
	if err != nil {
		return nil, err
	}
	return &Snapshot{content: c, address: c.Address().String(), base: s.address, delta: delta}, nil
}

// Address is the content address, for SnapshotReference: 64 hexadecimal digits, the same for every snapshot of the same
// content.
func (s *Snapshot) Address() string { return s.address }

// difference is the messages that put the snapshot to a server that has its base.
func (s *Snapshot) difference(yield func(*stowagev1.PutSnapshotRequest) bool) {
	reference := &stowagev1.SnapshotReference{Address: s.base, Delta: s.delta}
	_ = yield(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: reference}}) &&
		yield(s.end())
}

// whole is the messages that put the snapshot to any server. The items go out as the content has them, in canonical form,
// which is the one that a server takes in fastest. What nodes refer to comes before them.
func (s *Snapshot) whole(yield func(*stowagev1.PutSnapshotRequest) bool) {
	for part := range s.parts {
		if !yield(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: part}}) {
			return
		}
	}
	yield(s.end())
}

func (s *Snapshot) end() *stowagev1.PutSnapshotRequest {
	return &stowagev1.PutSnapshotRequest{
		Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: s.address}},
	}
}

// parts is at least one: nothing but an end would ask whether the server has the snapshot.
func (s *Snapshot) parts(yield func(*stowagev1.Cluster) bool) {
	fields := (*stowagev1.Cluster)(nil).ProtoReflect().Descriptor().Fields()
	var raw []byte
	for _, list := range []struct {
		field protoreflect.Name
		items iter.Seq2[int, []byte]
	}{
		{"pod_templates", s.content.Templates().All},
		{"node_classes", s.content.Classes().All},
		{"namespaces", s.content.Namespaces().All},
		{"workload_selectors", s.content.WorkloadSelectors().All},
		{"nodes", s.content.Nodes().All},
	} {
		number := fields.ByName(list.field).Number()
		for _, item := range list.items {
			if len(raw) >= partBytes {
				if !yield(encoded(raw)) {
					return
				}
				raw = nil
			}
			raw = protowire.AppendBytes(protowire.AppendTag(raw, number, protowire.BytesType), item)
		}
	}
	yield(encoded(raw))
}

// encoded is a cluster of which the encoding is given: fields that are not known go out as they are.
func encoded(raw []byte) *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	c.ProtoReflect().SetUnknown(raw)
	return c
}
