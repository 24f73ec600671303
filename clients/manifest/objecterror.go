package manifest

import (
	"errors"
	"iter"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	strictjson "sigs.k8s.io/json"

	"github.com/stowage-scheduler/stowage/clients/quantity"
)

// ObjectError is what is wrong with an object, or with a document that is none.
type ObjectError struct {
	// Object is the file and the object in it.
	Object string
	Err    error
}

func (e *ObjectError) Error() string { return e.Object + ": " + e.Err.Error() }

// Unwrap returns the error of the object.
func (e *ObjectError) Unwrap() error { return e.Err }

// Fields returns what is wrong by the paths of fields. The path is empty for what is wrong with the whole object.
func (e *ObjectError) Fields() iter.Seq2[string, string] {
	return func(yield func(path, detail string) bool) { fields(e.Err, yield) }
}

func fields(err error, yield func(path, detail string) bool) bool {
	var all []error
	switch joined := err.(type) {
	case interface{ Unwrap() []error }:
		all = joined.Unwrap()
	case utilerrors.Aggregate:
		all = joined.Errors()
	}
	for _, e := range all {
		if !fields(e, yield) {
			return false
		}
	}
	return len(all) > 0 || yield(fieldOf(err))
}

// fieldOf returns the path of an error, and the error without the path where it begins with it.
func fieldOf(err error) (path, detail string) {
	switch e := err.(type) {
	case *field.Error:
		return e.Field, e.ErrorBody()
	case *quantity.FieldError:
		return e.Path, e.Err.Error()
	}
	if e, ok := errors.AsType[*field.Error](err); ok {
		return e.Field, err.Error()
	}
	if e, ok := errors.AsType[strictjson.FieldError](err); ok {
		return e.FieldPath(), err.Error()
	}
	return "", err.Error()
}
