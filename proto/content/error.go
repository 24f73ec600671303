package content

import (
	"errors"
	"fmt"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Error is a field violation in a cluster or a delta.
type Error struct {
	// Field is the path of the field, such as "node_pods[0].removed_pod_counts[1].count".
	Field string
	// Reason is why the field is refused.
	Reason stowagev1.ViolationReason
	// Description describes the violation, such as "node not found in the snapshot".
	Description string
}

func (e *Error) Error() string { return e.Field + ": " + e.Description }

func refuse(field string, reason stowagev1.ViolationReason, format string, args ...any) error {
	return &Error{field, reason, fmt.Sprintf(format, args...)}
}

// prefixField prefixes the path of an item's error with the item's field.
func prefixField(field string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{field + "." + e.Field, e.Reason, e.Description}
	}
	return &Error{field, stowagev1.ViolationReason_VIOLATION_REASON_MALFORMED, err.Error()}
}
