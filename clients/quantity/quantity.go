// Package quantity bounds the parsing of untrusted quantities. resource.ParseQuantity computes with a number of any size: the ten
// characters 1e99999999 keep it busy for hours (k8s.io/apimachinery/pkg/api/resource/quantity.go, v0.37).
//
// Objects from an API server need no bounds: the API server has parsed their quantities itself.
package quantity

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Bounds of Check, far above the needs of any resource: an int64 has 19 digits.
const (
	maximumLength         = 100
	maximumExponentDigits = 3
)

// Errors of Check.
var (
	ErrLength   = errors.New("a quantity must have at most 100 characters")
	ErrExponent = errors.New("the exponent of a quantity must have at most 3 digits")
)

// Check returns why a text is too large to be parsed as a quantity. It accepts other invalid text, which parsing reports.
func Check(text string) error {
	if len(text) > maximumLength {
		return ErrLength
	}
	e := strings.IndexAny(text, "eE")
	if e < 0 {
		return nil
	}
	if len(strings.TrimLeft(text[e+1:], "+-0")) > maximumExponentDigits {
		return ErrExponent
	}
	return nil
}

// Parse is resource.ParseQuantity for a text of any size.
func Parse(text string) (resource.Quantity, error) {
	if err := Check(text); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(text)
}

// Decode decodes a quantity of a JSON text. It is for WithUnmarshalers of package json.
func Decode(in *jsontext.Decoder, out *resource.Quantity) error {
	value, err := in.ReadValue()
	if err != nil {
		return err
	}
	if err := checkValue(value); err != nil {
		return fmt.Errorf("%s: %w", in.StackPointer(), err)
	}
	return out.UnmarshalJSON(value)
}

// checkValue checks a JSON value: a string or a number. Quantity.UnmarshalJSON does not decode escapes, so a string with one is no
// quantity.
func checkValue(value jsontext.Value) error { return Check(strings.Trim(string(value), `"`)) }
