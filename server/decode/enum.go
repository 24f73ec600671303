package decode

import "strings"

// enum returns the engine's value of an enum's number, the first value for number 1, and refuses other numbers. Callers replace 0
// if the contract has a default.
func enum[E interface {
	~int32
	String() string
}, V any](p *problems, at *path, field string, number E, values ...V) (v V, known bool) {
	if i := int(number) - 1; uint(i) < uint(len(values)) {
		return values[i], true
	}
	var names strings.Builder
	for i := range values {
		switch i {
		case 0:
		case len(values) - 1:
			names.WriteString(" or ")
		default:
			names.WriteString(", ")
		}
		names.WriteString(E(i + 1).String())
	}
	p.refuse(at.field(field), unknownValue, "must be %s", names.String())
	return v, false
}
