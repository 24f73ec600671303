package rpcerror_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

func TestErrors(t *testing.T) {
	info := func(reason string, metadata ...string) *errdetails.ErrorInfo {
		out := &errdetails.ErrorInfo{Reason: reason, Domain: "stowage-scheduler.github.io"}
		for pair := range slices.Chunk(metadata, 2) {
			if out.Metadata == nil {
				out.Metadata = make(map[string]string)
			}
			out.Metadata[pair[0]] = pair[1]
		}
		return out
	}
	retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)}
	invalid := &decode.Error{Violations: []decode.Violation{
		{Field: "pod", Reason: stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED, Description: "is required"},
		{Reason: stowagev1.ViolationReason_VIOLATION_REASON_TRUNCATED, Description: "more"},
	}}
	for name, test := range map[string]struct {
		err     error
		code    codes.Code
		details []any
	}{
		"invalid": {rpcerror.Invalid(invalid), codes.InvalidArgument, []any{
			info("INVALID_REQUEST"),
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: "pod", Reason: "REQUIRED", Description: "is required"}, {Reason: "TRUNCATED", Description: "more"},
			}},
		}},
		"overloaded": {rpcerror.Overloaded(100, time.Second), codes.ResourceExhausted, []any{
			info("OVERLOADED", "limit", "max_in_flight_bytes", "limitValue", "100"), retry,
		}},
		"rate limited": {rpcerror.RateLimited(2.5, time.Second), codes.ResourceExhausted, []any{
			info("RATE_LIMITED", "limit", "max_requests_per_second", "limitValue", "2.5"), retry,
		}},
		"rate limited, to many": {rpcerror.RateLimited(1e6, time.Second), codes.ResourceExhausted, []any{
			info("RATE_LIMITED", "limit", "max_requests_per_second", "limitValue", "1000000"), retry,
		}},
		"unauthenticated": {rpcerror.Unauthenticated("no token"), codes.Unauthenticated, []any{info("UNAUTHENTICATED")}},
		"cannot authenticate": {
			rpcerror.CannotAuthenticate(errors.New("the API server is away")), codes.Unavailable, []any{info("UNAUTHENTICATED")},
		},
		"forbidden":     {rpcerror.Forbidden("x", "Filter"), codes.PermissionDenied, []any{info("FORBIDDEN", "caller", "x")}},
		"without rules": {rpcerror.Forbidden("x", ""), codes.PermissionDenied, []any{info("FORBIDDEN", "caller", "x")}},
		"unknown snapshot": {rpcerror.UnknownSnapshot("abc"), codes.FailedPrecondition, []any{
			info("UNKNOWN_SNAPSHOT", "address", "abc"),
		}},
		"address mismatch": {rpcerror.AddressMismatch("abc", "def"), codes.InvalidArgument, []any{
			info("ADDRESS_MISMATCH", "address", "def", "expectedAddress", "abc"),
		}},
		"snapshot too large": {rpcerror.SnapshotTooLarge(200, 100), codes.ResourceExhausted, []any{
			info("SNAPSHOT_TOO_LARGE", "limit", "max_snapshot_bytes", "limitValue", "100", "bytes", "200"),
		}},
		"request too large": {rpcerror.RequestTooLarge(200, 100), codes.ResourceExhausted, []any{
			info("REQUEST_TOO_LARGE", "limit", "max_in_flight_bytes", "limitValue", "100", "bytes", "200"),
		}},
		"stream too large": {rpcerror.StreamTooLarge(200, 100), codes.ResourceExhausted, []any{
			info("SNAPSHOT_TOO_LARGE", "limit", "max_in_flight_bytes", "limitValue", "100", "bytes", "200"),
		}},
		"answer too large": {rpcerror.AnswerTooLarge(200, 100), codes.ResourceExhausted, []any{
			info("ANSWER_TOO_LARGE", "limit", "stowage-max-answer-bytes", "limitValue", "100", "bytes", "200"),
		}},
		"deadline": {
			rpcerror.Cancelled(fmt.Errorf("engine: %w", context.DeadlineExceeded)), codes.DeadlineExceeded,
			[]any{info("CANCELLED")},
		},
		"cancelled": {rpcerror.Cancelled(context.Canceled), codes.Canceled, []any{info("CANCELLED")}},
		"internal":  {rpcerror.Internal(errors.New("secret")), codes.Internal, []any{info("INTERNAL")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := status.Convert(test.err)
			if s.Code() != test.code {
				t.Errorf("code is %v, want %v", s.Code(), test.code)
			}
			if strings.Contains(s.Message(), "secret") {
				t.Errorf("the cause is in the message: %s", s.Message())
			}
			if diff := cmp.Diff(test.details, s.Details(), protocmp.Transform()); diff != "" {
				t.Errorf("details: -want +got:\n%s", diff)
			}
		})
	}
}
