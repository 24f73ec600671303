package placement

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/caller"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/snapshots"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

// PutSnapshot receives a snapshot in steps and adds it to the cache.
func (s *Service) PutSnapshot(stream grpc.ClientStreamingServer[stowagev1.PutSnapshotRequest, stowagev1.PutSnapshotResponse]) error {
	return s.put(stream, count.Of(&stowagev1.PutSnapshotRequest{}))
}

// put decodes the steps as they arrive and caches the complete snapshot.
func (s *Service) put(stream grpc.ServerStream, table *count.Table) error {
	p := putStream{service: s, stream: stream, table: table, turn: s.turn(stream.Context(), ofPut)}
	defer p.turn.end()
	for !p.ended {
		if err := p.step(); err != nil {
			return statusOf(err)
		}
	}
	// The rest is no work: the call holds no seat until the caller closes its side.
	p.turn.end()
	// The end must be the last message.
	extra := wire.NewRequest(new(stowagev1.PutSnapshotRequest), partField)
	if err := stream.RecvMsg(extra); !errors.Is(err, io.EOF) {
		if err != nil {
			return err
		}
		extra.Free()
		return statusOf(decode.Refuse("end", stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED, "must be the last message"))
	}
	clusterBytes := p.cluster.Memory()
	of := ownerOf(stream.Context())
	if !s.snapshots.Put(p.cluster, of) {
		return rpcerror.SnapshotTooLarge(clusterBytes, s.snapshots.LimitOf(of))
	}
	return stream.SendMsg(&stowagev1.PutSnapshotResponse{
		Address:     p.cluster.Address,
		NodeCount:   uint32(p.cluster.Len()),
		MemoryBytes: uint64(clusterBytes),
	})
}

// ownerOf returns the owner of a snapshot that a call puts.
func ownerOf(ctx context.Context) snapshots.Owner {
	of := snapshots.Owner{Client: admission.Client(ctx)}
	if c := caller.From(ctx); c != nil {
		of.Tenant, of.Limit = c.Tenant, c.MaxSnapshotBytes
	}
	return of
}

// putStream is the state of a PutSnapshot call.
type putStream struct {
	service *Service
	stream  grpc.ServerStream
	turn    *turn
	table   *count.Table
	// parts decodes the parts of a cluster; cluster is the base with the deltas so far. Both are nil before the first step.
	parts   *decode.Request
	cluster *decode.Snapshot
	// reserved is whether memory was reserved for the deltas.
	reserved bool
	deltas   int // so far
	ended    bool
}

func (p *putStream) step() error {
	in, err := p.receive()
	if err != nil {
		return err
	}
	return p.apply(in)
}

// receive receives the next step. The caller must free it.
func (p *putStream) receive() (*wire.Request, error) {
	m := new(stowagev1.PutSnapshotRequest)
	in := wire.NewRequest(m, partField)
	in.Read = func(rest []byte) error { return decode.Unmarshal(rest, m) }
	if err := p.turn.blocking(func() error { return p.stream.RecvMsg(in) }); errors.Is(err, io.EOF) {
		return nil, decode.Refuse("end", stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED, "is missing, the stream ended early")
	} else if err != nil {
		return nil, err
	}
	return in, nil
}

var errNoStep = decode.Refuse("step", stowagev1.ViolationReason_VIOLATION_REASON_MALFORMED, "is not in a valid protobuf message")

// ahead receives the next step while the steps before it are decoded. It decodes a step that is nothing but a part, as decoding a
// part gives turns.
func (p *putStream) ahead() (in *wire.Request, isPart bool, err error) {
	if in, err = p.receive(); err != nil || !in.IsOnly(partField) {
		return in, false, err
	}
	if _, err = p.turn.reserve(in, p.table); err == nil {
		if in.LongElement {
			return in, false, nil
		}
		if in.Decode() != nil {
			err = errNoStep
		}
	}
	if err != nil {
		in.Free()
	}
	return in, true, err
}

// isPart reports whether a step is a part of a cluster.
func isPart(in *wire.Request) bool {
	_, ok := in.Message.(*stowagev1.PutSnapshotRequest).GetStep().(*stowagev1.PutSnapshotRequest_Part)
	return ok
}

