package allocate

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Request is a request or a sub-request of a problem.
type Request struct {
	Claim int    // index of its claim
	Name  string // with the sub-request
	Class string
	Count int64 // 0 for all
}

// Requests returns the requests of a problem, in order.
func (p *Problem) Requests() (out []Request) {
	for _, r := range p.all() {
		q := Request{Claim: r.claim, Name: r.full(), Class: r.DeviceClassName, Count: r.count}
		if r.All {
			q.Count = 0
		}
		out = append(out, q)
	}
	return out
}

type requestOf struct {
	*request
	claim int
}

func (p *Problem) all() (out []requestOf) {
	for i := range p.claims {
		for _, subs := range p.claims[i].requests {
			for k := range subs {
				out = append(out, requestOf{&subs[k], i})
			}
		}
	}
	return out
}

// Constraint identifies a constraint of a problem.
type Constraint struct {
	Claim, Index int
	*api.DeviceConstraint
}

// Constraints returns the constraints of a problem, in order.
func (p *Problem) Constraints() (out []Constraint) {
	for i := range p.claims {
		for j := range p.claims[i].constraints {
			out = append(out, Constraint{i, j, p.claims[i].constraints[j].DeviceConstraint})
		}
	}
	return out
}

// Without returns the problem without constraints.
func (p *Problem) Without(all ...Constraint) *Problem {
	out := &Problem{slices.Clone(p.claims), p.reads, p.forAll}
	for i := range out.claims {
		c := &out.claims[i]
		var left []constraint
		for j := range c.constraints {
			if !slices.ContainsFunc(all, func(o Constraint) bool { return o.Claim == i && o.Index == j }) {
				left = append(left, c.constraints[j])
			}
		}
		c.constraints = left
	}
	return out
}

// Explainer says why requests cannot have devices of a node.
type Explainer struct {
	search   *search
	requests []requestOf
}

// NewExplainer returns an explainer for a node with these pools.
func NewExplainer(p *Problem, node *Node, pools []*Pool, taken *Taken) *Explainer {
	return &Explainer{&search{problem: p, node: node, pools: pools, taken: taken, used: make(map[*Pool]*counters)}, p.all()}
}

// Has reports whether the node has a device of its pools.
func (x *Explainer) Has(d *Device) bool {
	return !d.slice.PerDeviceNodeSelection || x.search.node.has(d.NodeName, d.AllNodes, d.NodeSelector)
}

// Cause returns why a request, by its index, cannot have a device; a cause of 0 if it can.
func (x *Explainer) Cause(request int, d *Device) (out verdict.ExcludedDevices) {
	r := x.requests[request].request
	for i := range r.matchers {
		ok, err := r.matchers[i].matches(d)
		if err == nil && ok {
			continue
		}
		out.Cause, out.Index, out.Selector = verdict.DeviceOfOtherClass, i, r.matchers[i].DeviceSelector
		if n := len(r.class.Selectors); i >= n {
			out.Cause, out.Index = verdict.DeviceNotSelected, i-n
		}
		if err != nil {
			out.Cause = verdict.DeviceNotEvaluated
		}
		return out
	}
	if name, lacks := d.lacks(r); lacks {
		return verdict.ExcludedDevices{Cause: verdict.DeviceTooSmall, Capacity: name}
	}
	if t := d.tainted(r); t != nil {
		return verdict.ExcludedDevices{Cause: verdict.DeviceTainted, Taint: *t}
	}
	if !r.admin && x.search.taken.Exclusive(d.ID) {
		return verdict.ExcludedDevices{Cause: verdict.DeviceTaken}
	}
	if u := x.search.taken.shared[d.ID]; u != nil {
		if name, lacks := d.lacks(r, u.consumed); lacks {
			return verdict.ExcludedDevices{Cause: verdict.DeviceCapacityUsed, Capacity: name}
		}
	}
	if !x.search.pays(d) {
		return out
	}
	if x.search.consume(d) {
		x.search.unconsume(d)
		return out
	}
	return verdict.ExcludedDevices{Cause: verdict.DeviceCountersUsed}
}
