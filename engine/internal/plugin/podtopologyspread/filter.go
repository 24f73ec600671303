package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
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
	matched := match(c, cs)
	var toCount []matching // and where they are in matched
	var places []int
	for i, m := range matched {
		if m.column.Each() && (len(m.pods) == 0 || len(m.pods) == 1 && len(m.pods[0].Assumed) == 0) {
			f.constraints[i] = byNode(c, m.constraint, eligible, m.pods)
		} else {
			toCount, places = append(toCount, m), append(places, i)
		}
	}
	for i, h := range count(c, toCount, eligible) {
		f.constraints[places[i]] = h.refusing()
	}
	return f
}

// refusing finds what is exceeded.
func (h *hard) refusing() refusing {
	exceeded := make([]uint8, h.column.Len())
	for d := range exceeded {
		if d != topology.None && h.skewWithPod(d) > int64(h.MaxSkew) {
			exceeded[d] = 1
		}
	}
	return refusing{*h, h.column.Where(exceeded)}
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
				if count := int64(pods.Count(j)); with == 0 || count < h.minimum {
					h.minimum = count
				}
				with++
			}
		}
		if with < h.domains {
			h.minimum = 0
		}
	}
	// The skew of a domain without pods is 1 at most, and so exceeds no MaxSkew.
	r := refusing{h, nodeset.New(c.State.Len())}
	for j, n := range pods.Nodes {
		if h.counted.Has(n) && h.skew(int64(pods.Count(j))) > int64(h.MaxSkew) {
			r.exceeded.Add(n)
		}
	}
	return r
}

func newHard(c *plugin.Cycle, k constraint, eligible nodeset.Set) hard {
	return hard{constraint: k, counted: k.included(c, eligible), selfMatch: k.selector.Matches(c.Pod.Shape.Labels)}
}

// count counts. A node counts if it has the keys of all hard constraints and the inclusion policies let it; its domain then
// counts even if it holds no matching pod. Constraints that the same pods count for are counted together.
func count(c *plugin.Cycle, ks []matching, eligible nodeset.Set) []hard {
	hards := make([]hard, len(ks))
	for i := range ks {
		hards[i] = newHard(c, ks[i].constraint, eligible)
	}
	for i := range hards {
		if hards[i].counts != nil {
			continue
		}
		var same []int
		var columns []*topology.Column
		var in []nodeset.Set
		for j := i; j < len(ks); j++ {
			if ks[j].key == ks[i].key {
				same, columns, in = append(same, j), append(columns, ks[j].column), append(in, some(c, hards[j].counted))
			}
		}
		counts := topology.CountIn(columns, ks[i].pods, in)
		for k, j := range same {
			hards[j].counts = counts[k]
			hards[j].findPresent(c)
			hards[j].findMinimum()
		}
	}
	return hards
}

// findPresent finds the domains that count.
func (h *hard) findPresent(c *plugin.Cycle) {
	h.present = h.presentIn(c, h.counted)
	for _, p := range h.present {
		if p {
			h.domains++
		}
	}
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
