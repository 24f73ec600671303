package loopback

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// frame is a message in its wire form.
type frame struct{ bytes []byte }

// late is a message that is made when it is sent.
type late struct{ frame func() []byte }

// pieces is a message as it was received, in the buffers it came in. Who has it frees them.
type pieces struct{ buffers mem.BufferSlice }

// frames is a codec that passes messages on as they are, a frame in one piece and pieces without looking at them.
type frames struct{}

var _ encoding.CodecV2 = frames{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case *pieces:
		return v.buffers, nil
	case *late:
		return mem.BufferSlice{mem.SliceBuffer(v.frame())}, nil
	}
	return mem.BufferSlice{mem.SliceBuffer(v.(*frame).bytes)}, nil
}

func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	if p, ok := v.(*pieces); ok {
		data.Ref()
		p.buffers = data
		return nil
	}
	v.(*frame).bytes = data.Materialize()
	return nil
}
