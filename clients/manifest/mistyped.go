package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/quantity"
)

// mistyped rewrites an error about a value of the wrong type in Kubernetes' words. It returns other errors unchanged.
func mistyped(raw []byte, err error) error {
	var odd *json.UnmarshalTypeError
	if !errors.As(err, &odd) {
		return err
	}
	is := strings.TrimPrefix(odd.Value, "number ")
	if word, ok := valueWords[odd.Value]; ok {
		is = word
	}
	wanted, quote := typeWord(odd.Type), ""
	if odd.Type.Kind() == reflect.String && (odd.Value == "bool" || odd.Value == "number") {
		quote = ": put it in quotes"
	}
	message := fmt.Errorf("must be %s, is %s%s", wanted, is, quote)
	if path := pathAt(raw, odd.Offset); path != nil {
		return &quantity.FieldError{Path: path.String(), Err: message}
	}
	return message
}

// valueWords are the words for the kinds of values in errors of encoding/json.
var valueWords = map[string]string{
	"array": "a list", "object": "an object", "bool": "a boolean", "number": "a number", "string": "a string",
}

func typeWord(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "a boolean"
	case k >= reflect.Int && k <= reflect.Uint64:
		return "an integer"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.Slice && t.Elem().Kind() != reflect.Uint8, k == reflect.Array:
		return "a list"
	case k == reflect.Pointer:
		return typeWord(t.Elem())
	}
	return "an object"
}

// pathAt returns the path of the value that ends at or contains an offset of a text; nil for the whole text.
func pathAt(raw []byte, offset int64) *field.Path {
	in := jsontext.NewDecoder(bytes.NewReader(raw))
	for in.InputOffset() < offset {
		if _, err := in.ReadToken(); err != nil {
			return nil
		}
	}
	var path *field.Path
	tokens := in.StackPointer().Tokens()
	depth := 0
	for token := range tokens {
		depth++
		kind, _ := in.StackIndex(depth)
		i, err := strconv.Atoi(token)
		switch {
		case kind == jsontext.KindBeginArray && err == nil:
			path = path.Index(i)
		case path == nil:
			path = field.NewPath(token)
		default:
			path = path.Child(token)
		}
	}
	return path
}
