package interpodaffinity

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Rules is what both sides' terms come to for a pod, in a form that pods can be added to one by one.
type Rules struct {
	// Affinity counts the pods that match all of the pod's affinity terms, by the key of each term. Found says whether
	// there is any, SelfMatch whether the pod is one: the first may go wherever the keys are.
	Affinity         []Tally
	Found, SelfMatch bool
	// Apart counts, by key, the pods in whose domains the pod cannot be.
	Apart []Tally
	// Wishes adds up, by key, the weights of preferences.
	Wishes []Tally

	cycle *plugin.Cycle
}

// Tally is a number for each domain of a key; that of topology.None is 0.
type Tally struct {
	Column   *topology.Column
	ByDomain []int64

	key intern.ID
}

// AddPod adds a pod on a node, and returns what its domain had before.
func (c *Tally) AddPod(node uint32, weight int64) (before int64) {
	d := c.Column.Domain[node]
	before = c.ByDomain[d]
	if d != topology.None {
		c.ByDomain[d] += weight
	}
	return before
}

// NewRules counts the pods that there are. Keys of groups that the state expects are there, too.
func NewRules(c *plugin.Cycle) *Rules {
	r := &Rules{cycle: c, SelfMatch: selfMatch(c.Pod)}
	if len(c.Pod.Affinity) > 0 {
		members := matchingAll(c)
		for i := range c.Pod.Affinity {
			key := c.Pod.Affinity[i].TopologyKey
			column := c.State.Column(key)
			r.Affinity = append(r.Affinity, counted(key, column, topology.Count(column, members, nil)))
			r.Found = r.Found || slices.Max(r.Affinity[i].ByDomain) > 0
		}
	}
	apart := blocking(c)
	for i := range c.Pod.AntiAffinity {
		t := &c.Pod.AntiAffinity[i]
		at := apart.index(t.TopologyKey)
		for d, n := range c.State.Counts(t) {
			apart.counts[at][d] += n
		}
	}
	r.Apart = apart.all()
	r.Wishes = wishes(c).all()
	return r
}

func (b *byKey) all() []Tally {
	var out []Tally
	for i, column := range b.columns {
		out = append(out, counted(b.keys[i], column, b.counts[i]))
	}
	return out
}

func counted(key intern.ID, column *topology.Column, counts []int64) Tally {
	counts[topology.None] = 0
	return Tally{Column: column, ByDomain: counts, key: key}
}

// Effect is what one more pod of a group changes.
type Effect struct {
	Affinity bool    // whether it matches all of the pod's affinity terms
	Apart    []int   // indexes of the counts that it adds to
	Wishes   []int64 // what it adds to each of Rules.Wishes; nil for nothing
	// Unknown says that it would add to counts by a key that is not there.
	Unknown bool
}

// Effect returns what a pod of a group changes.
func (r *Rules) Effect(g *cluster.Group) Effect {
	c := r.cycle
	e := Effect{Affinity: len(r.Affinity) > 0 && matchesAll(c.Pod.Affinity, g.Shape)}
	find := func(counts []Tally, t *cluster.Term) int {
		at := slices.IndexFunc(counts, func(k Tally) bool { return k.key == t.TopologyKey })
		e.Unknown = e.Unknown || at < 0
		return at
	}
	apart := func(t *cluster.Term, matches bool) {
		if !matches {
			return
		}
		if at := find(r.Apart, t); at >= 0 && !slices.Contains(e.Apart, at) {
			e.Apart = append(e.Apart, at)
		}
	}
	for i := range c.Pod.AntiAffinity {
		t := &c.Pod.AntiAffinity[i]
		apart(t, t.Matches(g.Namespace, nil, g.Labels))
	}
	for i := range g.AntiAffinity {
		apart(&g.AntiAffinity[i], selects(&g.AntiAffinity[i], c))
	}
	if skipped(c) {
		return e
	}
	wish := func(t *cluster.Term, matches bool, weight int64) {
		if !matches || weight == 0 {
			return
		}
		at := find(r.Wishes, t)
		if at < 0 {
			return
		}
		if e.Wishes == nil {
			e.Wishes = make([]int64, len(r.Wishes))
		}
		e.Wishes[at] += weight
	}
	own := func(terms []cluster.WeightedTerm, sign int64) {
		for i := range terms {
			t := &terms[i]
			wish(&t.Term, t.Matches(g.Namespace, nil, g.Labels), sign*t.Weight)
		}
	}
	own(c.Pod.PreferredAffinity, 1)
	own(c.Pod.PreferredAntiAffinity, -1)
	for i := range g.Affinity {
		wish(&g.Affinity[i], selects(&g.Affinity[i], c), weightOf(c, true, 0))
	}
	theirs := func(terms []cluster.WeightedTerm, sign int64) {
		for i := range terms {
			t := &terms[i]
			wish(&t.Term, selects(&t.Term, c), weightOf(c, false, sign*t.Weight))
		}
	}
	theirs(g.PreferredAffinity, 1)
	theirs(g.PreferredAntiAffinity, -1)
	return e
}

// selects reports whether a term of pods on nodes selects the pod.
func selects(t *cluster.Term, c *plugin.Cycle) bool {
	return t.Matches(c.Pod.Namespace, c.Pod.NamespaceLabels, c.Pod.Shape.Labels)
}
