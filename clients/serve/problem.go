package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// fail answers with an error, which follows from a body that did not arrive in time.
func (s *server) fail(w http.ResponseWriter, body *arrival, err error) {
	if body.late {
		err = &httpError{status: http.StatusRequestTimeout, detail: fmt.Sprintf("the body did not arrive within %v", s.MaximumReceive)}
	}
	fail(w, err)
}

// httpError is an error with an HTTP status.
type httpError struct {
	status int
	detail string
	after  time.Duration // when the request can be made again; 0 if that does not help
}

func (e *httpError) Error() string { return e.detail }

func badRequest(format string, args ...any) error {
	return &httpError{status: http.StatusBadRequest, detail: fmt.Sprintf(format, args...)}
}

// statuses are the HTTP statuses of gRPC's codes. Others are the caller's fault: 400.
var statuses = map[codes.Code]int{
	codes.Canceled: 499, codes.DeadlineExceeded: http.StatusGatewayTimeout, codes.ResourceExhausted: http.StatusTooManyRequests,
	codes.Unavailable: http.StatusServiceUnavailable, codes.Internal: http.StatusInternalServerError, codes.Unknown: http.StatusInternalServerError,
	codes.Unauthenticated: http.StatusBadGateway, codes.PermissionDenied: http.StatusBadGateway,
}

// tooLarge are the statuses of the server's reasons for which a code has another status: the same request is never answered.
var tooLarge = map[string]int{
	"REQUEST_TOO_LARGE": http.StatusRequestEntityTooLarge, "SNAPSHOT_TOO_LARGE": http.StatusRequestEntityTooLarge,
	"ANSWER_TOO_LARGE": http.StatusUnprocessableEntity,
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*httpError](err); ok {
		refuse(w, e.status, e.after, verbs.Problem{Detail: e.detail})
		return
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuse(w, http.StatusRequestEntityTooLarge, 0, verbs.Problem{Detail: fmt.Sprintf("the body has more than %d bytes", e.Limit)})
		return
	}
	if e, ok := errors.AsType[*verbs.InvalidError](err); ok {
		refuse(w, http.StatusBadRequest, 0, e.Problems...)
		return
	}
	s := status.Convert(err)
	code, ok := statuses[s.Code()]
	if !ok {
		code = http.StatusBadRequest
	}
	var after time.Duration
	if s.Code() == codes.Unavailable { // until it has restarted
		after = time.Second
	}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			after = max(d.GetRetryDelay().AsDuration(), time.Second)
		case *errdetails.ErrorInfo:
			if other, ok := tooLarge[d.GetReason()]; ok {
				code = other
			}
		}
	}
	refuse(w, code, after, verbs.Problem{Detail: s.Message()})
}

// refuse writes problem details as RFC 9457 has them. after is when the request can be made again; 0 if that does not help.
func refuse(w http.ResponseWriter, code int, after time.Duration, problems ...verbs.Problem) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout))
	w.Header().Set("Content-Type", "application/problem+json")
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	w.WriteHeader(code)
	title := http.StatusText(code)
	if title == "" {
		title = "Client Closed Request"
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(struct {
		Title  string          `json:"title"`
		Status int             `json:"status"`
		Errors []verbs.Problem `json:"errors"`
	}{title, code, problems})
}
