package loopback

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// frame is a message in its wire form.
type frame struct{ bytes []byte }

// frames is a codec that sends and receives frames as they are.
type frames struct{}

var _ encoding.CodecV2 = frames{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(*frame).bytes)}, nil
}

func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*frame).bytes = data.Materialize()
	return nil
}

// lengths is a codec that keeps nothing of a message but its length.
type lengths struct{}

var _ encoding.CodecV2 = lengths{}

func (lengths) Name() string { return "proto" }

func (lengths) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(countAnswer(*v.(*uint64)))}, nil
}

func (lengths) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*uint64) = uint64(data.Len())
	return nil
}
