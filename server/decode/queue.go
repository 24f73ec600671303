package decode

import (
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// queueField is the number of PlaceRequest.queue.
const queueField = 2

// ReadPlace decodes a PlaceRequest, but for its cluster. Queue entries that say no more than which template, how many and
// which group, as those of long queues do, it reads by hand into messages that lie side by side: one by one they would cost
// more than to place their pods.
func ReadPlace(request []byte, into *stowagev1.PlaceRequest) error {
	var q queue
	rest := request[:0]
	for len(request) > 0 {
		field, kind, n := protowire.ConsumeField(request)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if field == queueField && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(request)
			entry, _ := protowire.ConsumeBytes(request[tag:n])
			if err := q.take(entry); err != nil {
				return err
			}
		} else {
			rest = append(rest, request[:n]...)
		}
		request = request[n:]
	}
	if err := Unmarshal(rest, into); err != nil {
		return err
	}
	into.Queue = q.all
	return nil
}

// queue is queue entries that are read.
type queue struct {
	all  []*stowagev1.PendingPods
	free []queued
}

// queued is a queue entry with its parts.
type queued struct {
	pending stowagev1.PendingPods
	pod     stowagev1.Pod
	index   stowagev1.Pod_TemplateIndex
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
	if e.read(b) {
		return nil
	}
	if err := proto.Unmarshal(b, &e.pending); err != nil {
		return err
	}
	var p problems
	at := (*path)(nil).item("queue", len(q.all)-1)
	p.refuseMisfit(&at, b, &e.pending)
	return p.err()
}

// read reads an entry, and reports whether there is nothing in it that is left to the protobuf library.
func (e *queued) read(b []byte) bool {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		switch {
		case field == 1 && kind == protowire.BytesType && e.pending.Pod == nil:
			var pod []byte
			if pod, n = protowire.ConsumeBytes(b); n < 0 || !e.readPod(pod) {
				return false
			}
			e.pending.Pod = &e.pod
		case field == 2 && kind == protowire.VarintType:
			var count uint64
			if count, n = protowire.ConsumeVarint(b); count > math.MaxUint32 {
				return false
			}
			e.count = uint32(count)
			e.pending.Count = &e.count
		case field == 3 && kind == protowire.BytesType:
			e.pending.PodGroup, n = consumeText(b)
		default:
			return false
		}
		if n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

func (e *queued) readPod(b []byte) bool {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		switch {
		case field == 1 && kind == protowire.BytesType:
			e.pod.Name, n = consumeText(b)
		case field == 2 && kind == protowire.VarintType:
			var index uint64
			if index, n = protowire.ConsumeVarint(b); index > math.MaxUint32 {
				return false
			}
			e.index.TemplateIndex = uint32(index)
			e.pod.Source = &e.index
		default:
			return false
		}
		if n < 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// consumeText reads a string and the bytes that it takes, less than 0 if it is none.
func consumeText(b []byte) (string, int) {
	text, n := protowire.ConsumeBytes(b)
	if n >= 0 && !utf8.Valid(text) {
		return "", -1
	}
	return string(text), n
}
