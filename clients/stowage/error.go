package stowage

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Violation is a field of the request that is malformed.
type Violation struct {
	Field       string // its path, such as "context.cluster.nodes[3].taints[0].effect"
	Description string
}

// Failure is what an error of a call says.
type Failure struct {
	Code    codes.Code
	Message string
	// Reason is unspecified if the error is not from a Stowage server.
	Reason     stowagev1.ErrorReason
	Violations []Violation
	// RetryAfter is when to try again, 0 if the server does not say.
	RetryAfter time.Duration
}

// Details reads an error of a call; its Code is OK if there is none.
func Details(err error) Failure {
	s := status.Convert(err)
	out := Failure{Code: s.Code(), Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.Domain == stowagev1.ErrorDomain {
				out.Reason = stowagev1.ErrorReason(stowagev1.ErrorReason_value["ERROR_REASON_"+d.Reason])
			}
		case *errdetails.BadRequest:
			for _, v := range d.FieldViolations {
				out.Violations = append(out.Violations, Violation{Field: v.Field, Description: v.Description})
			}
		case *errdetails.RetryInfo:
			out.RetryAfter = d.RetryDelay.AsDuration()
		}
	}
	return out
}
