package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// replicaRules tells which replicas would be refused where they are, as replicas are deleted.
type replicaRules struct {
	static []staticRule
	needs  []noderesources.Need
	ports  apartRule // by node
	apart  []apartRule
	with   withRule
	even   []evenRule
}

// staticRule is nodes that a plugin refuses whatever pods there are.
type staticRule struct {
	plugin  verdict.Plugin
	refused nodeset.Set
}

// apartRule counts what keeps the pod from a domain: terms of pods there, or terms of its own that they match.
type apartRule struct {
	rule   verdict.JointRule
	column *topology.Column // nil: each node is a domain
	counts []int
	of     map[int]int // by group: what one pod counts
}

func (r *apartRule) domain(n uint32) int {
	if r.column == nil {
		return int(n)
	}
	return int(r.column.Domain[n])
}

// breaks reports whether something other than one pod of a group keeps that pod from its node.
func (r *apartRule) breaks(n uint32, group int) bool {
	d := r.domain(n)
	return (r.column == nil || d != topology.None) && r.counts[d] > r.of[group]
}

// withRule is the pod's required affinity.
type withRule struct {
	rules    []verdict.JointRule
	columns  []*topology.Column
	counts   [][]int // by term, by domain: pods that match all terms
	together int     // how many of them are in any domain
	of       map[int]bool
	self     bool
}

// evenRule is a hard spread constraint.
type evenRule struct {
	podtopologyspread.Constraint
	rule   verdict.JointRule
	counts []int64
	of     map[int]bool // groups that count

	// What prepare finds.
	minimum int64
	second  int64 // the least count but for that of one domain with the minimum
	limit   int   // replicas in domains that would exceed maxSkew if the minimum were one less
}

func (s *scaling) findRules(ctx context.Context) error {
	r := &s.rules
	n := s.State.Len()
	err := s.eachFilter(ctx, func(name verdict.Plugin, f plugin.Filter) bool {
		if name >= verdict.NodePorts {
			return false
		}
		refused := nodeset.New(n)
		for _, refusal := range f.Refuse(nodeset.Full(n)) {
			for _, node := range refusal.Nodes {
				refused.Add(node)
			}
		}
		r.static = append(r.static, staticRule{name, refused})
		return true
	})
	if err != nil {
		return err
	}
	r.needs = noderesources.NewFilter(s.Cycle).Needs()
	r.ports = apartRule{rule: verdict.JointRule{Plugin: verdict.NodePorts}, counts: make([]int, n), of: make(map[int]int)}
	if len(s.Pod.HostPorts) > 0 {
		for _, i := range s.State.PortGroups() {
			if g := s.State.Group(i); nodeports.Clash(s.Pod.HostPorts, g.HostPorts) {
				r.ports.add(i, g, 1)
			}
		}
	}
	s.findApart()
	s.findWith()
	for _, h := range podtopologyspread.HardConstraints(s.Cycle) {
		e := evenRule{Constraint: h, counts: h.Counts, of: make(map[int]bool), rule: verdict.JointRule{
			Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: h.Index, TopologyKey: h.TopologyKey,
		}}
		for i, g := range s.State.Groups() {
			if h.Matches(g.Shape) {
				e.of[i] = true
			}
		}
		r.even = append(r.even, e)
	}
	return ctx.Err()
}

// add counts the pods of a group.
func (r *apartRule) add(group int, g *cluster.Group, weight int) {
	r.of[group] += weight
	for i, n := range g.Nodes {
		r.counts[r.domain(n)] += weight * g.Count(i)
	}
}

func (s *scaling) findApart() {
	rule := verdict.JointRule{Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity}
	for i := range s.Pod.AntiAffinity {
		t := &s.Pod.AntiAffinity[i]
		column := s.State.Column(t.TopologyKey)
		rule.Index, rule.TopologyKey = i, s.State.Symbols.Name(t.TopologyKey)
		a := apartRule{rule: rule, column: column, counts: make([]int, column.Len()), of: make(map[int]int)}
		for j, g := range s.State.Groups() {
			if t.Matches(g.Namespace, nil, g.Labels) {
				a.add(j, g, 1)
			}
		}
		s.rules.apart = append(s.rules.apart, a)
	}
	own := len(s.rules.apart)
	for t := range s.State.AntiAffinity(s.Pod) {
		at := own
		for at < len(s.rules.apart) && s.rules.apart[at].rule.TopologyKey != s.State.Symbols.Name(t.TopologyKey) {
			at++
		}
		if at == len(s.rules.apart) {
			column := s.State.Column(t.TopologyKey)
			s.rules.apart = append(s.rules.apart, apartRule{rule: verdict.JointRule{
				Plugin: verdict.InterPodAffinity, Rule: verdict.ExistingPodAntiAffinity, TopologyKey: s.State.Symbols.Name(t.TopologyKey),
			}, column: column, counts: make([]int, column.Len()), of: make(map[int]int)})
		}
		s.rules.apart[at].add(int(t.Group), s.State.Group(int(t.Group)), 1)
	}
}

func (s *scaling) findWith() {
	w := &s.rules.with
	w.of, w.self = make(map[int]bool), interpodaffinity.Wants(s.Pod, s.Pod.Shape)
	for i := range s.Pod.Affinity {
		key := s.Pod.Affinity[i].TopologyKey
		column := s.State.Column(key)
		w.rules = append(w.rules, verdict.JointRule{
			Plugin: verdict.InterPodAffinity, Rule: verdict.PodAffinity, Index: i, TopologyKey: s.State.Symbols.Name(key),
		})
		w.columns, w.counts = append(w.columns, column), append(w.counts, make([]int, column.Len()))
	}
	if len(w.rules) == 0 {
		return
	}
	for i, g := range s.State.Groups() {
		if interpodaffinity.Wants(s.Pod, g.Shape) {
			w.of[i] = true
			for j, n := range g.Nodes {
				w.add(n, g.Count(j))
			}
		}
	}
}

