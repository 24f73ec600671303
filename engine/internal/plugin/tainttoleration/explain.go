package tainttoleration

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func explain(c *plugin.Cycle, x *plugin.Explaining) {
	x.UntoleratedTaints = untolerated(c, x.Candidates)
	for i := range x.UntoleratedTaints {
		c.State.Explain(verdict.EntryCost + len(x.UntoleratedTaints[i].Nodes))
	}
}

// untolerated returns the untolerated NoSchedule and NoExecute taints, in the order of their first nodes.
func untolerated(c *plugin.Cycle, in nodeset.Set) []verdict.UntoleratedTaint {
	if c.Tolerated == nil {
		return nil
	}
	var out []verdict.UntoleratedTaint
	index := make(map[api.Taint]int)
	for n := range in.Minus(c.Tolerated).All() {
		for _, t := range Untolerated(c.State.TaintsOf(n), c.Pod.Spec().Tolerations, c.Profile) {
			i, ok := index[t]
			if !ok {
				i = len(out)
				index[t] = i
				out = append(out, verdict.UntoleratedTaint{Taint: t})
			}
			out[i].Nodes = append(out[i].Nodes, n)
		}
	}
	return out
}
