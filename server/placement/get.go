package placement

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/identity"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// GetSnapshot sends the content of a cached snapshot in parts.
func (s *Service) GetSnapshot(
	in *stowagev1.GetSnapshotRequest, stream grpc.ServerStreamingServer[stowagev1.GetSnapshotResponse],
) error {
	return s.get(in, stream)
}

// receiveGet receives the request of a GetSnapshot call.
func (s *Service) receiveGet(stream grpc.ServerStream) error {
	m := new(stowagev1.GetSnapshotRequest)
	in := wire.NewRequest(m)
	in.Read = func(raw []byte) error { return decode.Unmarshal(raw, m) }
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	if in.Err() != nil {
		return statusOf(decodeError(in.Err(), decode.ErrNoMessage))
	}
	return s.get(m, stream)
}

// get sends what the cache has. It looks nowhere else: replicas that ask each other would ask for ever.
func (s *Service) get(in *stowagev1.GetSnapshotRequest, stream grpc.ServerStream) error {
	address, err := decode.Address(in.GetAddress(), "address")
	if err != nil {
		return statusOf(err)
	}
	var cluster *decode.Cluster
	if tenant, may := identity.TenantNamed(stream.Context(), in.GetTenant()); may {
		cluster = s.snapshots.Get(tenant, address)
	}
	if cluster == nil { // whether another tenant has it is not told
		return rpcerror.UnknownSnapshot(in.GetAddress())
	}
	turn := s.turn(stream.Context(), ofGet)
	defer turn.end()
	if err := turn.begin(work.Size{Bytes: cluster.Content.Bytes() / copiedPerRead}, 1); err != nil {
		return err
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
