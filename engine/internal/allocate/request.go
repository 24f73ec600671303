package allocate

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// MaxResults is the number of devices that a claim can have (k8s.io/api/resource/v1 AllocationResultsMaxSize, v0.37).
const MaxResults = 32

// Classes are what requests refer to.
type Classes struct {
	Class      func(name string) *api.DeviceClass // nil for none
	Expression func(name string) *Expression      // nil for none
}

// Expression is an expression with its outcomes by the name of a type.
type Expression struct {
	*api.DeviceExpression
	outcomes map[string]outcome
}

type outcome struct {
	matches bool
	failure string // empty for none
}

// NewExpression compiles an expression.
func NewExpression(e *api.DeviceExpression) *Expression {
	out := &Expression{e, make(map[string]outcome, len(e.Matches)+len(e.Mismatches)+len(e.Failures))}
	for _, name := range e.Mismatches {
		out.outcomes[name] = outcome{}
	}
	for _, name := range e.Matches {
		out.outcomes[name] = outcome{matches: true}
	}
	for _, f := range e.Failures {
		out.outcomes[f.Type] = outcome{failure: f.Message}
	}
	return out
}

// Claim is a claim without devices.
type Claim struct {
	Name string // with the namespace, for errors
	Spec *api.ResourceClaimSpec
}

// Problem is the claims of a pod that are allocated together. It is immutable.
type Problem struct {
	claims []claim
	reads  []string // the attributes of a device that matter beside its type's
	forAll bool     // a request is for all devices
}

type claim struct {
	name        string
	spec        *api.ResourceClaimSpec
	requests    [][]request // one each, or the sub-requests of a list
	constraints []constraint
}

// request is a request or a sub-request.
type request struct {
	*api.ExactDeviceRequest
	name, parent string // parent is empty for a request
	class        *api.DeviceClass
	matchers     []matcher
	admin        bool
	count        int64
}

// full returns the name of a request, or of a request and its sub-request.
func (r *request) full() string {
	if r.parent == "" {
		return r.name
	}
	return r.parent + "/" + r.name
}

// matcher is a selector of a class or of a request.
type matcher struct {
	*api.DeviceSelector
	of         string // for errors
	expression *Expression
}

type constraint struct {
	*api.DeviceConstraint
	requests map[string]bool
}

// covers reports whether a constraint is about a request.
func (c *constraint) covers(r *request) bool {
	return len(c.requests) == 0 || c.requests[r.full()] || r.parent != "" && c.requests[r.parent]
}

// NewProblem compiles claims.
func NewProblem(claims []Claim, by Classes) *Problem {
	p := &Problem{claims: make([]claim, len(claims))}
	for i := range claims {
		of, to := &claims[i], &p.claims[i]
		to.name, to.spec = of.Name, of.Spec
		for j := range of.Spec.Requests {
			r := &of.Spec.Requests[j]
			if r.Exactly != nil {
				to.requests = append(to.requests, []request{newRequest(of, r.Name, "", r.Exactly, by)})
				continue
			}
			var subs []request
			for k := range r.FirstAvailable {
				sub := &r.FirstAvailable[k]
				subs = append(subs, newRequest(of, sub.Name, r.Name, &sub.Request, by))
			}
			to.requests = append(to.requests, subs)
		}
		for j := range of.Spec.Constraints {
			c := &of.Spec.Constraints[j]
			names := make(map[string]bool, len(c.Requests))
			for _, name := range c.Requests {
				names[name] = true
			}
			to.constraints = append(to.constraints, constraint{c, names})
			p.reads = append(p.reads, c.Attribute)
		}
	}
	for _, r := range p.all() {
		p.forAll = p.forAll || r.All
		for i := range r.matchers {
			if a := r.matchers[i].Attribute; a != nil {
				p.reads = append(p.reads, a.Name)
			}
		}
	}
	return p
}

func newRequest(of *Claim, name, parent string, spec *api.ExactDeviceRequest, by Classes) request {
	r := request{
		ExactDeviceRequest: spec, name: name, parent: parent, class: by.Class(spec.DeviceClassName),
		admin: spec.AdminAccess && parent == "", count: max(1, spec.Count),
	}
	add := func(selectors []api.DeviceSelector, text string) {
		for i := range selectors {
			m := matcher{DeviceSelector: &selectors[i], of: fmt.Sprintf("%s: selector #%d", text, i)}
			if m.DeviceSelector.Expression != "" {
				m.expression = by.Expression(m.DeviceSelector.Expression)
			}
			r.matchers = append(r.matchers, m)
		}
	}
	if r.class != nil {
		add(r.class.Selectors, "class "+r.class.Name)
	}
	add(spec.Selectors, "claim "+of.Name)
	return r
}

// matches reports whether a device meets all conditions (allocator_incubating.go selectorsMatch, v0.37).
func (r *request) matches(d *Device) (bool, error) {
	for i := range r.matchers {
		if ok, err := r.matchers[i].matches(d); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// matches reports whether a device meets a condition (allocator_incubating.go selectorsMatch, v0.37).
func (m *matcher) matches(d *Device) (bool, error) {
	if m.DeviceSelector.Expression == "" {
		return m.matchesData(d), nil
	}
	if m.expression == nil {
		return false, errUndecided
	}
	if e := m.expression.CompileError; e != "" {
		return false, fmt.Errorf("%s: CEL compile error: %s", m.of, e)
	}
	o, known := m.expression.outcomes[d.typ.Name]
	switch {
	case !known:
		return false, errUndecided
	case o.failure != "":
		return false, fmt.Errorf("%s on device %s: CEL runtime error: %s", m.of, d.Name(), o.failure)
	}
	return o.matches, nil
}

func (m *matcher) matchesData(d *Device) bool {
	if m.Driver != "" && m.Driver != d.pool.Driver {
		return false
	}
	if m.Attribute == nil {
		return true
	}
	a := d.attribute(m.Attribute.Name)
	return a != nil && sameValue(a, m.Attribute)
}

func sameValue(a, b *api.DeviceAttribute) bool { return kindOf(a) == kindOf(b) && a.Value == b.Value }

func kindOf(a *api.DeviceAttribute) api.AttributeKind { return max(a.Kind, api.StringAttribute) }
