package wire

import (
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Request is a request whose cluster stays in the frames.
//
// What is wrong with it is for Err, and not for gRPC, which would end a stream at once, before the handler has answered the
// messages before.
type Request struct {
	// Message is everything but the cluster, an empty one being in its place, and but for what Read takes otherwise.
	Message proto.Message
	// Cluster is a stowage.v1.Cluster, nil if the request has none. It is there until Free.
	Cluster Pieces
	// Read, if not nil, is given the encoded request without its cluster, in the place of its decoding into Message. It may
	// keep the bytes.
	Read func(rest []byte) error

	path   []protowire.Number
	frames mem.BufferSlice
	err    error
}

// NewRequest returns a request to receive into. The path is the fields that lead to the cluster, from the message on.
func NewRequest(m proto.Message, path ...protowire.Number) *Request {
	return &Request{Message: m, path: path}
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
	rest, ok := r.without(NewReader(piecesOf(frames)), r.path)
	if !ok {
		return errMalformed
	}
	return r.read(rest)
}

// leastRest is how many bytes are taken for the rest of a message that comes before its cluster.
const leastRest = 256

// without returns a message with an empty cluster in the place of the one at the path, which it takes.
func (r *Request) without(in *Reader, path []protowire.Number) (rest []byte, ok bool) {
	for !in.Done() {
		all := *in
		field, n, ok := in.Next()
		switch {
		case !ok:
			return nil, false
		case field != path[0] || n < 0:
			if n > 0 {
				in.Skip(n)
			}
			if rest == nil {
				rest = make([]byte, 0, leastRest)
			}
			all.each(all.left-in.left, func(b []byte) { rest = append(rest, b...) })
			continue
		}
		var inner []byte
		if len(path) == 1 {
			if r.Cluster == nil {
				r.Cluster = Pieces{}
			}
			r.Cluster = append(r.Cluster, in.Cut(n)...)
		} else if inner, ok = r.without(NewReader(in.Cut(n)), path[1:]); !ok {
			return nil, false
		}
		if rest == nil { // contexts mostly come first, clusters alone
			rest = make([]byte, 0, len(inner)+in.left+leastRest)
		}
		rest = protowire.AppendTag(rest, field, protowire.BytesType)
		rest = protowire.AppendBytes(rest, inner)
	}
	return rest, true
}

func (r *Request) read(rest []byte) error {
	if r.Read != nil {
		return r.Read(rest)
	}
	return proto.Unmarshal(rest, r.Message)
}
