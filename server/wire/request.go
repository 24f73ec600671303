package wire

import (
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Request is a request whose cluster stays in the frames.
//
// What is wrong with it is for Err, and not for gRPC, which would end a stream at once, whatever the handler still has to
// say about the messages before.
type Request struct {
	// Message is everything but the cluster and what Read takes otherwise.
	Message proto.Message
	// Cluster is a stowage.v1.Cluster, nil if the request has none. It is there until Free.
	Cluster Pieces
	// Read, if not nil, is given the encoded request without its cluster, in the place of its decoding into Message. It may
	// keep the bytes.
	Read func(rest []byte) error

	field  protowire.Number
	frames mem.BufferSlice
	err    error
}

// NoField is in place of a cluster's field where there is none.
const NoField protowire.Number = 0

// NewRequest returns a request to receive into; the message has the cluster in the given field.
func NewRequest(m proto.Message, cluster protowire.Number) *Request {
	return &Request{Message: m, field: cluster}
}

// Free gives the frames back.
func (r *Request) Free() {
	r.frames.Free()
	r.frames, r.Cluster = nil, nil
}

// Err is why a request that was received is none.
func (r *Request) Err() error { return r.err }

var errMalformed = errors.New("the request is not a protobuf message")

// receive takes the request from frames that the caller frees.
func (r *Request) receive(frames mem.BufferSlice) {
	if r.err = r.cut(frames); r.err != nil {
		r.Cluster = nil
	} else if r.Cluster != nil {
		frames.Ref()
		r.frames = frames
	}
}

// cut separates the cluster from the rest, and reads that.
func (r *Request) cut(frames mem.BufferSlice) error {
	if r.field == NoField {
		return r.read(frames.Materialize())
	}
	var rest []byte
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
		if n > 0 {
			in.Skip(n)
		}
		if rest == nil { // clusters mostly come first
			rest = make([]byte, 0, all.left)
		}
		all.each(all.left-in.left, func(b []byte) { rest = append(rest, b...) })
	}
	return r.read(rest)
}

func (r *Request) read(rest []byte) error {
	if r.Read != nil {
		return r.Read(rest)
	}
	return proto.Unmarshal(rest, r.Message)
}
