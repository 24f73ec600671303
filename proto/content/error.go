package content

import (
	"errors"
	"fmt"
)

// Error says what is wrong with a cluster or a delta.
type Error struct {
	// Field is the path of the field, in the messages' own words, such as "node_pods[0].removed_pod_counts[1].count".
	Field string
	// Description says what is wrong with it, such as "names no node of the snapshot".
	Description string
}

func (e *Error) Error() string { return e.Field + ": " + e.Description }

func refuse(field, format string, args ...any) error {
	return &Error{field, fmt.Sprintf(format, args...)}
}

// inside returns an error about an item as one about the field that states it.
func inside(field string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{field + "." + e.Field, e.Description}
	}
	return &Error{field, err.Error()}
}
