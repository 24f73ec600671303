package decode

import (
	"errors"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// queueField is the number of PlaceRequest.queue.
const queueField = 2

// ReadPlace decodes a PlaceRequest, but for its cluster and its pods. Queue entries it reads by hand into messages that lie
// side by side: one by one they would cost more than to place their pods.
func ReadPlace(request []byte, into *stowagev1.PlaceRequest) (*Asked, error) {
	var q queue
	var rest []byte
	for len(request) > 0 {
		field, kind, n := protowire.ConsumeField(request)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if field == queueField && kind == protowire.BytesType {
			if err := q.take(value(request[:n])); err != nil {
				return nil, err
			}
		} else {
			rest = append(rest, request[:n]...)
		}
		request = request[n:]
	}
	if err := Unmarshal(rest, into); err != nil {
		return nil, err
	}
	into.Queue = q.all
	return &Asked{queue: q.pods}, nil
}

// placeField is the number of PlaceStreamRequest.place.
const placeField = 1

// ReadPlaceStream decodes a PlaceStreamRequest as ReadPlace does what it has.
func ReadPlaceStream(request []byte, into *stowagev1.PlaceStreamRequest) (_ *Asked, err error) {
	var rest, place []byte
	for len(request) > 0 {
		field, kind, n := protowire.ConsumeField(request)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if field == placeField && kind == protowire.BytesType {
			if place == nil {
				place = []byte{}
			}
			place = append(place, value(request[:n])...)
		} else {
			rest = append(rest, request[:n]...)
		}
		request = request[n:]
	}
	if err := Unmarshal(rest, into); err != nil || place == nil {
		return nil, err
	}
	into.Place = new(stowagev1.PlaceRequest)
	a, err := ReadPlace(place, into.Place)
	if wrong, ok := errors.AsType[*Error](err); ok {
		err = wrong.Within("place")
	}
	return a, err
}

// value returns the value of a field of bytes.
func value(field []byte) []byte {
	_, _, n := protowire.ConsumeTag(field)
	v, _ := protowire.ConsumeBytes(field[n:])
	return v
}

// queue is queue entries that are read, and the pods of each as they are encoded.
type queue struct {
	all  []*stowagev1.PendingPods
	pods [][]byte
	free []queued
}

// queued is a queue entry with the pod that stands for its own.
type queued struct {
	pending stowagev1.PendingPods
	pod     stowagev1.Pod
	count   uint32
}

// queuedAtOnce is for how many entries memory is taken at once.
const queuedAtOnce = 512

// take reads one more entry.
func (q *queue) take(b []byte) error {
	if len(q.free) == 0 {
		q.free = make([]queued, min(queuedAtOnce, 1+len(q.all)))
	}
	e := &q.free[0]
	q.free = q.free[1:]
	q.all = append(q.all, &e.pending)
	pod, ok := e.read(b)
	q.pods = append(q.pods, pod)
	if !ok {
		at := (*path)(nil).item("queue", len(q.all)-1)
		return e.unmarshal(&at, b, &q.pods[len(q.pods)-1])
	}
	return nil
}

// unmarshal reads an entry that is not read by hand.
func (e *queued) unmarshal(at *path, b []byte, pod *[]byte) error {
	proto.Reset(&e.pending)
	if err := proto.Unmarshal(b, &e.pending); err != nil {
		return err
	}
	var p problems
	if p.refuseLost(at, b, &e.pending); len(p.violations) > 0 {
		return p.err()
	}
	if full := e.pending.Pod; full != nil {
		*pod = encoded(full)
		e.pod.Unread, e.pending.Pod = full.Unread, &e.pod
	}
	return nil
}

// read reads an entry and returns its pod as it is encoded. It reports whether there is nothing in it that is left to the
// protobuf library.
func (e *queued) read(b []byte) (pod []byte, ok bool) {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		b = b[n:]
		switch {
		case field == 1 && kind == protowire.BytesType && e.pending.Pod == nil:
			if pod, n = protowire.ConsumeBytes(b); n < 0 || hasUnread(pod) {
				return nil, false
			}
			e.pending.Pod = &e.pod
		case field == 2 && kind == protowire.VarintType:
			var count uint64
			if count, n = protowire.ConsumeVarint(b); count > math.MaxUint32 {
				return nil, false
			}
			e.count = uint32(count)
			e.pending.Count = &e.count
		case field == 3 && kind == protowire.BytesType:
			e.pending.PodGroup, n = consumeText(b)
		default:
			return nil, false
		}
		if n < 0 {
			return nil, false
		}
		b = b[n:]
	}
	return pod, true
}

// hasUnread reports whether a pod has what answers repeat, or is malformed.
func hasUnread(pod []byte) bool {
	for len(pod) > 0 {
		field, _, n := protowire.ConsumeField(pod)
		if n < 0 || field == podUnread {
			return true
		}
		pod = pod[n:]
	}
	return false
}

// consumeText reads a string and the bytes that it takes, less than 0 if it is none.
func consumeText(b []byte) (string, int) {
	text, n := protowire.ConsumeBytes(b)
	if n >= 0 && !utf8.Valid(text) {
		return "", -1
	}
	return string(text), n
}
