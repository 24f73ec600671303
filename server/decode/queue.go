package decode

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Field numbers of PlaceRequest.queue and PlaceStreamRequest.place.
const (
	queueField = 2
	placeField = 1
)

// ReadPlace decodes a PlaceRequest except for its cluster and pods. It reads queue entries into messages that are allocated
// together, as allocating them one by one would take longer than placing their pods. The messages share memory with request.
func ReadPlace(request []byte, into *stowagev1.PlaceRequest) (*RequestPods, error) {
	var q queue
	rest, err := splitField(request, queueField, q.add)
	if err == nil {
		err = Unmarshal(rest, into)
	}
	if err != nil {
		return nil, err
	}
	into.Queue = q.all
	return &RequestPods{queue: q.pods}, nil
}

// ReadPlaceStream decodes a PlaceStreamRequest, and its PlaceRequest as ReadPlace does.
func ReadPlaceStream(request []byte, into *stowagev1.PlaceStreamRequest) (*RequestPods, error) {
	var place joined
	rest, err := splitField(request, placeField, place.add)
	if err == nil {
		err = Unmarshal(rest, into)
	}
	if err != nil || !place.present {
		return nil, err
	}
	into.Place = new(stowagev1.PlaceRequest)
	a, err := ReadPlace(place.bytes, into.Place)
	if invalid, ok := errors.AsType[*Error](err); ok {
		err = invalid.Within("place")
	}
	return a, err
}

// splitField passes each value of a length-delimited field to use, and returns the other fields of an encoded message.
func splitField(message []byte, field protowire.Number, use func(value []byte) error) (rest []byte, err error) {
	for len(message) > 0 {
		found, kind, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if found == field && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			value, _ := protowire.ConsumeBytes(message[tag:n])
			if err := use(value); err != nil {
				return nil, err
			}
		} else {
			rest = append(rest, message[:n]...)
		}
		message = message[n:]
	}
	return rest, nil
}

// joined is a message that may be split among several fields, which protobuf merges.
type joined struct {
	bytes   []byte
	present bool
}

func (j *joined) add(part []byte) error {
	j.bytes, j.present = append(j.bytes, part...), true
	return nil
}

// queue is the entries of a queue, and their pods as encoded.
type queue struct {
	all  []*stowagev1.PendingPods
	pods [][]byte
	free []entry
}

// entry is a queue entry. pod replaces its pod.
type entry struct {
	pending stowagev1.PendingPods
	pod     stowagev1.Pod
	count   uint32
}

// entriesAtOnce is the number of entries allocated together.
const entriesAtOnce = 512

// add reads one more entry.
func (q *queue) add(b []byte) error {
	if len(q.free) == 0 {
		q.free = make([]entry, min(entriesAtOnce, 1+len(q.all)))
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

// read reads an entry and returns its pod as encoded. It fails on encodings and pods that are left to unmarshal.
func (e *entry) read(b []byte) (pod []byte, ok bool) {
	in := scan{data: b}
	if in.next(sized(1)) {
		pod = in.bytes()
		e.pending.Pod = &e.pod
	}
	if in.next(number(2)) {
		e.count = in.uint32Value()
		e.pending.Count = &e.count
	}
	e.pending.PodGroup = in.text(3)
	return pod, in.usual()
}

// unmarshal reads an entry that read failed on.
func (e *entry) unmarshal(at *path, b []byte, pod *[]byte) error {
	proto.Reset(&e.pending)
	if err := unmarshal(at, b, &e.pending); err != nil {
		return err
	}
	if full := e.pending.Pod; full != nil {
		*pod = encoded(full)
		e.pending.Pod = &e.pod
	}
	return nil
}
