package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Filter is the plugin prepared to filter.
type Filter struct {
	constraints []refusing
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
}

// refusing is a hard constraint and the nodes whose domain the pod would make exceed maxSkew. The constraint has no counts
// if these were not needed.
type refusing struct {
	hard
	exceeded nodeset.Set
}

// NewFilter prepares the plugin; nil if the pod has no hard constraints.
func NewFilter(c *plugin.Cycle) *Filter {
	cs := constraints(c, false)
	if len(cs) == 0 {
		return nil
	}
	eligible := withAllKeys(c.State.Len(), cs)
	f := &Filter{constraints: make([]refusing, len(cs))}
	for i := range cs {
		f.constraints[i] = newRefusing(c, cs[i], eligible)
	}
	return f
}

func newRefusing(c *plugin.Cycle, k constraint, eligible nodeset.Set) refusing {
	members := k.matching(c)
	if k.column.Each() && (len(members) == 0 || len(members) == 1 && len(members[0].Assumed) == 0) {
		return byNode(c, k, eligible, members)
	}
	h := count(c, k, eligible, members)
	exceeded := make([]uint8, k.column.Len())
	for d := range exceeded {
		if d != topology.None && h.skewWithPod(d) > int64(k.MaxSkew) {
			exceeded[d] = 1
		}
	}
	return refusing{h, k.column.Where(exceeded)}
}

// byNode finds what is exceeded where each node is a domain of its own, and each but those of one group of pods has none.
func byNode(c *plugin.Cycle, k constraint, eligible nodeset.Set, members []topology.Members) refusing {
	h := newHard(c, k, eligible)
	h.domains = h.counted.Len()
	var pods topology.Members
	if len(members) > 0 {
		pods = members[0]
	}
	if h.domains >= int(h.MinDomains) {
		with := 0 // domains that have pods
		for j, n := range pods.Nodes {
			if h.counted.Has(n) {
				if count := int64(pods.Counts[j]); with == 0 || count < h.minimum {
					h.minimum = count
				}
				with++
			}
		}
		if with < h.domains {
			h.minimum = 0
		}
	}
	r := refusing{h, nodeset.New(c.State.Len())}
	if h.skew(0) > int64(h.MaxSkew) {
		r.exceeded = nodeset.Full(c.State.Len())
	}
	for j, n := range pods.Nodes {
		if !h.counted.Has(n) {
			continue
		}
		if h.skew(int64(pods.Counts[j])) > int64(h.MaxSkew) {
			r.exceeded.Add(n)
		} else {
			r.exceeded.Remove(n)
		}
	}
	return r
}

func newHard(c *plugin.Cycle, k constraint, eligible nodeset.Set) hard {
	return hard{constraint: k, counted: k.included(c, eligible), selfMatch: k.selector.Matches(c.Pod.Shape.Labels)}
}

// count counts. A node counts if it has the keys of all hard constraints and the inclusion policies let it; its domain then
// counts even if it holds no matching pod.
func count(c *plugin.Cycle, k constraint, eligible nodeset.Set, members []topology.Members) hard {
	h := newHard(c, k, eligible)
	h.present, h.counts = k.count(c, h.counted, members)
	for _, p := range h.present {
		if p {
			h.domains++
		}
	}
	h.findMinimum()
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
