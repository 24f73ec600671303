package placement

import (
	"bytes"
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// handlers are the handlers that the services register, by method.
type handlers map[string]func(ctx context.Context, raw []byte) error

func (h handlers) RegisterService(d *grpc.ServiceDesc, service any) {
	receive := func(raw []byte, into any) error {
		return wire.NewCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, into)
	}
	for _, m := range d.Methods {
		h[m.MethodName] = func(ctx context.Context, raw []byte) error {
			_, err := m.Handler(service, ctx, func(into any) error { return receive(raw, into) }, nil)
			return err
		}
	}
	for _, s := range d.Streams {
		h[s.StreamName] = func(ctx context.Context, raw []byte) error {
			return s.Handler(service, &oneMessage{ctx: ctx, raw: raw})
		}
	}
}

// oneMessage is a stream with a message.
type oneMessage struct {
	grpc.ServerStream
	ctx context.Context
	raw []byte
}

func (s *oneMessage) Context() context.Context { return s.ctx }
func (s *oneMessage) SendMsg(any) error        { return nil }

func (s *oneMessage) RecvMsg(into any) error {
	return wire.NewCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(s.raw)}, into)
}

// TestDecodingHasASeat: while all seats are taken, no method decodes a large request. Once one is free, it is decoded, and refused for
// its unknown fields.
func TestDecodingHasASeat(t *testing.T) {
	s, all := New(1<<20, nil), handlers{}
	limiter := admission.New(admission.Settings{Seats: 1})
	s.SetAdmission(limiter)
	Register(all, s)
	if len(all) < 13 {
		t.Errorf("only %d methods", len(all))
	}
	var raw []byte
	for len(raw) < 2*smallBytes {
		raw = protowire.AppendVarint(protowire.AppendTag(raw, 1000, protowire.VarintType), 1)
	}
	for method, call := range all {
		if method == "GetServerInfo" { // gRPC decodes it, and it has no field
			continue
		}
		t.Run(method, func(t *testing.T) {
			held, err := limiter.Admit(t.Context(), 0, time.Millisecond, 1)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- call(t.Context(), raw) }()
			select {
			case err := <-ended:
				t.Errorf("decoded without a seat: %v", err)
				held.Release()
				return
			case <-time.After(30 * time.Millisecond):
			}
			held.Release()
			if err := <-ended; status.Code(err) != codes.InvalidArgument {
				t.Errorf("with a seat: %v", err)
			}
		})
	}
}

// TestCountedBeforeItIsCut: a large request with too long a list is refused for it before the cluster is cut out of it, which would
// notice that the end is malformed.
func TestCountedBeforeItIsCut(t *testing.T) {
	s, all := New(1<<20, nil), handlers{}
	Register(all, s)
	raw := bytes.Repeat([]byte{0x12, 0}, 1_000_001) // PlaceRequest.queue
	raw = append(raw, 0xff)
	err := all["Place"](t.Context(), raw)
	if want := "queue: has 1000001 entries, at most 1000000 are allowed"; status.Convert(err).Message() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
