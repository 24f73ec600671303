package rule

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// RejectWith returns the rejection of one node by a plugin with additional pods on it, and whether there is one. The
// other rules of the node's domains count them, too, but only for this decision. The counts are those of now, so it may
// be asked again after Add.
func (s *Set) RejectWith(by verdict.Plugin, node uint32, pods []cluster.Nominated) (verdict.Rejection, bool) {
	code, reason := s.failing(node, pods)
	switch {
	case code != 0:
		return verdict.Rejection{Plugin: by, Code: code, Reasons: []verdict.Reason{reason}, Nodes: []uint32{node}}, true
	case s.Fit != nil && s.Fit.fullWith(node, pods):
		return s.Fit.With(pods).reject(by, nodeset.Of(s.Fit.nodes, []uint32{node}))[0], true
	}
	return verdict.Rejection{}, false
}

// AllowsWith reports whether RejectWith returns no rejection.
func (s *Set) AllowsWith(node uint32, pods []cluster.Nominated) bool {
	code, _ := s.failing(node, pods)
	return code == 0 && (s.Fit == nil || !s.Fit.fullWith(node, pods))
}

// failing returns the code and reason of the first rule other than Fit that rejects a node with additional pods on it; 0
// if none does.
func (s *Set) failing(node uint32, pods []cluster.Nominated) (verdict.Code, verdict.Reason) {
	for i := range s.Static {
		if rule := &s.Static[i]; rule.Rejected != nil && rule.Rejected.Has(node) {
			return rule.Code, rule.Reason
		}
	}
	for _, rule := range s.Spread {
		if !rule.Column.Having.Has(node) {
			return verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonSpreadMissingLabel)
		}
		if rule.exceededWith(node, pods) {
			return verdict.Unschedulable, verdict.ReasonOf(verdict.ReasonSpread)
		}
	}
	if a := s.Affinity; a != nil && !a.AllowsWith(node, number(pods, a.Pods.matches)) {
		return verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonPodAffinity)
	}
	for _, rule := range s.Exclusions {
		if !rule.AllowsWith(node, rule.weight(pods)) {
			return verdict.Unschedulable, rule.Reason
		}
	}
	return 0, verdict.Reason{}
}

// ExcludedBy reports whether exclusions reject a node because of additional pods on it.
func (s *Set) ExcludedBy(node uint32, pods []cluster.Nominated) bool {
	for _, rule := range s.Exclusions {
		if _, in := rule.Domain(node); in && rule.weight(pods) > 0 {
			return true
		}
	}
	return false
}

// weight returns the weight of additional pods.
func (e *Exclusion) weight(pods []cluster.Nominated) (sum int64) {
	for i := range pods {
		sum += e.Pods.Weight(pods[i].Group)
	}
	return sum
}

// exceededWith reports whether the domain of a node would exceed MaxSkew with additional pods on the node.
func (r *Spread) exceededWith(node uint32, pods []cluster.Nominated) bool {
	if r.counts == nil && number(pods, r.adds) == 0 {
		return r.exceeded.Has(node)
	}
	return r.SkewWith(node, pods) > r.MaxSkew
}

// SkewWith returns by how much the domain of a node would exceed the minimum with the pod and additional pods on the node.
func (r *Spread) SkewWith(node uint32, pods []cluster.Nominated) int64 {
	count := number(pods, r.adds)
	counted := count > 0 && r.Add(node, count)
	skew := r.Skew(r.Column.Domain[node])
	if counted {
		r.Add(node, -count)
	}
	return skew
}

// number returns the number of pods of groups of a kind.
func number(pods []cluster.Nominated, of func(*cluster.Group) bool) (count int64) {
	for i := range pods {
		if of(pods[i].Group) {
			count++
		}
	}
	return count
}
