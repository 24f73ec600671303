package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// given is what a caller hands over to a command that cannot reach the machine that it runs on.
type given struct {
	client  *stowage.Client
	files   map[string]io.Reader // by the names that the command line has
	maximum int64                // bounds the text of all manifests that are handed over
	room    func(bytes int64) error
	full    error    // of room
	local   []string // paths of this machine that its owner has the command read
	kept    *kept    // objects of the last call; nil for none
}

// open opens a file that was handed over, once.
func (g *given) open(path string) (io.ReadCloser, error) {
	f, ok := g.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	delete(g.files, path)
	return io.NopCloser(f), nil
}

// ask reserves the room of pods. It is nil for a command that has no bound.
func (g *given) ask() func(bytes int64) error {
	if g == nil || g.room == nil {
		return nil
	}
	return func(bytes int64) error {
		if g.full == nil {
			g.full = g.room(bytes)
		}
		return g.full
	}
}

// Answerer answers calls of other programs by commands, all of which use one client. A call has the values and the output of the command.
type Answerer struct {
	client *stowage.Client
	known  []verbs.Verb
	before *inputs // what each call reads before its own files; nil for nothing
	kept   *kept   // objects of the last call; nil for none
}

// NewAnswerer returns an Answerer. The caller closes the client afterwards.
func NewAnswerer(client *stowage.Client) (*Answerer, error) {
	parser, err := newParser(name, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	a := &Answerer{client: client}
	for _, c := range commandsOf(parser.Model) {
		v := verbs.Verb{Name: c.Name, Help: c.Help}
		for _, f := range c.Flags {
			if !f.Tag.Has("local") {
				v.Parameters = append(v.Parameters, parameter(f.Value))
			}
		}
		for _, p := range c.Positional {
			argument := parameter(p)
			argument.Argument = true
			v.Parameters = append(v.Parameters, argument)
		}
		if v.Parameter("output") != nil { // others do not answer questions
			a.known = append(a.known, v)
		}
	}
	return a, nil
}

// Verbs are the commands that answer questions.
func (a *Answerer) Verbs() []verbs.Verb { return a.known }

// parameter describes a flag or an argument.
func parameter(v *kong.Value) verbs.Parameter {
	p := verbs.Parameter{
		Name: v.Name, Help: v.Help, Kind: verbs.Text, Values: commaSeparated(cmp.Or(v.Enum, v.Tag.Get("words"))), Default: v.Default,
		Repeated: v.IsSlice(), Required: v.Required,
	}
	p.Values = slices.DeleteFunc(p.Values, func(value string) bool { return strings.HasSuffix(value, "=") }) // programs of the caller
	switch {
	case v.Tag.PlaceHolder == "PATH" || v.Tag.PlaceHolder == "FILE":
		p.Kind = verbs.File
	case v.IsBool():
		p.Kind = verbs.Switch
	case v.Target.Type() == reflect.TypeFor[time.Duration]():
		p.Kind = verbs.Duration
	case v.Tag.PlaceHolder == "NUMBER":
		p.Kind = verbs.Number
	}
	return p
}

// Answer runs the command of a call.
func (a *Answerer) Answer(ctx context.Context, c *verbs.Call, answer, notes io.Writer) (exit int, err error) {
	g := &given{client: a.client, files: map[string]io.Reader{}, maximum: c.MaximumBytes, room: c.Room, kept: a.kept}
	args, err := a.line(c, g)
	if err != nil {
		return exitError, err
	}
	parser, err := newParser(name, io.Discard, io.Discard)
	if err != nil {
		return exitError, err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return exitError, invalid(err)
	}
	out := &output{w: answer}
	s := &session{
		ctx: ctx, stdout: out, raw: out, stderr: quote.Terminal(notes, false), parser: parser, application: parser.Model, command: c.Verb,
		given: g,
	}
	code := answered(exitYes)
	err = parsed.Run(s, &code)
	switch {
	case err == nil && out.err == nil:
		return int(code), nil
	case g.full != nil:
		return exitError, g.full
	case out.err != nil:
		return exitError, out.err
	}
	return exitError, invalid(err)
}

// line returns the command line of a call.
func (a *Answerer) line(c *verbs.Call, g *given) ([]string, error) {
	i := slices.IndexFunc(a.known, func(v verbs.Verb) bool { return v.Name == c.Verb })
	if i < 0 {
		return nil, invalid(fmt.Errorf("%q is no verb", c.Verb))
	}
	v := &a.known[i]
	args, wrong := []string{c.Verb}, []error(nil)
	if a.before != nil {
		args, g.local = append(args, (&question{inputs: *a.before}).source()...), a.before.File
	}
	check := func(name string, file bool, values int) bool {
		p := v.Parameter(name)
		switch {
		case p == nil || (p.Kind == verbs.File) != file:
			wrong = append(wrong, fmt.Errorf("%s has no parameter %q", c.Verb, name))
		case values > 1 && !p.Repeated: // the last one would count
			wrong = append(wrong, verbs.Problem{Field: name, Detail: fmt.Sprintf("has %d values, and may have one", values)})
		default:
			return true
		}
		return false
	}
	for _, parameter := range slices.Sorted(maps.Keys(c.Files)) {
		if files := c.Files[parameter]; check(parameter, true, len(files)) {
			for _, f := range files {
				args = append(args, "--"+parameter+"="+g.add(f))
			}
		}
	}
	var arguments []string
	for _, parameter := range slices.Sorted(maps.Keys(c.Values)) {
		values := c.Values[parameter]
		if !check(parameter, false, len(values)) {
			continue
		}
		for _, value := range values {
			switch {
			case parameter == "output" && !slices.Contains(v.Parameter(parameter).Values, value): // a template is a program
				wrong = append(wrong, fmt.Errorf("output must be one of %s", strings.Join(v.Parameter(parameter).Values, ", ")))
			case v.Parameter(parameter).Argument:
				arguments = append(arguments, value)
			default:
				args = append(args, "--"+parameter+"="+value)
			}
		}
	}
	if len(c.Files["file"]) == 0 && a.before == nil {
		wrong = append(wrong, errors.New("there are no objects"))
	}
	if len(wrong) > 0 {
		return nil, invalid(errors.Join(wrong...))
	}
	return append(append(args, "--"), arguments...), nil
}

// add adds a file, and returns the name that it has on the command line: its own, unless another file has it.
func (g *given) add(f verbs.Content) string {
	unique := cmp.Or(f.Name, "input")
	for i := 2; g.files[unique] != nil || slices.Contains(g.local, unique); i++ {
		unique = fmt.Sprintf("%s (%d)", cmp.Or(f.Name, "input"), i)
	}
	g.files[unique] = f
	return unique
}

// invalid returns what is wrong with a call. An error of a server that is not about the request stays what it is.
func invalid(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	out := &verbs.InvalidError{}
	for _, e := range flat(err) {
		if object, ok := errors.AsType[*manifest.ObjectError](e); ok {
			for field, detail := range object.Fields() {
				out.Problems = append(out.Problems, verbs.Problem{Object: object.Object, Field: field, Detail: detail})
			}
			continue
		}
		p, ok := errors.AsType[verbs.Problem](e)
		if !ok {
			p = verbs.Problem{Detail: e.Error()}
		}
		p.Field = strings.TrimPrefix(p.Field, "--") // a flag is a parameter
		out.Problems = append(out.Problems, p)
	}
	return out
}