func (w *withRule) add(n uint32, count int) {
	anywhere := false
	for i, column := range w.columns {
		if d := column.Domain[n]; d != topology.None {
			w.counts[i][d] += count
			anywhere = true
		}
	}
	if anywhere {
		w.together += count
	}
}

// others returns how many pods that the affinity asks for are in a node's domain of a term, one on the node left out.
func (w *withRule) others(term int, n uint32, group int) int {
	return w.counts[term][w.columns[term].Domain[n]] - bit(w.of[group])
}

// first reports whether the pod could be the first of its set on a node, if it were not there.
func (w *withRule) first(n uint32, group int) bool {
	left := w.together
	for _, column := range w.columns {
		if column.Domain[n] == topology.None {
			return false
		}
	}
	if w.of[group] {
		left--
	}
	return w.self && left == 0
}

// remove takes one replica out of the counts.
func (r *replicaRules) remove(p *spot) {
	r.ports.counts[p.node] -= r.ports.of[p.Group]
	for i := range r.apart {
		a := &r.apart[i]
		a.counts[a.domain(p.node)] -= a.of[p.Group]
	}
	if r.with.of[p.Group] {
		r.with.add(p.node, -1)
	}
	for i := range r.even {
		e := &r.even[i]
		if e.of[p.Group] && e.Counted.Has(p.node) {
			e.counts[e.Column.Domain[p.node]]--
		}
	}
}

// prepare finds what failing and harm look up.
func (r *replicaRules) prepare(s *scaling) {
	for i := range r.even {
		e := &r.even[i]
		e.minimum, e.second, e.limit = -1, -1, 0
		for d, present := range e.Present {
			switch n := e.counts[d]; {
			case !present:
			case e.minimum < 0 || n < e.minimum:
				e.minimum, e.second = n, e.minimum
			case e.second < 0 || n < e.second:
				e.second = n
			}
		}
		if e.Floor {
			e.minimum, e.second = 0, 0
			continue
		}
		for j := range s.spots {
			p := &s.spots[j]
			if d := e.Column.Domain[p.node]; p.Count > 0 && d != topology.None && e.skew(p, e.minimum) <= e.MaxSkew &&
				e.skew(p, e.minimum-1) > e.MaxSkew {
				e.limit += p.Count
			}
		}
	}
}

// skew returns by how much a replica's domain exceeds a minimum.
func (e *evenRule) skew(p *spot, minimum int64) int64 {
	n := e.counts[e.Column.Domain[p.node]] - minimum
	if e.of[p.Group] && e.Counted.Has(p.node) {
		n--
	}
	if e.SelfMatch {
		n++
	}
	return n
}

// without returns the minimum if a replica were gone.
func (e *evenRule) without(p *spot) int64 {
	d := e.Column.Domain[p.node]
	if e.Floor || !e.of[p.Group] || !e.Counted.Has(p.node) || e.counts[d] != e.minimum {
		return e.minimum
	}
	return e.minimum - 1
}

// failing returns how many plugins would refuse a replica where it is, if it came there now, and tells the rules.
func (r *replicaRules) failing(s *scaling, p *spot, tell func(verdict.JointRule)) int {
	var plugins [verdict.PluginCount]bool
	broken := func(rule verdict.JointRule) {
		plugins[rule.Plugin] = true
		if tell != nil {
			tell(rule)
		}
	}
	for _, rule := range r.static {
		if rule.refused.Has(p.node) {
			broken(verdict.JointRule{Plugin: rule.plugin})
		}
	}
	if r.ports.breaks(p.node, p.Group) {
		broken(r.ports.rule)
	}
	for i := range r.needs {
		need := &r.needs[i]
		uses := p.Uses(need.Resource)
		if need.Resource == api.ResourcePods {
			uses = 1
		}
		room := need.Room(p.node)
		// What a node does not have is not used up there.
		if need.Amount > room+min(uses, need.Allocatable(p.node)-room) {
			broken(verdict.JointRule{Plugin: verdict.NodeResourcesFit, Resource: need.Resource})
		}
	}
	for i := range r.even {
		e := &r.even[i]
		if e.Column.Domain[p.node] == topology.None || e.skew(p, e.without(p)) > e.MaxSkew {
			broken(e.rule)
		}
	}
	for i := range r.apart {
		if r.apart[i].breaks(p.node, p.Group) {
			broken(r.apart[i].rule)
		}
	}
	if w := &r.with; len(w.rules) > 0 && !w.first(p.node, p.Group) {
		for i := range w.rules {
			if w.columns[i].Domain[p.node] == topology.None || w.others(i, p.node, p.Group) <= 0 {
				broken(w.rules[i])
			}
		}
	}
	count := 0
	for _, fails := range plugins {
		count += bit(fails)
	}
	return count
}

// harm returns how many replicas would be refused where they are because one is gone, and are not otherwise.
func (r *replicaRules) harm(p *spot) int {
	harm := 0
	for i := range r.even {
		if e := &r.even[i]; e.without(p) < e.minimum {
			harm = max(harm, e.limit)
		}
	}
	w := &r.with
	if !w.of[p.Group] || w.together-1 <= 1 {
		return harm
	}
	for i := range w.rules {
		// The last but one leaves the last alone.
		if d := w.columns[i].Domain[p.node]; d != topology.None && w.counts[i][d] == 2 {
			harm = max(harm, 1)
		}
	}
	return harm
}
