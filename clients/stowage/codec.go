package stowage

import (
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// codec is gRPC's codec for protobuf, with deterministic encoding of requests about snapshots, because the server caches responses by the
// encoding of the request.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok || snapshotOf(v) == nil {
		return c.CodecV2.Marshal(v)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}
