package interpodaffinity

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Preferred holds the weights of the preferred terms of the pod and of existing pods, and can add pods one by one.
type Preferred struct {
	Tallies []Tally

	cycle *plugin.Cycle
	// touched reports whether any pod was on a node with its key.
	touched bool
}

// Tally is the sum of weights by domain of a key; 0 for topology.None.
type Tally struct {
	Column   *topology.Column
	ByDomain []int64

	key intern.ID
}

// Add adds a weight to the domain of a node.
func (t *Tally) Add(node uint32, weight int64) {
	if d := t.Column.Domain[node]; d != topology.None {
		t.ByDomain[d] += weight
	}
}

// NewPreferred adds up the weights of existing pods. It includes the keys of groups that the state expects, unless the
// request has ended.
func NewPreferred(c *plugin.Cycle) *Preferred {
	p := &Preferred{cycle: c}
	if skipped(c.Pod.Spec(), c.Profile) {
		return p
	}
	p.addOwn(c.Pod.PreferredAffinity, 1)
	p.addOwn(c.Pod.PreferredAntiAffinity, -1)
	for t := range c.State.Wishes(c.Pod) {
		if weight := weightOf(c, t.Required, t.Weight); weight != 0 {
			p.add(t.TopologyKey, c.State.Group(int(t.Group)).Members, weight)
		}
	}
	for i := range p.Tallies {
		p.Tallies[i].ByDomain[topology.None] = 0
	}
	return p
}

// addOwn adds the pods that the pod's own preferred terms match.
func (p *Preferred) addOwn(terms []cluster.WeightedTerm, sign int64) {
	for i := range terms {
		t := &terms[i]
		for _, m := range p.cycle.State.Matching(&t.Term) {
			p.add(t.TopologyKey, m, sign*t.Weight)
		}
	}
}

func (p *Preferred) add(key intern.ID, m topology.Members, weight int64) {
	i := p.index(key)
	if i < 0 {
		i = len(p.Tallies)
		column := p.cycle.State.Column(key)
		p.Tallies = append(p.Tallies, Tally{Column: column, ByDomain: make([]int64, column.Len()), key: key})
	}
	if topology.Add(p.Tallies[i].ByDomain, p.Tallies[i].Column, m, weight) {
		p.touched = true
	}
}

// index returns the index of a key's tally, -1 for none.
func (p *Preferred) index(key intern.ID) int {
	return slices.IndexFunc(p.Tallies, func(t Tally) bool { return t.key == key })
}

// Groups iterates over the groups whose pods may add to the tallies. Some come several times.
func (p *Preferred) Groups(yield func(int, *cluster.Group) bool) {
	c := p.cycle
	for _, terms := range [][]cluster.WeightedTerm{c.Pod.PreferredAffinity, c.Pod.PreferredAntiAffinity} {
		for i := range terms {
			for g, group := range c.State.Selectable(terms[i].Selector) {
				if !yield(g, group) {
					return
				}
			}
		}
	}
	for t := range c.State.Wishes(c.Pod) {
		if !yield(int(t.Group), c.State.Group(int(t.Group))) {
			return
		}
	}
}

// Weights returns what one pod of a group adds to each tally; nil for nothing.
func (p *Preferred) Weights(g *cluster.Group) []int64 {
	c := p.cycle
	if skipped(c.Pod.Spec(), c.Profile) {
		return nil
	}
	var weights []int64
	add := func(t *cluster.Term, matches bool, weight int64) {
		if !matches || weight == 0 {
			return
		}
		if weights == nil {
			weights = make([]int64, len(p.Tallies))
		}
		if at := p.index(t.TopologyKey); at >= 0 {
			weights[at] += weight
		}
	}
	own := func(terms []cluster.WeightedTerm, sign int64) {
		for i := range terms {
			t := &terms[i]
			add(&t.Term, t.Matches(g.Namespace, nil, g.Labels), sign*t.Weight)
		}
	}
	own(c.Pod.PreferredAffinity, 1)
	own(c.Pod.PreferredAntiAffinity, -1)
	for i := range g.Affinity {
		add(&g.Affinity[i], selects(&g.Affinity[i], c), weightOf(c, true, 0))
	}
	theirs := func(terms []cluster.WeightedTerm, sign int64) {
		for i := range terms {
			t := &terms[i]
			add(&t.Term, selects(&t.Term, c), weightOf(c, false, sign*t.Weight))
		}
	}
	theirs(g.PreferredAffinity, 1)
	theirs(g.PreferredAntiAffinity, -1)
	return weights
}
