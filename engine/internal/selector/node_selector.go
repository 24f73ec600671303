package selector

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// NodeTerm is a compiled node selector term: all its requirements must hold.
type NodeTerm struct {
	Labels []Requirement
	Names  []NameRequirement
}

// NameRequirement requires a node's name to be Name, or with Not to be another one.
type NameRequirement struct {
	Name string
	Not  bool
}

// CompileNodeTerm compiles a node selector term. It reports false if the term matches no node: one without
// requirements, or one that kube-scheduler cannot parse (k8s.io/component-helpers/scheduling/corev1/nodeaffinity,
// v0.37).
func CompileNodeTerm(t *intern.Table, term api.NodeSelectorTerm) (NodeTerm, bool) {
	var c NodeTerm
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return c, false
	}
	for _, r := range term.MatchExpressions {
		compiled, ok := compileRequirement(t, r)
		if !ok {
			return c, false
		}
		c.Labels = append(c.Labels, compiled)
	}
	for _, r := range term.MatchFields {
		c.Names = append(c.Names, NameRequirement{Name: r.Values[0], Not: r.Operator == api.NotIn})
	}
	return c, true
}

// CompileNodeLabels compiles a pod's nodeSelector: every label must be present with its value.
func CompileNodeLabels(t *intern.Table, l api.Labels) []Requirement {
	c := make([]Requirement, len(l))
	for i := range l {
		c[i] = equals(t, l[i].Key, l[i].Value)
	}
	return c
}

// NamedNodes returns the names of the nodes to which required node affinity restricts the pod before filtering, and
// whether it does. It does if each term has an In requirement on the name. No names mean that the terms conflict
// (pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go PreFilter, v1.37).
func NamedNodes(s *api.NodeSelector) (names []string, narrows bool) {
	if s == nil || len(s.Terms) == 0 {
		return nil, false
	}
	for _, term := range s.Terms {
		var only []string
		narrowed := false
		for _, r := range term.MatchFields {
			if r.Operator != api.In {
				continue
			}
			if !narrowed {
				only, narrowed = r.Values, true
			} else if !slices.Equal(only, r.Values) {
				only = nil
			}
		}
		if !narrowed {
			return nil, false
		}
		names = append(names, only...)
	}
	slices.Sort(names)
	return slices.Compact(names), true
}
