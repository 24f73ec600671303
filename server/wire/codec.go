package wire

import (
	"errors"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Encoded is an encoded message.
type Encoded []byte

// Buffered is an encoded message whose buffer gRPC frees once it has written it.
type Buffered interface {
	Buffer() mem.Buffer
	// Size returns the number of bytes of the message.
	Size() int
}

// PlainBytes bounds messages that gRPC decodes itself, in servers that receive all other messages into a *Request: messages of
// gRPC's own services, and requests without a field. Nothing else bounds the work of decoding them.
const PlainBytes = 64 << 10

var errTooLarge = errors.New("the message is larger than any request of the method")

// Codec is gRPC's protobuf codec. It also receives into a *Request and sends an Encoded or a Buffered.
type Codec struct {
	encoding.CodecV2
	// Plain bounds the size of other received messages, 0 for no bound.
	Plain int
}

// NewCodec returns the codec.
func NewCodec() Codec { return Codec{CodecV2: encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case Encoded:
		return mem.BufferSlice{mem.SliceBuffer(v)}, nil
	case Buffered:
		return mem.BufferSlice{v.Buffer()}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*Request); ok {
		r.receive(data)
		return nil
	}
	if c.Plain > 0 && data.Len() > c.Plain {
		return errTooLarge
	}
	return c.CodecV2.Unmarshal(data, v)
}
