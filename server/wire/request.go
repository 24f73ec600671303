package wire

import (
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Request is a request whose cluster stays in the frames.
type Request struct {
	// Message is everything but the cluster and what Read and Take take.
	Message proto.Message
	// Cluster is a stowage.v1.Cluster, nil if the request has none. It is there until Free.
	Cluster Pieces
	// Known, if not nil, is shown a request without a cluster before it is decoded. It says whether it need not be.
	Known func(encoded []byte) bool
	// Read, if not nil, is given a request that is not known, without its cluster, and returns what is to be decoded of it.
	Read func(encoded []byte) []byte
	// Take, if not nil, is given the messages of the field TakeField, which Message then has none of. It keeps no bytes.
	Take      func(encoded []byte) error
	TakeField protowire.Number

	// Late says that what is wrong with the request is for Err, and not for who receives it: gRPC ends a stream at once
	// when it cannot decode a message, whatever the handler still has to say about those before.
	Late bool

	field  protowire.Number
	frames mem.BufferSlice
	err    error
}

// NewRequest returns a request to receive into; the message has the cluster in the given field.
func NewRequest(m proto.Message, cluster protowire.Number) *Request {
	return &Request{Message: m, field: cluster}
}

// Free gives the frames back.
func (r *Request) Free() {
	r.frames.Free()
	r.frames, r.Cluster = nil, nil
}

// Err is what is wrong with a request that is Late.
func (r *Request) Err() error { return r.err }

var errMalformed = errors.New("the request is not a protobuf message")

// receive takes the request from frames that the caller frees.
func (r *Request) receive(frames mem.BufferSlice) error {
	var rest, buffer []byte
	in := NewReader(piecesOf(frames))
	for !in.Done() {
		all := *in
		field, n, ok := in.Next()
		if !ok {
			return errMalformed
		}
		if field == r.field && n >= 0 {
			if r.Cluster == nil {
				r.Cluster = Pieces{}
			}
			r.Cluster = append(r.Cluster, in.Cut(n)...)
			continue
		}
		if r.Take != nil && field == r.TakeField && n >= 0 {
			if err := r.Take(in.Take(n, &buffer)); err != nil {
				return err
			}
			buffer = buffer[:0]
			continue
		}
		if n > 0 {
			in.Skip(n)
		}
		all.each(all.left-in.left, func(b []byte) { rest = append(rest, b...) })
	}
	if r.Known != nil && r.Cluster == nil && r.Known(rest) {
		return nil
	}
	if r.Read != nil {
		rest = r.Read(rest)
	}
	if err := proto.Unmarshal(rest, r.Message); err != nil {
		return err
	}
	if r.Cluster != nil {
		frames.Ref()
		r.frames = frames
	}
	return nil
}
