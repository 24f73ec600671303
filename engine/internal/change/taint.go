package change

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeunschedulable"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// ofRole reports whether a taint's key names a node's role, such as node-role.kubernetes.io/control-plane.
func ofRole(key string) bool { return strings.HasPrefix(key, "node-role.kubernetes.io/") }

// tainted is untolerated taints, and the first node that has them.
type tainted struct {
	taints []api.Taint
	node   uint32
}

// taintedNodes returns the nodes whose taints may matter: nodes that only TaintToleration, PodTopologySpread and the given plugins
// reject. If a spread constraint honors taints, the taints of any node may change what the constraint rejects, so all nodes matter.
func (s *search) taintedNodes(but ...*plugin.Plugin) nodeset.Set {
	nodes := s.passingBut(append(but, tainttoleration.Plugin, podtopologyspread.Plugin)...)
	honors := func(k api.TopologySpreadConstraint) bool { return !k.ScheduleAnyway && k.HonorNodeTaints }
	if !slices.ContainsFunc(s.Pod.Spec().Spread, honors) {
		return nodes
	}
	return s.candidates.Clone()
}

// spreads reports whether the pod has hard spread constraints, so that nodes with the same taints may differ.
func (s *search) spreads() bool { return len(s.rules.Spread) > 0 }

// untolerated returns the lists of untolerated taints of nodes, the shortest first: the distinct lists, or with each the list of
// every node. All taints of a list are allowed. With roles, each list also has at least one taint of a role; without, none.
func (s *search) untolerated(nodes nodeset.Set, allowed func(key string) bool, roles, each bool) []tainted {
	var out []tainted
	seen := make(map[int32]bool)
	lists, number := s.State.TaintLists(), s.State.TaintNumbers()
	for n := range nodes.All() {
		class := number(n)
		if seen[class] && !each {
			continue
		}
		seen[class] = true
		taints := tainttoleration.Untolerated(lists[class], s.Pod.Spec().Tolerations, s.Profile)
		role := slices.ContainsFunc(taints, func(t api.Taint) bool { return ofRole(t.Key) })
		other := slices.ContainsFunc(taints, func(t api.Taint) bool { return !allowed(t.Key) && !ofRole(t.Key) })
		if len(taints) > 0 && role == roles && !other {
			out = append(out, tainted{taints, n})
		}
	}
	slices.SortStableFunc(out, func(a, b tainted) int { return cmp.Compare(len(a.taints), len(b.taints)) })
	return out[:min(len(out), maxTriedTaints)]
}

// tolerate looks for the fewest tolerations that make a node feasible: without the taints of roles, and with them.
func (s *search) tolerate() error {
	nodes := s.taintedNodes()
	before := len(s.found)
	for _, roles := range []bool{false, true} {
		for _, t := range s.untolerated(nodes, func(key string) bool { return !nodestate.Has(key) }, roles, false) {
			tolerations := tolerationsOf(t.taints)
			err := s.addSpec(verdict.Change{Tolerations: tolerations}, func(spec *api.PodSpec) {
				spec.Tolerations = append(slices.Clip(spec.Tolerations), tolerations...)
			})
			if err != nil {
				return err
			}
			if s.suffices(before) {
				return nil
			}
		}
	}
	return nil
}

// tolerationsOf returns the tolerations of taints, as a pod's spec has them.
func tolerationsOf(taints []api.Taint) []api.Toleration {
	var out []api.Toleration
	for _, t := range taints {
		operator := api.TolerationEqual
		if t.Value == "" {
			operator = api.TolerationExists
		}
		out = append(out, api.Toleration{Key: t.Key, Operator: operator, Value: t.Value, Effect: t.Effect})
	}
	return out
}

// uncordon looks for the first node that is feasible once it is uncordoned. One with other untolerated taints needs another change,
// too.
func (s *search) uncordon() error {
	nodes := s.taintedNodes(nodeunschedulable.Plugin)
	nodes.And(s.State.Unschedulable)
	before, left := len(s.found), maxTriedNodes
	for n := range nodes.All() {
		if !s.unverified && has(s.rejected[tainttoleration.Plugin], n) && s.taintedOtherwise(n) {
			continue
		}
		if left--; left < 0 {
			break
		}
		err := s.addAlteration(verdict.Change{UncordonedNode: &n}, cluster.Alteration{Node: n, Uncordoned: true})
		if err != nil || s.suffices(before) {
			return err
		}
	}
	return nil
}

// taintedOtherwise reports whether a node has untolerated taints other than the taint of cordoned nodes.
func (s *search) taintedOtherwise(node uint32) bool {
	taints := tainttoleration.Untolerated(s.State.TaintsOf(node), s.Pod.Spec().Tolerations, s.Profile)
	return slices.ContainsFunc(taints, func(t api.Taint) bool { return !cluster.Cordons(t) })
}

// clearTaints looks for the fewest node states (such as not-ready) whose end makes a node feasible, then also considers taints of
// roles. Without spread constraints, one node stands for all nodes with the same taints.
func (s *search) clearTaints() error {
	nodes := s.taintedNodes()
	before := len(s.found)
	for _, roles := range []bool{false, true} {
		for _, t := range s.untolerated(nodes, nodestate.Has, roles, s.spreads()) {
			err := s.addAlteration(verdict.Change{ClearedTaints: &verdict.ClearedTaints{Node: t.node, Taints: t.taints}},
				cluster.Alteration{Node: t.node, Cleared: t.taints})
			if err != nil || s.suffices(before) {
				return err
			}
		}
	}
	return nil
}
