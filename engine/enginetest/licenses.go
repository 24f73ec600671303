package enginetest

import (
	"iter"
	"slices"
	"strconv"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// LicensesLabel is the label whose value is the number of licenses that a pod uses.
const LicensesLabel = "licenses"

// Licenses is a plugin that only tests have, with a kind of rule of its own: pods may use a number of licenses in each domain
// of a topology key, or on each node without one. Nodes without the key have as many as are used.
type Licenses struct {
	Name verdict.Plugin
	Key  string
	Most int64
	// App is the label app of the pods that have the rule; empty for all pods that use licenses. Others may use more licenses than
	// there are.
	App string
}

// Binds reports whether pods of a shape have the rule.
func (l Licenses) Binds(s *cluster.State, of *cluster.Shape) bool {
	app, _ := of.Labels.Get(s.Symbols.Intern("app"))
	return used(s, of) > 0 && (l.App == "" || s.Symbols.Name(app) == l.App)
}

// Plugin returns the plugin.
func (l Licenses) Plugin() *plugin.Plugin {
	return &plugin.Plugin{
		Name:   l.Name,
		Labels: []string{LicensesLabel, "app"},
		Compile: func(c *plugin.Cycle, s *rule.Set) {
			r := &licenses{Licenses: l, state: c.State, own: used(c.State, c.Pod.Shape)}
			if !l.Binds(c.State, c.Pod.Shape) {
				return
			}
			domains := c.State.Len()
			if l.Key != "" {
				r.column = c.State.Column(c.State.Symbols.Intern(l.Key))
				domains = r.column.Len()
			}
			r.counts = make([]int64, domains)
			for _, g := range r.Groups() {
				for node, pods := range g.All() {
					r.Add(node, int64(pods)*r.Weight(g))
				}
			}
			s.Others = append(s.Others, r)
		},
	}
}

type licenses struct {
	Licenses
	state  *cluster.State
	column *topology.Column
	own    int64
	counts []int64
}

func used(s *cluster.State, of *cluster.Shape) int64 {
	value, _ := of.Labels.Get(s.Symbols.Intern(LicensesLabel))
	n, _ := strconv.ParseInt(s.Symbols.Name(value), 10, 64)
	return n
}

func (r *licenses) Rule() verdict.PodRule { return verdict.PodRule{Plugin: r.Name, TopologyKey: r.Key} }

func (r *licenses) Column() *topology.Column { return r.column }

// NoLicense is the reason of the nodes without a free license.
var NoLicense = verdict.Reason{Message: "node(s) had no license"}

func (r *licenses) Rejection() (verdict.Code, verdict.Reason) {
	return verdict.Unschedulable, NoLicense
}

func (r *licenses) Groups() iter.Seq2[int, *cluster.Group] {
	return func(yield func(int, *cluster.Group) bool) {
		for i, g := range r.state.Groups() {
			if r.Weight(g) > 0 && !yield(i, g) {
				return
			}
		}
	}
}

func (r *licenses) Weight(g *cluster.Group) int64 { return used(r.state, g.Shape) }

func (r *licenses) Domain(node uint32) (domain int32, in bool) {
	if r.column == nil {
		return int32(node), true
	}
	domain = r.column.Domain[node]
	return domain, domain != topology.None
}

func (r *licenses) Counts() []int64 { return r.counts }

func (r *licenses) Add(node uint32, weight int64) bool {
	d, in := r.Domain(node)
	if !in {
		return false
	}
	before := r.Excess(node, 0) > 0
	r.counts[d] += weight
	return before != (r.Excess(node, 0) > 0)
}

func (r *licenses) Excess(node uint32, more int64) int64 {
	d, in := r.Domain(node)
	switch {
	case !in:
		return 0
	case r.own > r.Most:
		return rule.Never
	}
	return r.counts[d] + more + r.own - r.Most
}

func (r *licenses) Rejected() nodeset.Set {
	rejected := nodeset.New(r.state.Len())
	for n := range uint32(r.state.Len()) {
		if r.Excess(n, 0) > 0 {
			rejected.Add(n)
		}
	}
	return rejected
}

func (r *licenses) Fork() rule.Kind {
	fork := *r
	fork.counts = slices.Clone(r.counts)
	return &fork
}
