package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/ledger"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

// body is the body of a request, which has been read.
type body struct {
	*bytes.Reader
	text []byte
	call *call
}

// Close implements io.Closer.
func (*body) Close() error { return nil }

// firstBytes is the first buffer of a body without a length.
const firstBytes = 4 << 10

// receive reads the body of a request, and counts it and what it will be decoded to.
func (g *Gateway) receive(w http.ResponseWriter, r *http.Request, c *call) (*body, error) {
	if by := r.Header.Get("Content-Encoding"); by != "" && by != "identity" { // its decompressed size is unknown in advance
		return nil, httpError(http.StatusUnsupportedMediaType, codes.Unimplemented, fmt.Sprintf("requests must not be compressed, and are by %q", by))
	}
	if r.ContentLength > g.settings.MaximumBody {
		return nil, g.tooLarge()
	}
	control := http.NewResponseController(w)
	if g.settings.ReceiveTimeout > 0 {
		_ = control.SetReadDeadline(time.Now().Add(g.settings.ReceiveTimeout))
	}
	text, err := read(r.Body, r.ContentLength, g.settings.MaximumBody, c.memory)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, g.tooLarge()
	case err != nil:
		return nil, err
	}
	_ = control.SetReadDeadline(time.Time{}) // net/http would end the call at the deadline of its body
	if err := c.memory.Receive(decoded(text)); err != nil {
		return nil, err
	}
	return &body{bytes.NewReader(text), text, c}, nil
}

func (g *Gateway) tooLarge() error {
	return httpError(http.StatusRequestEntityTooLarge, codes.ResourceExhausted,
		fmt.Sprintf("the body has more than max-receive-message-bytes, %d", g.settings.MaximumBody))
}

var errTooLarge = errors.New("the body is too large")

// read reads a body of a length, or less than 0 if that is not known. A buffer counts before it is there.
func read(from io.Reader, length, most int64, memory *ledger.Outside) ([]byte, error) {
	size := length + 1 // a byte more, so that the end is seen without a larger buffer
	if length < 0 {
		size = firstBytes
	}
	if err := memory.Receive(size); err != nil {
		return nil, err
	}
	text := make([]byte, 0, size)
	for {
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case int64(len(text)) > most:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return text, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, &runtime.HTTPStatusError{HTTPStatus: http.StatusRequestTimeout, Err: rpcerror.Cancelled(context.DeadlineExceeded)}
		case err != nil:
			return nil, violation("", stowagev1.ViolationReason_VIOLATION_REASON_MALFORMED, err.Error())
		}
		if len(text) == cap(text) {
			if err := memory.Receive(int64(2 * cap(text))); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, 2*cap(text)), text...)
		}
	}
}

// What parts of JSON take at most once they are a message, beside their text, which strings take again: an object the largest message,
// an element of a list a pointer or a number in a slice that grew, a name the entry of a map.
const (
	elementBytes = 32
	nameBytes    = 96
)

// decoded bounds the memory that a message takes, and its encoding in gRPC. It counts before anything is decoded, as the gRPC server does.
func decoded(text []byte) int64 {
	var objects, elements, names int64
	for _, c := range text { // those in strings count, too
		switch c {
		case '{':
			objects++
		case ',', '[':
			elements++
		case ':':
			names++
		}
	}
	return 2*int64(len(text)) + objects*largestMessage() + elements*elementBytes + names*nameBytes
}

// largestMessage is the size of the largest message of the contract.
var largestMessage = sync.OnceValue(func() (most int64) {
	protoregistry.GlobalTypes.RangeMessages(func(m protoreflect.MessageType) bool {
		if m.Descriptor().ParentFile().Package() == stowagev1.File_stowage_v1_context_proto.Package() {
			most = max(most, int64(reflect.TypeOf(m.Zero().Interface()).Elem().Size()))
		}
		return true
	})
	return most
})
