package plugin

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Finder finds the pods behind counts, for explanations.
type Finder struct {
	state   *cluster.State
	assumed map[uint32][]cluster.Assumed // by node
}

// NewFinder returns a finder that knows the pods placed so far.
func NewFinder(s *cluster.State) *Finder {
	f := &Finder{state: s, assumed: make(map[uint32][]cluster.Assumed)}
	for _, a := range s.AssumedPods() {
		f.assumed[a.Node] = append(f.assumed[a.Node], a)
	}
	return f
}

// On returns the pods of a group on a node, in at most limit entries: those stated one by one, then the others as one
// entry, then those that the request placed.
func (f *Finder) On(node uint32, group, limit int) []verdict.ConflictingPod {
	g := f.state.Group(group)
	pod := verdict.ConflictingPod{
		Namespace: f.state.Symbols.Name(g.Namespace),
		Node:      node,
		Count:     1,
		Template:  g.Template,
		Queue:     -1,
	}
	var out []verdict.ConflictingPod
	counted := g.On(node)
	for _, p := range f.state.Named(node) {
		if int(p.Group) == group {
			counted--
			pod.Name = p.Name
			out = append(out, pod)
		}
	}
	if counted > 0 {
		rest := pod
		rest.Name, rest.Count = "", counted
		out = append(out, rest)
	}
	for _, a := range f.assumed[node] {
		if a.Group == group {
			pod.Name, pod.Queue = a.Name, a.Queue
			out = append(out, pod)
		}
	}
	return out[:min(limit, len(out))]
}
