// Package rpcerror builds the service's gRPC errors, as proto/stowage/v1/error.proto defines them: a status with a
// google.rpc.ErrorInfo, whose reason is an ErrorReason and whose domain is stowagev1.ErrorDomain, and the details of that
// reason.
//
// The constructor fixes the status message. A cause is for the server's log only.
package rpcerror

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Error is a gRPC status with an optional cause.
type Error struct {
	status *status.Status
	cause  error
}

func (e *Error) Error() string { return e.status.Err().Error() }

// GRPCStatus returns the status that the client receives.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Unwrap returns the cause of an internal error, for the log.
func (e *Error) Unwrap() error { return e.cause }

// Invalid returns INVALID_REQUEST with the request's field violations.
func Invalid(e *decode.Error) error {
	bad := &errdetails.BadRequest{}
	for _, v := range e.Violations {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field:       v.Field,
			Description: v.Description,
			Reason:      v.Reason.Short(),
		})
	}
	return build(codes.InvalidArgument, stowagev1.ErrorReason_ERROR_REASON_INVALID_REQUEST, e.Error(), nil, bad)
}

// Overloaded returns OVERLOADED: the in-flight limit is exceeded.
func Overloaded(limit int64, retryAfter time.Duration) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_OVERLOADED,
		"too many request bytes in flight", limited("max_in_flight_bytes", limit), retryInfo(retryAfter))
}

// OutOfRoom returns OVERLOADED: a client holds as much memory as it may. what names the memory.
func OutOfRoom(what string, retryAfter time.Duration) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_OVERLOADED,
		"the client holds too many bytes of "+what, nil, retryInfo(retryAfter))
}

// Busy returns OVERLOADED: the processors have too much work to answer in time.
func Busy(retryAfter time.Duration) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_OVERLOADED,
		"too much work to answer in time", nil, retryInfo(retryAfter))
}

// RateLimited returns RATE_LIMITED: the rate limit is exceeded.
func RateLimited(perSecond float64, retryAfter time.Duration) error {
	decimal := strconv.FormatFloat(perSecond, 'f', -1, 64)
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_RATE_LIMITED,
		"request rate limit exceeded", limited("max_requests_per_second", decimal), retryInfo(retryAfter))
}

// QuotaExceeded returns RATE_LIMITED: a tenant's quota of calls is used up.
func QuotaExceeded(tenant string, perSecond float64, retryAfter time.Duration) error {
	decimal := strconv.FormatFloat(perSecond, 'f', -1, 64)
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_RATE_LIMITED,
		"the quota of calls of tenant "+tenant+" is used up", limited("calls_per_second", decimal).with("tenant", tenant),
		retryInfo(retryAfter))
}

// Unauthenticated returns UNAUTHENTICATED: the call has no valid identity.
func Unauthenticated(why string) error {
	return build(codes.Unauthenticated, stowagev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, why, nil)
}

// CannotAuthenticate returns UNAUTHENTICATED with code UNAVAILABLE: a token cannot be verified now. The cause is for the log.
func CannotAuthenticate(cause error) error {
	e := build(codes.Unavailable, stowagev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "the token cannot be verified now", nil)
	e.cause = cause
	return e
}

// Forbidden returns FORBIDDEN: no rule lets a caller call a method. Without a method no rule names the caller.
func Forbidden(caller, method string) error {
	what := "no rule names " + caller
	if method != "" {
		what = caller + " may not call " + method
	}
	return build(codes.PermissionDenied, stowagev1.ErrorReason_ERROR_REASON_FORBIDDEN, what, metadata{"caller": caller})
}

// UnknownSnapshot returns UNKNOWN_SNAPSHOT: the snapshot is not in the server's cache.
func UnknownSnapshot(address string) error {
	return build(codes.FailedPrecondition, stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT,
		"snapshot "+address+" not found; put it again", metadata{"address": address})
}

// AddressMismatch returns ADDRESS_MISMATCH: the content of a put snapshot does not have the expected address.
func AddressMismatch(expected, actual string) error {
	return build(codes.InvalidArgument, stowagev1.ErrorReason_ERROR_REASON_ADDRESS_MISMATCH,
		"the snapshot's address is "+actual+", not "+expected, metadata{"address": actual, "expectedAddress": expected})
}

