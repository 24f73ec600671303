package gateway

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// answerFactor bounds the memory of a decoded answer and its JSON, in relation to its encoding: see TestAnswersTakeWhatTheyCount.
const answerFactor = 32

// call is a call underway.
type call struct {
	caller *caller
	conn   *grpc.ClientConn
	memory *ledger.Outside
	// invalid is why the body is no request, if it is none: grpc-gateway drops the details of errors of decoding.
	invalid error
	// failed is the error of the answer. Its details decide the status and the headers of HTTP, for which grpc-gateway has no hook in streams.
	failed *status.Status
}

// fail notes the error of the answer, and returns it.
func (c *call) fail(err error) error {
	if c.invalid != nil {
		err = c.invalid
	}
	c.failed = status.Convert(err)
	return err
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// router calls the gRPC server by the connection of the caller.
type router struct{}

// Invoke implements grpc.ClientConnInterface.
func (router) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	c := callOf(ctx)
	if err := c.conn.Invoke(ctx, method, request, answer, options...); err != nil {
		return err
	}
	return c.memory.Answer(answerBytes(answer))
}

// NewStream implements grpc.ClientConnInterface.
func (router) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	c := callOf(ctx)
	stream, err := c.conn.NewStream(ctx, d, method, options...)
	if err != nil {
		return nil, err
	}
	return &countedStream{ClientStream: stream, memory: c.memory}, nil
}

// countedStream counts each message of an answer until the next one, as grpc-gateway has written it then.
type countedStream struct {
	grpc.ClientStream
	memory *ledger.Outside
	held   int64
}

// RecvMsg implements grpc.ClientStream.
func (s *countedStream) RecvMsg(m any) error {
	s.memory.Answered(s.held)
	s.held = 0
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	bytes := answerBytes(m)
	if err := s.memory.Answer(bytes); err != nil {
		return err
	}
	s.held = bytes
	return nil
}

func answerBytes(m any) int64 {
	if m, ok := m.(proto.Message); ok {
		return answerFactor * int64(proto.Size(m))
	}
	return 0
}

// writer writes answers to callers who read them.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	call    *call
}

// Unwrap lets http.ResponseController find the methods of the writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// tooLarge are the statuses of reasons for which RESOURCE_EXHAUSTED has another one, which callers take for a reason to retry.
var tooLarge = map[string]int{
	stowagev1.ErrorReason_ERROR_REASON_REQUEST_TOO_LARGE.Short():  http.StatusRequestEntityTooLarge,
	stowagev1.ErrorReason_ERROR_REASON_SNAPSHOT_TOO_LARGE.Short(): http.StatusRequestEntityTooLarge,
	stowagev1.ErrorReason_ERROR_REASON_ANSWER_TOO_LARGE.Short():   http.StatusUnprocessableEntity,
}

// WriteHeader implements http.ResponseWriter. grpc-gateway sets the header of the scheme to a text for people.
func (w *writer) WriteHeader(code int) {
	for _, d := range w.call.failed.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.GetRetryDelay().AsDuration().Seconds()))))
		case *errdetails.ErrorInfo:
			if other, ok := tooLarge[d.GetReason()]; ok {
				code = other
			}
		}
	}
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *writer) Write(text []byte) (written int, err error) {
	for written < len(text) || written == 0 {
		if err := w.control.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
			return written, err
		}
		n, err := w.ResponseWriter.Write(text[written:min(written+sendBytes, len(text))])
		written += n
		if err != nil || len(text) == 0 {
			return written, err
		}
	}
	return written, nil
}

// fail is a runtime.ErrorHandlerFunc.
func fail(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	runtime.DefaultHTTPErrorHandler(ctx, mux, m, w, r, callOf(ctx).fail(err))
}

// streamError is a runtime.StreamErrorHandlerFunc.
func streamError(ctx context.Context, err error) *status.Status {
	return status.Convert(callOf(ctx).fail(err))
}
