// Package rule defines the kinds of rules that plugins compile pods into. A kind is the only code that knows its arithmetic.
//
// Static rules depend on nodes alone. The other kinds count pods or their requests: Fit by node, Exclusion, Affinity and Spread by
// topology domain. Their common interface is Counter. A plugin may define a Kind of its own, which all decisions honour as a
// counter. A rule rejects a set of nodes, decides about one node, and adds and removes pods.
//
// A plugin compiles a pod into a Set. All decisions read the Set, so they honour every plugin alike.
package rule

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Set is the rules of a pod, by kind. Rules of a kind are in the order of their plugins. Fit and Affinity are nil if
// the pod has no such rule.
type Set struct {
	Static     []Static
	Fit        *Fit
	Spread     []*Spread
	Affinity   *Affinity
	Exclusions []*Exclusion
	Others     []Kind
}

// Static is a rule that depends on nodes alone.
type Static struct {
	ID     verdict.PodRule
	Code   verdict.Code
	Reason verdict.Reason
	// Also are the reasons that follow Reason, nil for none.
	Also     []verdict.Reason
	Rejected nodeset.Set
}

// reasons returns all reasons of the rule.
func (r *Static) reasons() []verdict.Reason { return append([]verdict.Reason{r.Reason}, r.Also...) }

// Empty reports whether the set has no rules.
func (s *Set) Empty() bool {
	return len(s.Static) == 0 && !s.Counting()
}

// StaticByID returns the static rules with consecutive ones of equal ID merged.
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

// Reject returns the nodes of in that the rules allow, and the rejections of the others by a plugin. A node's reason comes from the
// first rule that rejects it.
func (s *Set) Reject(by verdict.Plugin, in nodeset.Set) (allowed nodeset.Set, rejections []verdict.Rejection) {
	r := rejecting{rest: in}
	for i := range s.Static {
		rule := &s.Static[i]
		r.reject(rule.Rejected, rule.Code, rule.Reason, rule.Also...)
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
	for _, rule := range s.Others {
		code, reason := rule.Rejection()
		r.reject(rule.Rejected(), code, reason)
	}
	for _, f := range r.found {
		rejections = append(rejections, verdict.Rejection{
			Plugin: by, Code: f.code, Reasons: f.reasons, Nodes: f.nodes.Indexes(),
		})
	}
	if s.Fit != nil {
		if full := s.Fit.fullOf(r.rest); !full.Empty() {
			rejections = append(rejections, s.Fit.reject(by, full)...)
			r.remove(full)
		}
	}
	return r.rest, rejections
}

// Rejected returns the nodes of in that the rules reject; nil if there are none.
func (s *Set) Rejected(in nodeset.Set) nodeset.Set {
	allowed, rejections := s.Reject(verdict.NoPlugin, in)
	if len(rejections) == 0 {
		return nil
	}
	return in.Minus(allowed)
}

// rejecting groups rejected nodes by reason, one rule after the other.
type rejecting struct {
	rest   nodeset.Set
	copied bool
	found  []rejected
}

type rejected struct {
	code    verdict.Code
	reasons []verdict.Reason
	nodes   nodeset.Set
}

// reject rejects the remaining nodes that are in a set; nil is the empty set.
func (r *rejecting) reject(nodes nodeset.Set, code verdict.Code, reason verdict.Reason, also ...verdict.Reason) {
	if nodes == nil || !r.rest.Meets(nodes) {
		return
	}
	out := r.rest.Clone()
	out.And(nodes)
	r.remove(nodes)
	for i := range r.found {
		if f := &r.found[i]; f.code == code && f.reasons[0] == reason && slices.Equal(f.reasons[1:], also) {
			f.nodes.Or(out)
			return
		}
	}
	r.found = append(r.found, rejected{code, append([]verdict.Reason{reason}, also...), out})
}

func (r *rejecting) remove(nodes nodeset.Set) {
	if !r.copied {
		r.rest, r.copied = r.rest.Clone(), true
	}
	r.rest.AndNot(nodes)
}

// Pods are the pods that a rule counts.
type Pods struct {
	// Groups iterates over the groups of the state that count.
	Groups iter.Seq2[int, *cluster.Group]
	// Weight returns the count of one pod of a group, 0 for none.
	Weight func(*cluster.Group) int64
}

// Matching returns the pods of some groups that match. Each counts 1.
func Matching(groups iter.Seq2[int, *cluster.Group], matches func(*cluster.Group) bool) Pods {
	return Pods{
		Groups: func(yield func(int, *cluster.Group) bool) {
			for i, g := range groups {
				if matches(g) && !yield(i, g) {
					return
				}
			}
		},
		Weight: func(g *cluster.Group) int64 {
			if matches(g) {
				return 1
			}
			return 0
		},
	}
}

// matches reports whether pods of a group count.
func (p *Pods) matches(g *cluster.Group) bool { return p.Weight(g) > 0 }

// Members returns the pods by group.
func (p *Pods) Members() []topology.Members {
	var members []topology.Members
	for _, g := range p.Groups {
		members = append(members, g.Members)
	}
	return members
}
