package stowagev1

import "strings"

// ErrorDomain is the domain of every google.rpc.ErrorInfo.
const ErrorDomain = "stowage-scheduler.github.io"

// Short is the reason's name in a google.rpc.ErrorInfo.
func (r ErrorReason) Short() string { return strings.TrimPrefix(r.String(), "ERROR_REASON_") }

// ErrorReasonOf is the reason with a short name, unspecified if there is none.
func ErrorReasonOf(short string) ErrorReason {
	return ErrorReason(ErrorReason_value["ERROR_REASON_"+short])
}

// Short is the reason's name in a google.rpc.BadRequest.FieldViolation.
func (r ViolationReason) Short() string { return strings.TrimPrefix(r.String(), "VIOLATION_REASON_") }

// ViolationReasonOf is the reason with a short name, unspecified if there is none.
func ViolationReasonOf(short string) ViolationReason {
	return ViolationReason(ViolationReason_value["VIOLATION_REASON_"+short])
}
