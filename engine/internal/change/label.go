package change

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// labelNode looks for the first node that is feasible with a label that the pod requires and no node has.
func (s *search) labelNode() error {
	nodes := s.passingBut(nodeaffinity.Plugin, podtopologyspread.Plugin)
	if nodes.Empty() {
		return nil
	}
	before, left := len(s.found), maxTriedLabels
	for _, r := range requirements(s.Pod.Spec()) {
		value, ok := "", r.Operator == api.Exists
		if r.Operator == api.In {
			value, ok = r.Values[0], true
		}
		if !ok || !freeLabel(r.Key) || !selector.IsLabel(r.Key, value) || !s.State.Column(s.State.Symbols.Intern(r.Key)).Having.Empty() {
			continue
		}
		label := api.Label{Key: r.Key, Value: value}
		for n := range nodes.All() {
			if left--; left < 0 {
				return nil
			}
			err := s.addAlteration(verdict.Change{LabelledNode: &verdict.LabelledNode{Node: n, Label: label}},
				cluster.Alteration{Node: n, Labels: api.Labels{label}})
			if err != nil || s.suffices(before) {
				return err
			}
		}
	}
	return nil
}

// freeLabel reports whether operators choose nodes' labels with a key. The keys of Kubernetes itself are not free, except for roles.
func freeLabel(key string) bool {
	prefix, _, prefixed := strings.Cut(key, "/")
	return !prefixed || prefix == "node-role.kubernetes.io" || prefix != "kubernetes.io" && !strings.HasSuffix(prefix, ".kubernetes.io")
}
