// Package rpcerror holds the errors that the service answers with, as proto/stowage/v1/error.proto states them: a gRPC
// status with a google.rpc.ErrorInfo whose reason is an ErrorReason and whose domain is stowagev1.ErrorDomain, and the details that go
// with that reason.
//
// What an answer says is fixed by the constructor. Causes that are not the caller's business stay out of it; they are
// for the log.
package rpcerror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Error is an answer that is no result.
type Error struct {
	status *status.Status
	cause  error
}

func (e *Error) Error() string { return e.status.Err().Error() }

// GRPCStatus is what the caller gets.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Unwrap is the cause of an internal error, for the log.
func (e *Error) Unwrap() error { return e.cause }

// Invalid says what is wrong with a request.
func Invalid(e *decode.Error) error {
	bad := &errdetails.BadRequest{}
	for _, v := range e.Violations {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field:       v.Field,
			Description: v.Description,
		})
	}
	return build(codes.InvalidArgument, stowagev1.ErrorReason_ERROR_REASON_INVALID_REQUEST, e.Error(), bad)
}

// Overloaded says that too many bytes are in flight.
func Overloaded(retryAfter time.Duration) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_OVERLOADED,
		"too many bytes of requests are in flight", retryInfo(retryAfter))
}

// RateLimited says that requests come too fast.
func RateLimited(retryAfter time.Duration) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_RATE_LIMITED,
		"requests come faster than the server's rate limit", retryInfo(retryAfter))
}

// UnknownSnapshot says that the server does not have a snapshot.
func UnknownSnapshot(address string) error {
	return build(codes.FailedPrecondition, stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT,
		"the server does not have the snapshot "+address+", put it again")
}

// AddressMismatch says that what was put is not what the caller takes it for.
func AddressMismatch(stated, actual string) error {
	return build(codes.InvalidArgument, stowagev1.ErrorReason_ERROR_REASON_ADDRESS_MISMATCH,
		"what was put has the address "+actual+", not "+stated)
}

// SnapshotTooLarge says that a snapshot does not fit even alone.
func SnapshotTooLarge(bytes int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_SNAPSHOT_TOO_LARGE,
		fmt.Sprintf("the snapshot takes %d bytes, more than all snapshots together may", bytes))
}

// StreamTooLarge says that the messages of a put are larger together than what the server takes at a time.
func StreamTooLarge(bytes, limit int64) error {
	return build(codes.ResourceExhausted, stowagev1.ErrorReason_ERROR_REASON_SNAPSHOT_TOO_LARGE,
		fmt.Sprintf("%d bytes were put, and %d are the most that may be on their way", bytes, limit))
}

// Cancelled says that the context of a call ended before the answer was there.
func Cancelled(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return build(codes.DeadlineExceeded, stowagev1.ErrorReason_ERROR_REASON_CANCELLED,
			"the deadline passed before the answer was there")
	}
	return build(codes.Canceled, stowagev1.ErrorReason_ERROR_REASON_CANCELLED,
		"the caller went away before the answer was there")
}

// Internal says that the server has a defect, and nothing about it. The cause is for the log.
func Internal(cause error) error {
	e := build(codes.Internal, stowagev1.ErrorReason_ERROR_REASON_INTERNAL, "the server failed, its log tells why")
	e.cause = cause
	return e
}

func retryInfo(after time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}
}

func build(code codes.Code, reason stowagev1.ErrorReason, message string, details ...protoadapt.MessageV1) *Error {
	info := &errdetails.ErrorInfo{
		Reason: strings.TrimPrefix(reason.String(), "ERROR_REASON_"),
		Domain: stowagev1.ErrorDomain,
	}
	s := status.New(code, message)
	// Fails only for details that do not marshal, and these do.
	if detailed, err := s.WithDetails(append([]protoadapt.MessageV1{info}, details...)...); err == nil {
		s = detailed
	}
	return &Error{status: s}
}
