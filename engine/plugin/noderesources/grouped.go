package noderesources

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
)

// grouped collects refused nodes by what they lack. Few combinations occur, so they are looked for in order.
type grouped struct {
	nodes    int // words of a set
	lacking  []int
	keys     []lackKey
	refusals []plugin.Refusal
}

type lackKey struct {
	lacking      []int
	unresolvable bool
}

func (g *grouped) add(n uint32, unresolvable bool) {
	for i, k := range g.keys {
		if k.unresolvable == unresolvable && slices.Equal(k.lacking, g.lacking) {
			g.refusals[i].Nodes.Add(n)
			return
		}
	}
	nodes := make(nodeset.Set, g.nodes)
	nodes.Add(n)
	g.keys = append(g.keys, lackKey{slices.Clone(g.lacking), unresolvable})
	g.refusals = append(g.refusals, plugin.Refusal{Unresolvable: unresolvable, Nodes: nodes})
}
