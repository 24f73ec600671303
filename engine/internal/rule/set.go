// Package rule holds the kinds of rules that plugins compile pods into. A kind is the only code that knows its arithmetic.
//
// Static rules depend on nodes alone. The other kinds count pods or their requests: Fit by node, Exclusion, Affinity and
// Spread by topology domain. They reject nodes as a set, decide about one node, and count pods that come and go.
//
// A plugin compiles a pod into a Set. Everything that decides reads the Set, and so honours every plugin alike.
package rule

import (
	"iter"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Set is the rules of a pod, by kind. Within a kind they are in the order of the plugins. Fit and Affinity are nil if the pod
// has no such rule.
type Set struct {
	Static     []Static
	Fit        *Fit
	Spread     []*Spread
	Affinity   *Affinity
	Exclusions []*Exclusion
}

// Static rejects nodes whatever pods there are.
type Static struct {
	ID       verdict.JointRule
	Code     verdict.Code
	Reason   verdict.Reason
	Rejected nodeset.Set
}

// Empty reports whether the set has no rules.
func (s *Set) Empty() bool {
	return s.Fit == nil && s.Affinity == nil && len(s.Static)+len(s.Spread)+len(s.Exclusions) == 0
}

// StaticByID returns the static rules, those with equal IDs, which follow each other, as one.
func (s *Set) StaticByID() []Static {
	var merged []Static
	for i, rule := range s.Static {
		if i > 0 && s.Static[i-1].ID == rule.ID {
			last := &merged[len(merged)-1]
			last.Rejected = last.Rejected.Clone()
			last.Rejected.Or(rule.Rejected)
			continue
		}
		merged = append(merged, rule)
	}
	return merged
}

// Reject returns the nodes of in that the rules reject, by reason. The first rule that rejects a node gives the reason.
func (s *Set) Reject(in nodeset.Set) []Rejection {
	r := rejecting{rest: in}
	for i := range s.Static {
		rule := &s.Static[i]
		r.reject(rule.Rejected, rule.Code, rule.Reason)
	}
	for _, rule := range s.Spread {
		r.reject(rule.missing(), verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonSpreadMissingLabel))
		r.reject(rule.exceeded, verdict.Unschedulable, verdict.ReasonOf(verdict.ReasonSpread))
	}
	if s.Affinity != nil {
		r.reject(s.Affinity.Rejected(), verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonPodAffinity))
	}
	for _, rule := range s.Exclusions {
		r.reject(rule.Rejected(), verdict.Unschedulable, rule.Reason)
	}
	if s.Fit != nil {
		return append(r.rejections(), s.Fit.reject(r.rest)...)
	}
	return r.rejections()
}

// Rejected returns the nodes of in that the rules reject; nil if there are none.
func (s *Set) Rejected(in nodeset.Set) nodeset.Set {
	var all nodeset.Set
	for _, r := range s.Reject(in) {
		if all == nil {
			all = make(nodeset.Set, len(in))
		}
		r.AddTo(all)
	}
	return all
}

// Rejection is nodes that rules reject for the same reasons.
type Rejection struct {
	Code    verdict.Code
	Reasons []verdict.Reason
	Nodes   []uint32 // ascending

	set nodeset.Set // the nodes, if they came as a set
}

// RemoveFrom removes the nodes from a set.
func (r *Rejection) RemoveFrom(set nodeset.Set) {
	if r.set != nil {
		set.AndNot(r.set)
		return
	}
	for _, n := range r.Nodes {
		set.Remove(n)
	}
}

// AddTo adds the nodes to a set.
func (r *Rejection) AddTo(set nodeset.Set) {
	if r.set != nil {
		set.Or(r.set)
		return
	}
	for _, n := range r.Nodes {
		set.Add(n)
	}
}

// rejecting groups the nodes that rules reject, one rule after the other, by reason.
type rejecting struct {
	rest   nodeset.Set
	copied bool
	found  []rejected
}

type rejected struct {
	code   verdict.Code
	reason verdict.Reason
	nodes  nodeset.Set
}

// reject rejects those of the remaining nodes that are in a set; nil is the empty set.
func (r *rejecting) reject(nodes nodeset.Set, code verdict.Code, reason verdict.Reason) {
	if nodes == nil || !r.rest.Meets(nodes) {
		return
	}
	out := r.rest.Clone()
	out.And(nodes)
	if !r.copied {
		r.rest, r.copied = r.rest.Clone(), true
	}
	r.rest.AndNot(nodes)
	for i := range r.found {
		if f := &r.found[i]; f.code == code && f.reason == reason {
			f.nodes.Or(out)
			return
		}
	}
	r.found = append(r.found, rejected{code, reason, out})
}

func (r *rejecting) rejections() []Rejection {
	var out []Rejection
	for _, f := range r.found {
		out = append(out, Rejection{
			Code: f.code, Reasons: []verdict.Reason{f.reason}, Nodes: f.nodes.Indexes(), set: f.nodes,
		})
	}
	return out
}

// Pods are the pods that a rule counts.
type Pods struct {
	// Groups iterates over the groups of the state whose pods count.
	Groups iter.Seq2[int, *cluster.Group]
	// Weight returns what one pod of a group counts, 0 if it does not.
	Weight func(*cluster.Group) int64
}

// All returns the pods of all groups for which weight is not 0.
func All(s *cluster.State, weight func(*cluster.Group) int64) Pods {
	return Pods{
		Groups: func(yield func(int, *cluster.Group) bool) {
			for i, g := range s.Groups() {
				if weight(g) != 0 && !yield(i, g) {
					return
				}
			}
		},
		Weight: weight,
	}
}

func (p *Pods) members() []topology.Members {
	var members []topology.Members
	for _, g := range p.Groups {
		members = append(members, g.Members)
	}
	return members
}
