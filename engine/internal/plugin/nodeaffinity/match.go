// Package nodeaffinity implements node selectors and node affinity: required terms filter, preferred ones score
// (pkg/scheduler/framework/plugins/nodeaffinity, v1.37).
package nodeaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Required returns the nodes that match a node selector and required node affinity; nil for all.
func Required(s *cluster.State, spec *api.PodSpec) nodeset.Set {
	var set nodeset.Set
	for _, r := range selector.CompileNodeLabels(s.Symbols, spec.NodeSelector) {
		set = intersect(set, s.LabelMeets(&r))
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		set = intersect(set, s.Selected(spec.NodeAffinity.Required))
	}
	return set
}

// intersect returns the nodes of both sets; nil stands for all. It may change a.
func intersect(a, b nodeset.Set) nodeset.Set {
	if a == nil {
		return b
	}
	a.And(b)
	return a
}
