package stowage

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Violation is a malformed field of the request.
type Violation struct {
	Field string // its path, such as "context.cluster.nodes[3].taints[0].effect"
	// Reason is the machine-readable reason. Description is for people, and may change.
	Reason      stowagev1.ViolationReason
	Description string
}

// Failure is the details of an error of a call.
type Failure struct {
	Code    codes.Code
	Message string
	// Reason is unspecified if the error is not from a Stowage server.
	Reason stowagev1.ErrorReason
	// Metadata is the error's data by key, such as the address of an unknown snapshot: see ErrorReason.
	Metadata   map[string]string
	Violations []Violation
	// RetryAfter is the server's delay before a retry, 0 for none.
	RetryAfter time.Duration
}

// Details returns the details of an error of a call. Their Code is OK for nil.
func Details(err error) Failure {
	s := status.Convert(err)
	out := Failure{Code: s.Code(), Message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.Domain == stowagev1.ErrorDomain {
				out.Reason = stowagev1.ErrorReasonOf(d.Reason)
				out.Metadata = d.Metadata
			}
		case *errdetails.BadRequest:
			for _, v := range d.FieldViolations {
				out.Violations = append(out.Violations, Violation{
					Field: v.Field, Reason: stowagev1.ViolationReasonOf(v.Reason), Description: v.Description,
				})
			}
		case *errdetails.RetryInfo:
			out.RetryAfter = d.RetryDelay.AsDuration()
		}
	}
	return out
}
