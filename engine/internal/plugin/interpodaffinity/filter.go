// Package interpodaffinity keeps pods with or apart from other pods, per topology domain: required terms filter,
// preferred ones score (pkg/scheduler/framework/plugins/interpodaffinity, v1.37).
//
// Rules hold both ways: a pod on a node that requires to be apart from the incoming pod blocks its whole domain, and
// what pods on nodes wish for counts when the incoming pod is scored.
package interpodaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Filter is the plugin prepared to filter. The sets hold the nodes that each rule refuses; nil for none.
type Filter struct {
	affinity, antiAffinity, existing nodeset.Set
}

// NewFilter prepares the plugin; nil if no rule concerns the pod.
func NewFilter(c *plugin.Cycle) *Filter {
	f := &Filter{
		affinity:     unwanted(c),
		antiAffinity: shunned(c),
		existing:     blocked(c),
	}
	if f.affinity == nil && f.antiAffinity == nil && f.existing == nil {
		return nil
	}
	return f
}

// Refuse returns the nodes that a rule refuses, by the first rule that does.
func (f *Filter) Refuse(in nodeset.Set) []plugin.Refusal {
	var refusals []plugin.Refusal
	rest := in.Clone()
	for _, rule := range []struct {
		refused      nodeset.Set
		unresolvable bool
		reason       verdict.ReasonType
	}{
		{f.affinity, true, verdict.ReasonPodAffinity},
		{f.antiAffinity, false, verdict.ReasonPodAntiAffinity},
		{f.existing, false, verdict.ReasonExistingPodAntiAffinity},
	} {
		if rule.refused == nil {
			continue
		}
		refusals = append(refusals, plugin.Refused(plugin.Both(rest, rule.refused), rule.unresolvable, rule.reason)...)
		rest.AndNot(rule.refused)
	}
	return refusals
}

// unwanted returns the nodes outside the domains that the pod's required affinity asks for.
func unwanted(c *plugin.Cycle) nodeset.Set {
	terms := c.Pod.Affinity
	if len(terms) == 0 {
		return nil
	}
	wanted := nodeset.Full(c.State.Len())
	having := nodeset.Full(c.State.Len())
	anyMatch := false
	members := matchingAll(c)
	for i := range terms {
		column := c.State.Column(terms[i].TopologyKey)
		if inhabited := column.Inhabited(members); inhabited != nil {
			anyMatch = true
			wanted.And(inhabited)
		} else {
			clear(wanted)
		}
		having.And(column.Having)
	}
	// The first pod of a set that wants to be together may go wherever the keys are: when no pod that matches is in any
	// domain, and the pod matches itself.
	if !anyMatch && selfMatch(c.Pod) {
		wanted = having
	}
	refused := nodeset.Full(c.State.Len())
	refused.AndNot(wanted)
	return refused
}

// matchingAll returns the pods that match all of the pod's required affinity terms, none if it has none.
func matchingAll(c *plugin.Cycle) []topology.Members {
	var members []topology.Members
	if len(c.Pod.Affinity) == 0 {
		return nil
	}
	for g := range c.State.Selectable(c.Pod.Affinity[0].Selector) {
		if matchesAll(c.Pod.Affinity, g.Shape) {
			members = append(members, g.Members)
		}
	}
	return members
}

func matchesAll(terms []cluster.Term, s *cluster.Shape) bool {
	for i := range terms {
		if !terms[i].Matches(s.Namespace, nil, s.Labels) {
			return false
		}
	}
	return true
}

func selfMatch(p *cluster.Pending) bool { return matchesAll(p.Affinity, p.Shape) }

// shunned returns the nodes in domains with pods that the pod requires to be apart from; nil if there are none.
func shunned(c *plugin.Cycle) nodeset.Set {
	var refused nodeset.Set
	for i := range c.Pod.AntiAffinity {
		refused = or(refused, c.State.Occupied(&c.Pod.AntiAffinity[i]))
	}
	return refused
}

// blocked returns the nodes in domains with pods that require to be apart from the pod; nil if there are none.
func blocked(c *plugin.Cycle) nodeset.Set {
	var refused nodeset.Set
	for key, members := range c.State.Blocking(c.Pod) {
		refused = or(refused, c.State.Column(key).Inhabited(members))
	}
	return refused
}

// or adds nodes to a set. Either may be nil.
func or(set, nodes nodeset.Set) nodeset.Set {
	switch {
	case set == nil:
		return nodes
	case nodes == nil:
		return set
	}
	set.Or(nodes)
	return set
}

// blocking counts the pods with required anti-affinity terms that match the pod, by the terms' topology key; a pod with
// two such terms of one key counts twice.
func blocking(c *plugin.Cycle) *byKey {
	by := &byKey{state: c.State}
	for t := range c.State.AntiAffinity(c.Pod) {
		by.add(t.TopologyKey, c.State.Group(int(t.Group)).Members, 1)
	}
	return by
}
