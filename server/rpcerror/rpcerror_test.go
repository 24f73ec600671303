package rpcerror_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
)

func TestErrors(t *testing.T) {
	info := func(reason string) *errdetails.ErrorInfo {
		return &errdetails.ErrorInfo{Reason: reason, Domain: "stowage-scheduler.github.io"}
	}
	retry := &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)}
	invalid := &decode.Error{Violations: []decode.Violation{{Field: "pod", Description: "is required"}, {Description: "more"}}}
	for name, test := range map[string]struct {
		err     error
		code    codes.Code
		details []any
	}{
		"invalid": {rpcerror.Invalid(invalid), codes.InvalidArgument, []any{
			info("INVALID_REQUEST"),
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: "pod", Description: "is required"}, {Description: "more"},
			}},
		}},
		"overloaded":   {rpcerror.Overloaded(time.Second), codes.ResourceExhausted, []any{info("OVERLOADED"), retry}},
		"rate limited": {rpcerror.RateLimited(time.Second), codes.ResourceExhausted, []any{info("RATE_LIMITED"), retry}},
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
