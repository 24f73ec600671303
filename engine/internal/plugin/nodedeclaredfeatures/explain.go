package nodedeclaredfeatures

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// explain lists the required features that candidates do not declare: kube-scheduler's text names none.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	required := slices.Clone(c.Pod.Spec().RequiredNodeFeatures)
	slices.Sort(required)
	for _, name := range slices.Compact(required) {
		nodes := lacking(c.State, []string{name})
		nodes.And(x.Candidates)
		if nodes.Empty() {
			continue
		}
		u := verdict.UndeclaredFeature{Feature: name, Nodes: nodes.Indexes()}
		if !c.State.Explain(verdict.EntryCost + len(u.Nodes)) {
			return
		}
		x.Undeclared = append(x.Undeclared, u)
	}
}
