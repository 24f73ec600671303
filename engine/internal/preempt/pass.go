package preempt

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

type rules = *rule.Set

// part is the rules of a plugin, and the position of its vector in the concatenated vector of all plugins.
type part struct {
	*plugin.Plugin
	rules
	from, to int
}

// withPart appends the part of a plugin. Its vector follows the vectors of the parts before it.
func withPart(parts []part, p *plugin.Plugin, r rules) []part {
	from := 0
	if n := len(parts); n > 0 {
		from = parts[n-1].to
	}
	return append(parts, part{Plugin: p, rules: r, from: from, to: from + r.Width()})
}

// pass is one of the two decisions about a node, with nominated pods and without them, with the vector of the pods that come
// and go.
type pass struct {
	parts   []part
	vectors *vectors
	v       rule.Vector
	// changes are the pods that come and go, by group, if rules share what pods count; nil otherwise.
	changes map[*cluster.Group]int64
}

// vectors are the vectors of the pods of each group.
type vectors struct {
	parts   []part
	width   int
	recount bool
	by      []vectorOf // by group
	known   []int32    // groups with a vector in by
}

type vectorOf struct {
	rule.Vector
	usage *cluster.Usage
	small bool // even if it is taken atOnce times
}

// atOnce bounds the pods that come back at once.
const atOnce = 1 << 18

func newVectors(parts []part, groups int, recount bool) *vectors {
	return &vectors{parts: parts, width: parts[len(parts)-1].to, recount: recount, by: make([]vectorOf, groups)}
}

// forget drops all vectors.
func (s *vectors) forget() {
	for _, group := range s.known {
		s.by[group] = vectorOf{}
	}
	s.known = s.known[:0]
}

// of returns the vector of a pod of a group until the next call.
func (s *vectors) of(state *cluster.State, group int32, usage *cluster.Usage) *vectorOf {
	known := &s.by[group]
	switch {
	case known.Vector == nil:
		if len(s.known)*s.width > maxKept {
			s.forget()
		}
		s.known = append(s.known, group)
		g := state.Group(int(group))
		known.Vector = make(rule.Vector, 0, s.width)
		for i := range s.parts {
			known.Vector = append(known.Vector, s.parts[i].VectorOf(g, usage, s.recount)...)
		}
		known.usage, known.small = usage, known.Small(atOnce)
	case known.usage != usage:
		for i := range s.parts {
			p := &s.parts[i]
			p.SetUsage(known.Vector[p.from:p.to], usage)
		}
		known.usage, known.small = usage, known.Small(atOnce)
	}
	return known
}

func newPass(vectors *vectors) *pass {
	p := &pass{parts: vectors.parts, vectors: vectors, v: make(rule.Vector, vectors.width)}
	p.clear()
	return p
}

// clear lets no pods come or go.
func (p *pass) clear() {
	clear(p.v)
	if p.changes = nil; slices.ContainsFunc(p.parts, func(part part) bool { return part.Shares() }) {
		p.changes = make(map[*cluster.Group]int64)
	}
}

// count lets a number of victims come back, or leave if it is negative.
func (p *pass) count(s *cluster.State, v *cluster.Victim, number int64) *vectorOf {
	pods := p.vectors.of(s, v.Group, v.Usage)
	if p.v.Add(pods.Vector, number); p.changes != nil {
		p.changes[s.Group(int(v.Group))] += number
	}
	return pods
}

// share corrects the vector for rules whose pods share what they count.
func (p *pass) share(node uint32) {
	if p.changes == nil {
		return
	}
	for i := range p.parts {
		part := &p.parts[i]
		part.Share(node, p.v[part.from:part.to], maps.All(p.changes))
	}
}

// reset gives a pass other parts.
func (p *pass) reset(parts []part) {
	p.vectors.forget()
	p.parts, p.vectors.parts, p.vectors.width = parts, parts, parts[len(parts)-1].to
	p.v = slices.Grow(p.v[:0], p.vectors.width)[:p.vectors.width]
	p.clear()
}

// add adds the nominated pods of a node.
func (p *pass) add(node uint32, pods []cluster.Nominated) {
	for i := range p.parts {
		part := &p.parts[i]
		if v := part.VectorOfAll(nil, node, pods); v != nil {
			p.v[part.from:part.to].Add(v, 1)
		}
	}
	if p.changes != nil {
		for i := range pods {
			p.changes[pods[i].Group]++
		}
	}
}

// rejection returns the rejection of a node by the first plugin that rejects it, and whether there is one.
func (p *pass) rejection(node uint32) (verdict.Rejection, bool) {
	p.share(node)
	for i := range p.parts {
		part := &p.parts[i]
		if r, rejected := part.RejectWith(part.Name, node, p.v[part.from:part.to]); rejected {
			return r, true
		}
	}
	return verdict.Rejection{}, false
}

// allows reports whether no rule rejects a node that no static rule does.
func (p *pass) allows(node uint32) bool {
	p.share(node)
	for i := range p.parts {
		part := &p.parts[i]
		if part.Counting() && !part.CountsAllow(node, p.v[part.from:part.to]) {
			return false
		}
	}
	return true
}

// monotone reports whether fewer additional pods are allowed wherever more are, if their vectors are small.
func (p *pass) monotone(node uint32) bool {
	if p.changes != nil {
		return false
	}
	for i := range p.parts {
		part := &p.parts[i]
		if !part.Monotone(node, p.v[part.from:part.to]) {
			return false
		}
	}
	return true
}

// freeSlots corrects the vector for the victims, which all have left.
func (p *pass) freeSlots(s *cluster.State, node uint32, victims []cluster.Victim) {
	for i := range p.parts {
		part := &p.parts[i]
		part.FreeSlots(node, p.v[part.from:part.to], func(yield func(*cluster.Group) bool) {
			for i := range victims {
				if !yield(s.Group(int(victims[i].Group))) {
					return
				}
			}
		})
	}
}

// withNominated returns the parts with the rules that the nominated pods of a node bring, and whether they differ.
func withNominated(d *decide.Decision, parts []part, pods []cluster.Nominated) (with []part, differ bool) {
	for _, p := range parts {
		if p.WithNominated != nil {
			if own := p.WithNominated(d.Cycle, p.rules, pods); own != nil {
				p.rules, differ = own, true
			}
		}
		with = withPart(with, p.Plugin, p.rules)
	}
	return with, differ
}
