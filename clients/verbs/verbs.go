// Package verbs describes the questions of the command stowage to programs that put them for others: over HTTP, for an agent, from a page.
// Such callers hand over the objects. An answer cannot reach files, clusters or servers of the machine that it is made on.
package verbs

import (
	"context"
	"io"
	"strings"
)

// Kind is what a parameter takes.
type Kind string

// The kinds of parameters.
const (
	Text     Kind = "text"
	Number   Kind = "number"
	Switch   Kind = "switch" // true or false
	Duration Kind = "duration"
	File     Kind = "file" // the content of a file
)

// Verb is a question: a command of stowage.
type Verb struct {
	Name, Help string
	Parameters []Parameter
}

// Parameter returns the parameter of a name, nil if the verb has none.
func (v *Verb) Parameter(name string) *Parameter {
	for i := range v.Parameters {
		if v.Parameters[i].Name == name {
			return &v.Parameters[i]
		}
	}
	return nil
}

// Parameter is a flag or an argument of the command.
type Parameter struct {
	Name, Help string
	Kind       Kind
	// Values are all values that it may have; empty for any.
	Values   []string
	Default  string
	Repeated bool
	Required bool
	// Argument says that the command has it as an argument, without its name.
	Argument bool
}

// Schema returns the JSON Schema of one value.
func (p *Parameter) Schema() map[string]any {
	one := map[string]any{"type": "string"}
	switch p.Kind {
	case Number:
		one["type"] = "integer"
	case Switch:
		one["type"] = "boolean"
	}
	if len(p.Values) > 0 {
		one["enum"] = p.Values
	}
	return one
}

// Call is a question with its parameters.
type Call struct {
	Verb string
	// Values are the values of parameters that take no files, by name.
	Values map[string][]string
	// Files are the files of the others, by name. Each is read to its end at most once.
	Files map[string][]Content
	// MaximumBytes bounds the text of all manifests, unpacked.
	MaximumBytes int64
	// Room, unless nil, reserves room before workloads become pods, in bytes of text. Its error is the error of the answer.
	Room func(bytes int64) error
}

// Content is an open file.
type Content struct {
	Name string
	io.Reader
	// Identity names the content for an Answerer that keeps objects: contents with the same one are equal. Empty for none.
	Identity string
	// Bytes is the length of a content with an identity.
	Bytes int
}

// Answerer answers calls.
type Answerer interface {
	// Verbs are the verbs that it knows.
	Verbs() []Verb
	// Answer writes the answer of a call, and notes beside it. exit is what the command's exit status would be. The call is at fault if the
	// error is an InvalidError; otherwise it is gRPC's, or of answer.
	Answer(ctx context.Context, c *Call, answer, notes io.Writer) (exit int, err error)
}

// InvalidError says what is wrong with a call.
type InvalidError struct{ Problems []Problem }

// Problem is something that is wrong.
type Problem struct {
	// Object is the file and the object, and Field the path in it. Both are empty if the problem is not about an object.
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	Detail string `json:"detail"`
}

func (e *InvalidError) Error() string {
	var out []string
	for _, p := range e.Problems {
		out = append(out, p.Error())
	}
	return strings.Join(out, "\n")
}

// Error returns the problem as the command prints it.
func (p Problem) Error() string {
	var out []string
	for _, part := range []string{p.Object, p.Field, p.Detail} {
		if part != "" {
			out = append(out, part)
		}
	}
	return strings.Join(out, ": ")
}
