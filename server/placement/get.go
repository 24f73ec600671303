package placement

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/proto/content"
	peerv1 "github.com/stowage-scheduler/stowage/proto/stowage/peer/v1"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/identity"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// GetSnapshot sends the content of a cached snapshot of the caller's tenant in parts.
func (s *Service) GetSnapshot(
	in *stowagev1.GetSnapshotRequest, stream grpc.ServerStreamingServer[stowagev1.GetSnapshotResponse],
) error {
	return s.get(&peerv1.FetchSnapshotRequest{Address: in.GetAddress()}, stream)
}

// FetchSnapshot sends the content of a cached snapshot to another replica.
func (s *Service) FetchSnapshot(
	in *peerv1.FetchSnapshotRequest, stream grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse],
) error {
	return s.get(in, stream)
}

// receive receives the one request of a call into m.
func (s *Service) receive(stream grpc.ServerStream, m proto.Message, table *count.Table) error {
	in := wire.NewRequest(m)
	in.Read = func(raw []byte) error { return decode.Unmarshal(raw, m) }
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	defer in.Free()
	t := s.turn(stream.Context(), ofGet)
	defer t.end()
	return statusOf(t.decode(in, table, decode.ErrNoMessage))
}

// receiveGet serves a GetSnapshot call.
func (s *Service) receiveGet(stream grpc.ServerStream, table *count.Table) error {
	m := new(stowagev1.GetSnapshotRequest)
	if err := s.receive(stream, m, table); err != nil {
		return err
	}
	return s.get(&peerv1.FetchSnapshotRequest{Address: m.GetAddress()}, stream)
}

// receiveFetch serves a FetchSnapshot call.
func (s *Service) receiveFetch(stream grpc.ServerStream, table *count.Table) error {
	m := new(peerv1.FetchSnapshotRequest)
	if err := s.receive(stream, m, table); err != nil {
		return err
	}
	return s.get(m, stream)
}

// get sends what the cache has: messages that both calls answer with. It looks nowhere else: replicas that ask each other would ask for
// ever.
func (s *Service) get(in *peerv1.FetchSnapshotRequest, stream grpc.ServerStream) error {
	address, err := decode.Address(in.GetAddress(), "address")
	if err != nil {
		return statusOf(err)
	}
	var cluster *decode.Cluster
	tenant, may := identity.TenantNamed(stream.Context(), in.GetTenant())
	if may {
		cluster = s.snapshots.Get(tenant, address)
	}
	if cluster == nil { // whether another tenant has it is not told
		return rpcerror.UnknownSnapshot(in.GetAddress())
	}
	if len(in.GetBaseAddresses()) > maxBases {
		return statusOf(decode.Refuse("base_addresses", stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT,
			"has %d items, at most %d are allowed", len(in.GetBaseAddresses()), maxBases))
	}
	turn := s.turn(stream.Context(), ofGet)
	defer turn.end()
	if err := turn.begin(work.Size{Bytes: cluster.Content.Bytes() / copiedPerRead}, 1); err != nil {
		return err
	}
	d, err := s.difference(turn.ctx, tenant, in.GetBaseAddresses(), cluster.Content)
	if err != nil {
		return statusOf(err)
	}
	if d != nil {
		answer := &peerv1.FetchSnapshotResponse{Content: &peerv1.FetchSnapshotResponse_Difference{Difference: d}}
		encoded, err := proto.Marshal(answer)
		if err != nil {
			return rpcerror.Internal(err)
		}
		return turn.blocking(func() error { return stream.SendMsg(wire.Encoded(encoded)) })
	}
	for part := range cluster.Content.Parts() {
		encoded := make(wire.Encoded, 0, len(part)+2*protowire.SizeVarint(uint64(len(part))))
		encoded = protowire.AppendBytes(protowire.AppendTag(encoded, partField, protowire.BytesType), part)
		if err := turn.blocking(func() error { return stream.SendMsg(encoded) }); err != nil {
			return err
		}
	}
	return nil
}

const (
	// maxBases is how many base_addresses a request has at most.
	maxBases = 16
	// A difference has at most fewItems items, or the fraction of the snapshot's.
	fewItems, fraction = 64, 8
)

// difference returns the difference of a snapshot to the first of the tenant's snapshots of these addresses that differs little, nil if
// none does.
func (s *Service) difference(
	ctx context.Context, tenant string, bases []string, to *content.Content,
) (*stowagev1.SnapshotReference, error) {
	for i, base := range bases {
		address, err := decode.Address(base, fmt.Sprintf("base_addresses[%d]", i))
		if err != nil {
			return nil, err
		}
		from := s.snapshots.Get(tenant, address)
		if from == nil {
			continue
		}
		d := from.Content.Difference(to, max(fewItems, to.Len()/fraction))
		if d == nil {
			continue
		}
		if got, _, err := from.Content.Apply(ctx, d); err == nil && got.Address() == to.Address() {
			return &stowagev1.SnapshotReference{Address: base, Delta: d}, nil
		}
	}
	return nil, ctx.Err()
}
