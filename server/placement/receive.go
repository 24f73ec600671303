package placement

import (
	"errors"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/interceptor"
	"github.com/stowage-scheduler/stowage/server/wire"
	"github.com/stowage-scheduler/stowage/server/work"
)

const (
	// smallBytes is the size up to which a request is read before it is admitted, so that its work is known. It also has few
	// elements, at most fewElements.
	smallBytes  = 64 << 10
	fewElements = 512
)

// arrive begins the turn of a large request, which is work to read, and weighs it.
func (t *turn) arrive(in *wire.Request, table *count.Table) error {
	if err := t.begin(work.Size{Bytes: int64(in.Len())}, 1); err != nil {
		return err
	}
	return t.weigh(in, table)
}

// weigh counts the contents of a request before it is decoded. It refuses lists that are too long, charges the memory that the
// request takes when it is decoded, and begins the turn if decoding it is work.
func (t *turn) weigh(in *wire.Request, table *count.Table) error {
	size, err := t.reserve(in, table)
	items := max(size.Items, size.Beside/2, size.Largest/2)
	if err != nil || items <= fewElements {
		return err
	}
	more := work.Size{Items: items}
	if t.before.Bytes == 0 {
		more.Bytes = int64(in.Len())
	}
	if err := t.begin(more, 1); err != nil || size.Beside <= manyFields && !in.LongElement {
		return err
	}
	return t.takePlace()
}

// manyFields is the number of fields, beside clusters or in an element of a cluster, from which on decoding a request takes longer than
// a turn. It cannot give its seat back meanwhile.
const manyFields = 64 << 10

// places are for requests that decode in one go. There are fewer places than seats, so that other requests have their turns.
type places chan struct{}

// takePlace waits until the request may decode in one go, until leavePlace is called.
func (t *turn) takePlace() (err error) {
	if t.places == nil || t.placed {
		return nil
	}
	t.placed, err = t.waitForPlace()
	return err
}

// waitForPlace waits for a place to decode in one go, and reports whether it has one.
func (t *turn) waitForPlace() (entered bool, err error) {
	err = t.blocking(func() error {
		select {
		case t.places <- struct{}{}:
			entered = true
			return nil
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	})
	if err == nil {
		err = t.ctx.Err() // its turn may be over
	}
	return entered, err
}

// inPlace decodes a part of a request of some bytes. A part that may have many fields waits for a place as whole requests do.
func (t *turn) inPlace(bytes int, decode func() error) error {
	if t.places == nil || bytes <= 2*manyFields {
		return decode()
	}
	entered, err := t.waitForPlace()
	if entered {
		defer func() { <-t.places }()
	}
	if err != nil {
		return err
	}
	return decode()
}

// leavePlace ends what takePlace began.
func (t *turn) leavePlace() {
	if t.placed {
		t.placed = false
		<-t.places
	}
}

// reserve is weigh without a turn. A small request is decoded even if a list is too long, so that all its problems are reported.
func (t *turn) reserve(in *wire.Request, table *count.Table) (count.Size, error) {
	counted := table.Count
	if in.Len() <= smallBytes {
		counted = table.CountWhole
	}
	size, err := counted(t.ctx, in.Pieces())
	if excess, ok := errors.AsType[*count.Excess](err); ok {
		return size, decode.Refuse(excess.Field, stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT, "%s", excess.Description())
	}
	in.LongElement = size.Largest > manyFields
	if err == nil {
		err = interceptor.ReserveDecoded(t.ctx, in.Len(), size.Bytes)
	}
	return size, err
}

// decode decodes a request. It returns the errors of the request's fields if there are any, otherwise fallback.
func (t *turn) decode(in *wire.Request, table *count.Table, fallback error) error {
	weigh := t.weigh
	if in.Len() > smallBytes {
		weigh = t.arrive
	}
	if err := weigh(in, table); err != nil {
		return err
	}
	if err := in.Decode(); err != nil {
		return decodeError(err, fallback)
	}
	return nil
}
