package decode

import (
	"fmt"
	"slices"
	"strconv"
)

// Violation is one thing that is wrong with a request.
type Violation struct {
	// Field is the path of the field, in the messages' own words, such as "context.cluster.nodes[3].taints[0].effect".
	Field string
	// Description says what is wrong and what is allowed.
	Description string
}

// Error says what is wrong with a request.
type Error struct {
	// Violations are in the order of the request's fields, at most MaxViolations; if there are more, one without a
	// field at the end says so. Never empty.
	Violations []Violation
}

func (e *Error) Error() string {
	first := e.Violations[0]
	s := first.Description
	if first.Field != "" {
		s = first.Field + ": " + s
	}
	if n := len(e.Violations) - 1; n > 0 {
		s += " (and " + strconv.Itoa(n) + " more)"
	}
	return s
}

// Within is the error in a message that has the request in a field.
func (e *Error) Within(field string) *Error {
	out := &Error{Violations: slices.Clone(e.Violations)}
	for i := range out.Violations {
		v := &out.Violations[i]
		switch {
		case v.Field != "":
			v.Field = field + "." + v.Field
		case i == 0:
			v.Field = field
		}
	}
	return out
}

// problems collects violations.
type problems struct {
	violations []Violation
	bytes      int
	full       bool // a violation did not fit any more
}

// refuse reports that what is at a path is wrong.
func (p *problems) refuse(at path, format string, args ...any) {
	if p.full {
		return
	}
	v := Violation{Field: at.String(), Description: fmt.Sprintf(format, args...)}
	size := len(v.Field) + len(v.Description)
	if len(p.violations) == MaxViolations || p.bytes+size > MaxViolationBytes {
		p.full = true
		return
	}
	p.violations = append(p.violations, v)
	p.bytes += size
}

// err returns what was reported.
func (p *problems) err() error {
	if len(p.violations) == 0 {
		return nil
	}
	if p.full {
		p.violations = append(p.violations, Violation{Description: "there are more problems than these"})
	}
	return &Error{Violations: p.violations}
}
