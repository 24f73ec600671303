package cel

import (
	"maps"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// reads lists what an expression may read of a device: attributes and capacities by domain. A name or a domain that is computed, or a map
// that is used as a whole, is every name.
type reads map[string]map[string]bool

// every stands for every domain, and for every name of a domain.
const every = "*"

func (r reads) add(domain, name string) {
	if r[domain] == nil {
		r[domain] = map[string]bool{}
	}
	r[domain][name] = true
}

func (r reads) has(domain, name string) bool {
	return r[every][every] || r[every][name] || r[domain][every] || r[domain][name]
}

// readsOf returns what an expression reads, everything if it cannot be parsed.
func readsOf(env *cel.Env, expression string) reads {
	r := reads{}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		r.add(every, every)
		return r
	}
	r.whole(r.visit(parsed.NativeRep().Expr(), scope{"device": {kind: device}}))
	return r
}

// place is the part of a device that an expression evaluates to.
type place struct {
	kind   kind
	domain string // of names
}

type kind int

const (
	other   kind = iota // a value
	device              // device
	domains             // device.attributes, device.capacity
	names               // device.attributes["domain"]
)

// scope has the places of variables.
type scope map[string]place

// with returns the scope with one more variable.
func (s scope) with(name string, of place) scope {
	inner := maps.Clone(s)
	inner[name] = of
	return inner
}

// whole adds everything below a place, for an operation that does not only select a part of it.
func (r reads) whole(p place) {
	switch p.kind {
	case device, domains:
		r.add(every, every)
	case names:
		r.add(p.domain, every)
	}
}

// part returns the part of a place that has the key.
func (r reads) part(p place, key string) place {
	switch {
	case p.kind == device && (key == "attributes" || key == "capacity"):
		return place{kind: domains}
	case p.kind == domains:
		return place{names, key}
	case p.kind == names:
		r.add(p.domain, key)
	}
	return place{}
}

// visit adds what an expression reads, except for the place that it evaluates to.
func (r reads) visit(e ast.Expr, in scope) place {
	switch e.Kind() {
	case ast.IdentKind:
		return in[e.AsIdent()]
	case ast.SelectKind:
		return r.part(r.visit(e.AsSelect().Operand(), in), e.AsSelect().FieldName())
	case ast.CallKind:
		return r.call(e.AsCall(), in)
	case ast.ComprehensionKind:
		return r.comprehension(e.AsComprehension(), in)
	case ast.ListKind:
		r.each(e.AsList().Elements(), in)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.each([]ast.Expr{entry.AsMapEntry().Key(), entry.AsMapEntry().Value()}, in)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.whole(r.visit(field.AsStructField().Value(), in))
		}
	}
	return place{}
}

func (r reads) each(all []ast.Expr, in scope) {
	for _, e := range all {
		r.whole(r.visit(e, in))
	}
}

func (r reads) call(c ast.CallExpr, in scope) place {
	args := c.Args()
	switch {
	case len(args) != 2:
	case c.FunctionName() == operators.Index || c.FunctionName() == operators.OptIndex || c.FunctionName() == operators.OptSelect:
		of := r.visit(args[0], in)
		if key, ok := constant(args[1]); ok {
			return r.part(of, key)
		}
		r.whole(r.visit(args[1], in))
		switch of.kind {
		case domains:
			return place{names, every}
		default:
			r.whole(of)
			return place{}
		}
	case c.FunctionName() == operators.In:
		if key, ok := constant(args[0]); ok {
			r.whole(r.part(r.visit(args[1], in), key))
			return place{}
		}
	}
	if c.IsMemberFunction() {
		r.whole(r.visit(c.Target(), in))
	}
	r.each(args, in)
	return place{}
}

// comprehension visits a loop, or the definition of a variable by cel.bind, which has an empty list to loop over.
func (r reads) comprehension(c ast.ComprehensionExpr, in scope) place {
	initial := r.visit(c.AccuInit(), in)
	if list := c.IterRange(); list.Kind() == ast.ListKind && list.AsList().Size() == 0 {
		return r.visit(c.Result(), in.with(c.AccuVar(), initial))
	}
	r.whole(initial)
	r.whole(r.visit(c.IterRange(), in))
	inner := in.with(c.AccuVar(), place{}).with(c.IterVar(), place{})
	if c.HasIterVar2() {
		inner = inner.with(c.IterVar2(), place{})
	}
	r.each([]ast.Expr{c.LoopCondition(), c.LoopStep()}, inner)
	return r.visit(c.Result(), in.with(c.AccuVar(), place{}))
}

// constant returns the text of a literal.
func constant(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}