// apply decodes a step, applies and frees it.
func (p *putStream) apply(in *wire.Request) error {
	err := p.turn.begin(work.Size{Bytes: int64(in.Len())}, 1)
	switch {
	case err != nil:
	case in.LongElement: // it has been counted ahead
		err = p.turn.takePlace()
	default:
		err = p.turn.weigh(in, p.table)
	}
	if err == nil {
		if err = in.Decode(); err != nil {
			err = decodeError(err, errNoStep)
		}
	}
	defer p.turn.leavePlace()
	if delta := in.Message.(*stowagev1.PutSnapshotRequest).GetDelta(); err == nil && delta != nil && p.cluster != nil {
		err = p.turn.begin(work.Size{Bytes: p.cluster.CopiedBy(delta) / copiedPerRead}, 1)
	}
	if err != nil {
		in.Free()
		return err
	}
	if isPart(in) {
		return p.part(in)
	}
	defer in.Free()
	switch step := in.Message.(*stowagev1.PutSnapshotRequest).GetStep().(type) {
	case *stowagev1.PutSnapshotRequest_BaseAddress:
		return p.base(step.BaseAddress)
	case *stowagev1.PutSnapshotRequest_Delta:
		return p.delta(step.Delta)
	case *stowagev1.PutSnapshotRequest_End:
		return p.end(step.End)
	}
	return decode.Refuse("step", stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED,
		"one of part, base_address, delta and end is required")
}

func (p *putStream) part(in *wire.Request) error {
	if p.cluster != nil {
		in.Free()
		return decode.Refuse("part", stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED, "must not come with a base")
	}
	if p.parts == nil {
		p.parts = decode.NewRequest(p.turn.ctx)
	}
	if decode.Follow(in.Cluster) && !in.LongElement { // nothing is received while it has its place
		p.turn.leavePlace()
		return p.pipeline(in)
	}
	defer in.Free()
	p.parts.Part("part", in.Cluster)
	return p.parts.Err()
}

// pipeline decodes a part and the parts after it while they arrive, then applies the step after them.
func (p *putStream) pipeline(part *wire.Request) error {
	var after *wire.Request
	var err error
	p.parts.Parts("part", func() *wire.Request {
		next, isPart := part, true
		if part = nil; next == nil {
			if next, isPart, err = p.ahead(); err != nil {
				return nil
			}
		}
		if !isPart {
			after = next
			return nil
		}
		return next
	})
	// After an invalid part a receive may still be pending. It ends with the stream, when this error is returned.
	if invalid := p.parts.Err(); invalid != nil {
		return invalid
	}
	if err != nil {
		return err
	}
	return p.apply(after)
}

func (p *putStream) base(address string) error {
	if p.parts != nil || p.cluster != nil {
		return decode.Refuse("base_address", stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED, "must be in the first message")
	}
	base, err := p.service.snapshot(p.turn.ctx, address, "base_address")
	p.cluster = base
	return err
}

func (p *putStream) delta(in *stowagev1.ClusterDelta) error {
	p.deltas++
	switch {
	case p.deltas > decode.MaxDeltas:
		return decode.Refuse("delta", stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT,
			"is number %d of the stream, at most %d are allowed", p.deltas, decode.MaxDeltas)
	case p.parts != nil:
		return decode.Refuse("delta", stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED, "must not come with parts")
	case p.cluster == nil:
		return decode.Refuse("base_address", stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED, "is required before deltas")
	case !p.reserved: // later deltas copy about as much and release the previous copy
		if err := reserve(p.stream.Context(), p.cluster, in); err != nil {
			return err
		}
		p.reserved = true
	}
	r := decode.On(p.turn.ctx, p.cluster)
	r.Delta("delta", in)
	if err := r.Err(); err != nil {
		return err
	}
	p.cluster = r.Cluster()
	return nil
}

func (p *putStream) end(in *stowagev1.PutSnapshotEnd) error {
	p.ended = true
	address := in.GetAddress()
	switch {
	case p.parts != nil:
		p.cluster = p.parts.Cluster()
	case p.cluster == nil: // no step before: check that the snapshot is cached
		c, err := p.service.snapshot(p.turn.ctx, address, "end.address")
		p.cluster = c
		return err
	}
	if in != nil && in.Address != nil {
		if _, err := decode.Address(address, "end.address"); err != nil {
			return err
		}
		if address != p.cluster.Address {
			return rpcerror.AddressMismatch(address, p.cluster.Address)
		}
	}
	c, err := p.cluster.Compact(p.turn.ctx)
	if err != nil {
		return err
	}
	p.cluster = c
	return nil
}
