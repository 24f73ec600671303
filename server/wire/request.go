package wire

import (
	"errors"
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Request is a request whose cluster stays in the frames.
//
// Receiving a request only keeps its frames: gRPC receives without waiting for a turn to compute, and the decoded size must be known
// before decoding. Decode decodes the request. Err reports a malformed request.
type Request struct {
	// Message receives the request with an empty cluster, unless Read is set.
	Message proto.Message
	// Cluster is an encoded stowage.v1.Cluster, nil if the request has none. It is valid until Free.
	Cluster Pieces
	// LongElement is whether decoding an element of the cluster takes longer than a turn.
	LongElement bool
	// Read, if set, decodes the encoded request with an empty cluster. It replaces proto.Unmarshal into Message, and may keep the
	// bytes.
	Read func(rest []byte) error

	path   []protowire.Number
	frames mem.BufferSlice
	err    error
}

// NewRequest returns a request to receive into. path lists the field numbers from the message to its cluster; a request without one has
// none.
func NewRequest(m proto.Message, path ...protowire.Number) *Request {
	return &Request{Message: m, path: path}
}

// Free releases the frames.
func (r *Request) Free() {
	r.frames.Free()
	r.frames, r.Cluster = nil, nil
}

// Err returns the error of decoding the request.
func (r *Request) Err() error { return r.err }

var errMalformed = errors.New("the request is not a valid protobuf message")

// receive keeps frames that the caller frees.
func (r *Request) receive(frames mem.BufferSlice) {
	frames.Ref()
	r.frames = frames
}

// Len returns the size of the encoded request.
func (r *Request) Len() int { return r.frames.Len() }

// Pieces returns the encoded request. It is valid until Free, and if the request has no cluster, until Decode.
func (r *Request) Pieces() Pieces { return piecesOf(r.frames) }

// IsOnly reports whether the request has a length-delimited field and nothing else.
func (r *Request) IsOnly(field protowire.Number) bool {
	in := NewReader(r.Pieces())
	found, n, ok := in.Next()
	return ok && found == field && n >= 0 && n == in.Left()
}

// Decode decodes the request. It frees the frames unless the request has a cluster.
func (r *Request) Decode() error {
	r.err = r.cut(r.frames)
	if r.err != nil || r.Cluster == nil {
		r.Free()
	}
	return r.err
}

// cut splits the cluster off and decodes the rest.
func (r *Request) cut(frames mem.BufferSlice) error {
	rest, ok := r.splitCluster(NewReader(piecesOf(frames)), r.path)
	if !ok {
		return errMalformed
	}
	return r.read(rest)
}

// tagBytes is enough for a tag and a length.
const tagBytes = 20

// splitCluster appends the cluster at the path to r.Cluster and returns the message with an empty cluster in its place.
func (r *Request) splitCluster(in *Reader, path []protowire.Number) (rest []byte, ok bool) {
	from := *in // what is between it and in belongs to the rest
	for !in.Done() {
		before := in.left
		field, n, ok := in.Next()
		if !ok {
			return nil, false
		}
		if len(path) == 0 || field != path[0] || n < 0 {
			if n > 0 {
				in.Skip(n)
			}
			continue
		}
		rest = from.append(rest, from.left-before)
		var inner []byte
		if len(path) == 1 {
			if r.Cluster == nil {
				r.Cluster = Pieces{}
			}
			r.Cluster = append(r.Cluster, in.Cut(n)...)
		} else if inner, ok = r.splitCluster(NewReader(in.Cut(n)), path[1:]); !ok {
			return nil, false
		}
		rest = slices.Grow(rest, len(inner)+in.left+tagBytes)
		rest = protowire.AppendTag(rest, field, protowire.BytesType)
		rest = protowire.AppendBytes(rest, inner)
		from = *in
	}
	return from.append(rest, from.left), true
}

func (r *Request) read(rest []byte) error {
	if r.Read != nil {
		return r.Read(rest)
	}
	return proto.Unmarshal(rest, r.Message)
}
