package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stowage-scheduler/stowage/clients/bounded"
)

// objectWeight is what the room counts for an object, as objects take some eight times the memory of their text, and 4 KiB at least.
const objectWeight = 512

// weight is the text that a file counts as: its length, or more for many small objects, but never more than the largest body.
func weight(text []byte, maximum int64) int64 {
	if bytes.HasPrefix(text, []byte("\x1f\x8b")) || bounded.HasAlias(text) { // may be anything once it is unpacked
		return maximum
	}
	objects := bytes.Count(text, []byte("kind"))
	for _, escaped := range []string{`\u006`, `\x6`, `\U0000006`} { // letters of that word
		objects += bytes.Count(text, []byte(escaped))
	}
	return min(max(int64(len(text)), objectWeight*int64(objects)), maximum)
}

// share is what a request has of the room and of the processors.
type share struct {
	of    *server
	bytes int64
	used  int64 // by its objects
	seat  bool
}

// occupies waits until a part of a semaphore is free, and takes it. What is free is taken even if MaximumWait is over, as on a busy machine.
func (s *server) occupies(ctx context.Context, of *semaphore.Weighted, part int64) bool {
	if of.TryAcquire(part) {
		return true
	}
	wait, cancel := context.WithTimeout(ctx, s.MaximumWait)
	defer cancel()
	return of.Acquire(wait, part) == nil
}

// resize makes the share larger or smaller. While it waits for room it holds only the bytes that have arrived: small bodies that unpack to
// large ones would otherwise fill the room and wait for each other.
func (s *share) resize(ctx context.Context, arrived, bytes int64) error {
	if bytes <= s.bytes {
		s.keep(bytes)
		return nil
	}
	s.keep(arrived)
	if !s.of.occupies(ctx, s.of.room, bytes-s.bytes) {
		return errFull
	}
	s.bytes = bytes
	return nil
}

// keep gives back the rest of the share.
func (s *share) keep(bytes int64) {
	s.of.room.Release(s.bytes - bytes)
	s.bytes = bytes
}

// take counts objects that are made.
func (s *share) take(bytes int64) error {
	if s.used += bytes; s.used > s.of.MaximumBodies {
		return &httpError{
			status: http.StatusUnprocessableEntity,
			detail: fmt.Sprintf("the workloads become more pods than %d bytes have room for", s.of.MaximumBodies),
		}
	}
	return s.extend(s.used)
}

// extend makes a smaller share larger, without waiting: the request already holds objects and a processor.
func (s *share) extend(bytes int64) error {
	if bytes <= s.bytes {
		return nil
	}
	more := min(max(bytes-s.bytes, step), s.of.MaximumBodies-s.bytes)
	if !s.of.room.TryAcquire(more) {
		return errFull
	}
	s.bytes += more
	return nil
}

// step is by how much a share grows at least.
const step = 4 << 20

// sit takes a seat: as many requests are answered at a time as there are processors.
func (s *share) sit(ctx context.Context) error {
	if !s.of.occupies(ctx, s.of.seats, 1) {
		return busy("other requests occupy the processors")
	}
	s.seat = true
	return nil
}

// rise leaves the seat.
func (s *share) rise() {
	if s.seat {
		s.of.seats.Release(1)
		s.seat = false
	}
}

// release gives everything back.
func (s *share) release() {
	s.rise()
	s.keep(0)
}

var errFull = busy("the objects of other requests take the room")

// busy is the error of a request that can be made again in a second.
func busy(why string) error {
	return &httpError{status: http.StatusTooManyRequests, detail: "too many requests are being answered: " + why, after: time.Second}
}

// answer is an answer that is being written. It takes more room once it is larger than the share of its objects.
type answer struct {
	text  bytes.Buffer
	share *share
}

func (a *answer) Write(text []byte) (int, error) {
	o := &a.share.of.Options
	size := int64(a.text.Len() + len(text))
	if maximum := min(o.MaximumAnswer, o.MaximumBodies); size > maximum {
		return 0, &httpError{
			status: http.StatusUnprocessableEntity, detail: fmt.Sprintf("the answer has more than %d bytes: ask about fewer pods or nodes", maximum),
		}
	}
	if err := a.share.extend(size); err != nil {
		return 0, err
	}
	return a.text.Write(text)
}

// maximumNotes bounds the notes beside an answer.
const maximumNotes = 64 << 10

// notes are the first notes beside an answer.
type notes struct{ text bytes.Buffer }

func (n *notes) Write(text []byte) (int, error) {
	n.text.Write(text[:min(len(text), maximumNotes-n.text.Len())])
	return len(text), nil
}