// SnapshotTooLarge returns SNAPSHOT_TOO_LARGE: the snapshot alone exceeds the memory budget of the cache or of its tenant.
func SnapshotTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_SNAPSHOT_TOO_LARGE,
		fmt.Sprintf("the snapshot takes %d bytes, more than the snapshot budget of %d", bytes, limit),
		limited("max_snapshot_bytes", limit).with("bytes", bytes))
}

// StreamTooLarge returns SNAPSHOT_TOO_LARGE: the messages of a put alone exceed the in-flight limit.
func StreamTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_SNAPSHOT_TOO_LARGE,
		fmt.Sprintf("the stream has %d bytes, more than the in-flight limit of %d", bytes, limit),
		limited("max_in_flight_bytes", limit).with("bytes", bytes))
}

// RequestTooLarge returns REQUEST_TOO_LARGE: a message alone exceeds the in-flight limit once it is decoded.
func RequestTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_REQUEST_TOO_LARGE,
		fmt.Sprintf("the request counts as %d bytes by what it contains, more than the in-flight limit of %d", bytes, limit),
		limited("max_in_flight_bytes", limit).with("bytes", bytes))
}

// BodyTooLarge returns REQUEST_TOO_LARGE: the body of a request alone takes more memory, once it is decoded, than a client can have.
func BodyTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_REQUEST_TOO_LARGE,
		fmt.Sprintf("the body takes up to %d bytes once it is decoded, more than the %d that a client can have; gRPC takes less", bytes, limit),
		metadata{}.with("bytes", bytes))
}

// JSONTooLarge returns ANSWER_TOO_LARGE: the answer as JSON takes more memory than a client can have.
func JSONTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_ANSWER_TOO_LARGE,
		fmt.Sprintf("the answer takes up to %d bytes as JSON, more than the %d that a client can have; gRPC takes less", bytes, limit),
		metadata{}.with("bytes", bytes))
}

// AnswerTooLarge returns ANSWER_TOO_LARGE: the caller does not accept messages of that size.
func AnswerTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_ANSWER_TOO_LARGE,
		fmt.Sprintf("the answer has %d bytes, more than the %d that the caller accepts: raise the limit of received messages of the "+
			"connection and declare it in the header %s", bytes, limit, answersize.Header),
		limited(answersize.Header, limit).with("bytes", bytes))
}

// Cancelled returns CANCELLED: the call's context was done before the response was ready.
func Cancelled(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return build(codes.DeadlineExceeded, stowagev1.ErrorReason_ERROR_REASON_CANCELLED,
			"deadline exceeded before the response was ready", nil)
	}
	return build(codes.Canceled, stowagev1.ErrorReason_ERROR_REASON_CANCELLED,
		"call cancelled before the response was ready", nil)
}

// InternalMessage is the message of every INTERNAL status.
const InternalMessage = "internal error; see the server's log for this trace"

// Internal returns INTERNAL. The cause is for the log.
func Internal(cause error) error {
	e := build(codes.Internal, stowagev1.ErrorReason_ERROR_REASON_INTERNAL, InternalMessage, nil)
	e.cause = cause
	return e
}

// metadata is the metadata of an ErrorInfo, so that no caller parses a message.
type metadata map[string]string

// limited is the metadata of an error about a limit, by its name in ServerLimits.
func limited(name string, value any) metadata {
	return metadata{"limit": name}.with("limitValue", value)
}

func (m metadata) with(key string, value any) metadata {
	m[key] = fmt.Sprint(value)
	return m
}

func retryInfo(after time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
}

func build(
	code codes.Code, reason stowagev1.ErrorReason, message string, about metadata, details ...protoadapt.MessageV1,
) *Error {
	info := &errdetails.ErrorInfo{Reason: reason.Short(), Domain: stowagev1.ErrorDomain, Metadata: about}
	s := status.New(code, message)
	// WithDetails fails only for details that do not marshal.
	if detailed, err := s.WithDetails(append([]protoadapt.MessageV1{info}, details...)...); err == nil {
		s = detailed
	}
	return &Error{status: s}
}
