package placement

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/caller"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// GetSnapshot sends the content of a cached snapshot of the caller's tenant in parts.
func (s *Service) GetSnapshot(
	in *stowagev1.GetSnapshotRequest, stream grpc.ServerStreamingServer[stowagev1.GetSnapshotResponse],
) error {
	return s.get(in, stream)
}

// receiveGet serves a GetSnapshot call.
func (s *Service) receiveGet(stream grpc.ServerStream, table *count.Table) error {
	m := new(stowagev1.GetSnapshotRequest)
	in := wire.NewRequest(m)
	in.Read = func(raw []byte) error { return decode.Unmarshal(raw, m) }
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	if err := s.counted(stream, in, table); err != nil {
		return err
	}
	return s.get(m, stream)
}

func (s *Service) counted(stream grpc.ServerStream, in *wire.Request, table *count.Table) error {
	defer in.Free()
	t := s.turn(stream.Context(), ofGet)
	defer t.end()
	return statusOf(t.decode(in, table, decode.ErrNoMessage))
}

func (s *Service) get(in *stowagev1.GetSnapshotRequest, stream grpc.ServerStream) error {
	address, err := decode.Address(in.GetAddress(), "address")
	if err != nil {
		return statusOf(err)
	}
	cluster := s.snapshots.Get(caller.Tenant(stream.Context()), address)
	if cluster == nil { // whether another tenant has it is not reported
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
