package cluster

import (
	"context"
	"iter"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// nominees are the pods that are nominated to a node, in the order stated. They have groups, which do not count them.
type nominees struct{ pods []NamedPod }

// nomineesColumn is the name of the only sparse column of nominees.
const nomineesColumn = ""

// nominees returns the value of the column of nominees, none without nominated pods.
func (n *Draft) nominees() []named[*nominees] {
	if len(n.nominated) == 0 {
		return nil
	}
	return []named[*nominees]{{nomineesColumn, &nominees{n.nominated}}}
}

// addNominated finds the groups and loads of nominated pods.
func (g *grouping) addNominated(ctx context.Context, n *Draft, stated []api.Pod) error {
	for i := range stated {
		if i%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		group, t, usage := g.pod(&stated[i])
		n.nominated[i].Group, n.nominated[i].load = group, g.loadOf(&stated[i], t, usage)
	}
	return nil
}

// podName identifies a pod.
type podName struct {
	namespace intern.ID
	name      string
}

// Nominated is a pending pod that is nominated to a node.
type Nominated struct {
	// Group is the pod's group, which does not count it.
	*Group
	Name     string
	Usage    *Usage
	Priority int32
}

// Is reports whether the nominated pod is a pending pod. Pods without a name are no nominated pods.
func (n *Nominated) Is(p *Pending) bool {
	return n.Name != "" && n.Name == p.Name && n.Namespace == p.Namespace
}

// AnyNominated reports whether any pod is nominated to a node of the cluster, even if the request placed it.
func (c *Cluster) AnyNominated() bool { return len(c.nominated) > 0 }

// NominatedNames returns the names of the nominated pods.
func (c *Cluster) NominatedNames() map[string]bool {
	var names map[string]bool
	if column := c.nominated[nomineesColumn]; column != nil {
		names = make(map[string]bool)
		for _, of := range column.Values {
			for i := range of.pods {
				names[of.pods[i].Name] = true
			}
		}
		delete(names, "")
	}
	return names
}

// Nominated iterates over the nominated pods by node, ascending, and on a node in the order of the request. It leaves out
// pods that the request assumed: a placed pod is no longer nominated.
func (s *State) Nominated() iter.Seq2[uint32, Nominated] {
	return func(yield func(uint32, Nominated) bool) {
		column := s.nominated[nomineesColumn]
		if column == nil {
			return
		}
		for at, node := range column.Nodes {
			for _, p := range column.Values[at].pods {
				n := Nominated{Group: &s.groups[p.Group], Name: p.Name}
				if n.Usage, n.Priority = s.loadAt(p.load, p.Group); s.placed[podName{n.Namespace, n.Name}] > 0 {
					continue
				}
				if !yield(node, n) {
					return
				}
			}
		}
	}
}

// settle counts an assumed pod by its name; with -1 it takes that back.
func (s *State) settle(p *Pending, name string, count int) {
	if len(s.nominated) == 0 || name == "" {
		return
	}
	if s.placed == nil {
		s.placed = make(map[podName]int)
	}
	s.placed[podName{p.Namespace, name}] += count
}
