package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Filter is the plugin prepared to filter.
type Filter struct {
	constraints []hard
}

// hard is a hard constraint with its counts.
type hard struct {
	constraint
	counted   nodeset.Set
	present   []bool // whether a domain counts
	counts    []int64
	domains   int
	minimum   int64
	least     int // domains that have the minimum
	selfMatch bool
	exceeded  nodeset.Set // nodes whose domain the pod would make exceed maxSkew
}

// NewFilter prepares the plugin; nil if the pod has no hard constraints.
func NewFilter(c *plugin.Cycle) *Filter {
	cs := constraints(c, false)
	if len(cs) == 0 {
		return nil
	}
	eligible := withAllKeys(c.State.Len(), cs)
	f := &Filter{constraints: make([]hard, len(cs))}
	for i := range cs {
		f.constraints[i] = newHard(c, cs[i], eligible)
	}
	return f
}

// newHard counts. A node counts if it has the keys of all hard constraints and the inclusion policies let it; its
// domain then counts even if it holds no matching pod.
func newHard(c *plugin.Cycle, k constraint, eligible nodeset.Set) hard {
	h := hard{constraint: k, counted: k.included(c, eligible)}
	h.present, h.counts = k.count(c, h.counted)
	for _, p := range h.present {
		if p {
			h.domains++
		}
	}
	h.findMinimum()
	h.selfMatch = k.selector.Matches(c.Pod.Shape.Labels)
	exceeded := make([]uint8, k.column.Len())
	for d := range exceeded {
		if d != topology.None && h.skewWithPod(d) > int64(k.MaxSkew) {
			exceeded[d] = 1
		}
	}
	h.exceeded = k.column.Where(exceeded)
	return h
}

// findMinimum finds the least of the counts, and how many domains have it. Too few domains count as one without pods.
func (h *hard) findMinimum() {
	h.minimum, h.least = 0, 0
	if h.domains < int(h.MinDomains) {
		return
	}
	for d, p := range h.present {
		switch n := h.counts[d]; {
		case !p:
		case h.least == 0 || n < h.minimum:
			h.minimum, h.least = n, 1
		case n == h.minimum:
			h.least++
		}
	}
}

// skewWithPod returns by how much a domain would exceed the minimum with the pod in it.
func (h *hard) skewWithPod(domain int) int64 { return h.skew(h.counts[domain]) }

func (h *hard) skew(count int64) int64 {
	skew := count - h.minimum
	if h.selfMatch {
		skew++
	}
	return skew
}

// Refuse returns the nodes that lack a key or whose domain the pod would make exceed a constraint's maxSkew, whichever
// comes first in the order of the constraints.
func (f *Filter) Refuse(in nodeset.Set) []plugin.Refusal {
	missing, exceeded := make(nodeset.Set, len(in)), make(nodeset.Set, len(in))
	rest := in.Clone()
	for i := range f.constraints {
		h := &f.constraints[i]
		missing.Or(rest.Minus(h.column.Having))
		rest.And(h.column.Having)
		exceeded.Or(plugin.Both(rest, h.exceeded))
		rest.AndNot(h.exceeded)
	}
	return append(
		plugin.Refused(missing, true, verdict.ReasonSpreadMissingLabel),
		plugin.Refused(exceeded, false, verdict.ReasonSpread)...)
}
