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
	// smallBytes is the size up to which a request is read before it is admitted, as its work is known then. It has few elements as
	// well, at most fewElements.
	smallBytes  = 64 << 10
	fewElements = 512
)

// arrive begins the turn of a request that is work to read, which its size tells.
func (t *turn) arrive(in *wire.Request) error {
	if in.Len() <= smallBytes {
		return nil
	}
	return t.begin(work.Size{Bytes: int64(in.Len())}, 1)
}

// weigh counts what a request contains before it is decoded. It refuses lists that are too long, charges the memory that the request
// takes when it is decoded, and begins the turn if decoding it is work.
func (t *turn) weigh(in *wire.Request, table *count.Table) error {
	size, err := t.reserve(in, table)
	if err != nil || size.Items <= fewElements {
		return err
	}
	more := work.Size{Items: size.Items}
	if t.before.Bytes == 0 {
		more.Bytes = int64(in.Len())
	}
	return t.begin(more, 1)
}

// reserve is weigh without a turn.
func (t *turn) reserve(in *wire.Request, table *count.Table) (count.Size, error) {
	size, err := table.Count(in.Pieces())
	if excess, ok := errors.AsType[*count.Excess](err); ok {
		return size, decode.Refuse(excess.Field, stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT, "%s", excess.Description())
	}
	if err == nil {
		err = interceptor.ReserveDecoded(t.ctx, in.Len(), size.Bytes)
	}
	return size, err
}

// decode decodes a request. Its errors are those of the request's fields if there are any, otherwise fallback.
func (t *turn) decode(in *wire.Request, table *count.Table, fallback error) error {
	err := t.arrive(in)
	if err == nil {
		err = t.weigh(in, table)
	}
	if err != nil {
		return err
	}
	if err := in.Decode(); err != nil {
		return decodeError(err, fallback)
	}
	return nil
}
