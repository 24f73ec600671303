package manifest

import (
	"errors"
	"iter"
	"strings"

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
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	} else if aggregate, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		all = aggregate.Errors()
	}
	for _, e := range all {
		if !fields(e, yield) {
			return false
		}
	}
	return len(all) > 0 || yield(fieldOf(err))
}

// fieldOf returns the path of an error, and the error without the path if it begins with it.
func fieldOf(err error) (path, detail string) {
	if e, ok := errors.AsType[*field.Error](err); ok {
		path = e.Field
	} else if e, ok := errors.AsType[*quantity.FieldError](err); ok {
		path = e.Path
	} else if e, ok := errors.AsType[strictjson.FieldError](err); ok {
		path = e.FieldPath()
	}
	return path, strings.TrimPrefix(err.Error(), path+": ")
}
