package decode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Violation is a problem of a request. Its description says what is allowed.
type Violation = content.Error

// Error is the problems of a request.
type Error struct {
	// Violations is in the order of the request's fields and never empty. After MaxViolations, one without a field follows.
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

// Within prefixes the paths with a field.
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

const (
	required      = stowagev1.ViolationReason_VIOLATION_REASON_REQUIRED
	unknownField  = stowagev1.ViolationReason_VIOLATION_REASON_UNKNOWN_FIELD
	unknownValue  = stowagev1.ViolationReason_VIOLATION_REASON_UNKNOWN_VALUE
	malformed     = stowagev1.ViolationReason_VIOLATION_REASON_MALFORMED
	invalidSyntax = stowagev1.ViolationReason_VIOLATION_REASON_INVALID_SYNTAX
	outOfRange    = stowagev1.ViolationReason_VIOLATION_REASON_OUT_OF_RANGE
	tooLong       = stowagev1.ViolationReason_VIOLATION_REASON_TOO_LONG
	wrongCount    = stowagev1.ViolationReason_VIOLATION_REASON_WRONG_COUNT
	duplicate     = stowagev1.ViolationReason_VIOLATION_REASON_DUPLICATE
	notFound      = stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND
	notAllowed    = stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED
	truncated     = stowagev1.ViolationReason_VIOLATION_REASON_TRUNCATED
)

// problems collects violations.
type problems struct {
	violations []Violation
	bytes      int
	full       bool // a violation did not fit any more
}

func (p *problems) refuse(at path, reason stowagev1.ViolationReason, format string, args ...any) {
	if p.full {
		return
	}
	v := Violation{Field: at.String(), Reason: reason, Description: fmt.Sprintf(format, args...)}
	size := len(v.Field) + len(v.Reason.Short()) + len(v.Description)
	if len(p.violations) == MaxViolations || p.bytes+size > MaxViolationBytes {
		p.full = true
		return
	}
	p.violations = append(p.violations, v)
	p.bytes += size
}

func (p *problems) err() error {
	if len(p.violations) == 0 {
		return nil
	}
	if p.full {
		p.violations = append(p.violations, Violation{Reason: truncated, Description: "there are more problems than these"})
	}
	return &Error{Violations: p.violations}
}

// within checks the length of a list. Callers do not walk lists that are too long.
func (p *problems) within(at *path, field string, length, limit int) bool {
	if length <= limit {
		return true
	}
	p.refuse(at.field(field), wrongCount, "has %d entries, at most %d are allowed", length, limit)
	return false
}

func (p *problems) name(at *path, field, value string, longest int) {
	if p.require(value != "", at.field(field)) {
		p.length(at.field(field), value, longest)
	}
}

// require refuses an absent field.
func (p *problems) require(present bool, at path) bool {
	if !present {
		p.refuse(at, required, "is required")
	}
	return present
}

// between refuses a number out of bounds.
func (p *problems) between(at path, number, least, most int64) {
	if number < least || number > most {
		p.refuse(at, outOfRange, "is %d, %d to %d are allowed", number, least, most)
	}
}

// atLeast refuses a number that is too small.
func (p *problems) atLeast(at path, number, least int64) {
	if number < least {
		p.refuse(at, outOfRange, "is %d, at least %d is required", number, least)
	}
}

// eachName checks a list of names.
func (p *problems) eachName(at *path, field string, values []string, longest int) {
	for i, v := range values {
		if v == "" {
			p.refuse(at.item(field, i), required, "is empty")
		}
		p.length(at.item(field, i), v, longest)
	}
}

// short checks the length of a text that may be empty.
func (p *problems) short(at *path, field, value string, longest int) {
	if len(value) > longest {
		p.length(at.field(field), value, longest)
	}
}

func (p *problems) length(at path, value string, longest int) {
	if len(value) > longest {
		p.refuse(at, tooLong, "has %d bytes, at most %d are allowed", len(value), longest)
	}
}

// path is the path of a field as a chain of steps; nil is the request. The steps are on the stacks of the functions that decode,
// and become text only when a problem is reported.
type path struct {
	parent *path
	name   string // of the field
	// element is the position of an element of a list from 1, elementOfMap for the element of a key, or 0 for the field itself.
	element int
	key     string
}

const elementOfMap = -1

// field is a field of the message at p.
func (p *path) field(name string) path { return path{parent: p, name: name} }

// item is an element of a repeated field of the message at p.
func (p *path) item(name string, i int) path { return path{parent: p, name: name, element: i + 1} }

// entry is an entry of a map field of the message at p.
func (p *path) entry(name, key string) path {
	return path{parent: p, name: name, element: elementOfMap, key: key}
}

// String renders the path, for example `cluster.nodes[3].labels["zone"]`.
func (p *path) String() string {
	var steps [32]*path
	n := 0
	for ; p != nil && n < len(steps); p = p.parent {
		steps[n] = p
		n++
	}
	var b strings.Builder
	for i := n - 1; i >= 0; i-- {
		s := steps[i]
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		switch {
		case s.element > 0:
			b.WriteString("[" + strconv.Itoa(s.element-1) + "]")
		case s.element == elementOfMap:
			b.WriteString("[" + quote(s.key) + "]")
		}
	}
	return b.String()
}

// quote quotes text of a request, shortened.
func quote(s string) string {
	const longest = 64
	if len(s) > longest {
		return strconv.Quote(strings.ToValidUTF8(s[:longest], "")) + "..."
	}
	return strconv.Quote(s)
}
