package quantity

// FieldError is an error of a field of an object.
type FieldError struct {
	Path string
	Err  error
}

func (e *FieldError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the error without the field.
func (e *FieldError) Unwrap() error { return e.Err }
