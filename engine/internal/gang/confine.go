package gang

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Confinement is the effect of a pod group on one more pod, if no other pod of the group is pending: the candidates of the pod group
// cycle, the candidates outside of the group's domain, or the reason why kube-scheduler fails the group. Nowhere reports that the
// domain has no candidates.
type Confinement struct {
	Candidates, Outside nodeset.Set
	Nowhere             bool
	Failure             string
}

// NoPlacements is the text of kube-scheduler about a group without a node in its domain
// (pkg/scheduler/framework/runtime/framework.go RunPlacementGeneratePlugins, v1.37).
const NoPlacements = "no feasible placements found"

// Confine returns the restrictions that a pod's group imposes on it, given the members that have a node. decided is false if other
// pending pods of the group matter, too: the group cannot reach its minimum with this pod alone, or may go to several domains.
// decided is true for a pod without a group.
func Confine(s *cluster.State, pod *api.Pod, candidates nodeset.Set) (c Confinement, decided bool) {
	c.Candidates = candidates
	name := cluster.PodGroupOf(pod.Template)
	if name == "" {
		return c, true
	}
	of, defined := s.PodGroup(name)
	if !defined || of.Joint || of.Preferred || len(of.Keys) > 1 {
		return c, false
	}
	g := &queued{PodGroup: of}
	g.have(s.Members(name, s.Assumed()))
	decided = g.there+1 >= of.Minimum && (g.there > 0 || of.Minimum > 0 && len(of.Keys) == 0)
	spec := &pod.Template.Spec
	if c.Failure = g.disagreement([]member{{spec.Priority, spec.NeverPreempts}}); c.Failure != "" || len(of.Keys) == 0 {
		return c, decided
	}
	var domain int32
	if domain, c.Failure = pinned(s, g, of.Keys[0]); c.Failure != "" || domain == topology.None {
		return c, decided
	}
	id, _ := s.Symbols.Lookup(of.Keys[0])
	inside, column := nodeset.New(s.Len()), s.Column(id)
	for n := range candidates.All() {
		if column.Domain[n] == domain {
			inside.Add(n)
		}
	}
	c.Candidates, c.Outside, c.Nowhere = inside, candidates.Minus(inside), inside.Empty()
	return c, decided
}

// Rejections returns the rejections of the nodes that the pod group cycle does not consider.
func (c *Confinement) Rejections() []verdict.Rejection {
	reason, of, code := verdict.ReasonOf(verdict.ReasonPodGroup), c.Outside, verdict.UnschedulableAndUnresolvable
	if c.Failure != "" {
		reason.Message, of, code = c.Failure, c.Candidates, verdict.Error
	}
	if of.Empty() {
		return nil
	}
	return []verdict.Rejection{{
		Plugin: verdict.TopologyPlacement, Code: code, Reasons: []verdict.Reason{reason}, Nodes: of.Indexes(),
	}}
}
