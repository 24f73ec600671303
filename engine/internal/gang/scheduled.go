package gang

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// invalid returns the error with which kube-scheduler fails a group before it attempts any of its pods, empty for none
// (pkg/scheduler/schedule_one_podgroup.go validatePodGroup, v1.37).
func (p *placer) invalid(g *queued) string {
	if g.Joint {
		return ""
	}
	var pending []member
	for i, e := range g.Entries {
		if g.counts[i] == 0 || p.Decision(p.Classes[e]).Gated() != nil {
			continue // not in kube-scheduler's queue
		}
		spec := &p.Pending[e].Pod.Template.Spec
		pending = append(pending, member{spec.Priority, spec.NeverPreempts})
	}
	return g.disagreement(pending)
}

// member is what the pods of a group must agree in.
type member struct {
	priority int32
	never    bool
}

// disagreement returns the property in which the pods of a group differ; empty for none. pending are the pods without a node.
func (g *queued) disagreement(pending []member) string {
	all := pending
	for i := range g.scheduled {
		all = append(all, member{g.scheduled[i].Priority, g.scheduled[i].NeverPreempts})
	}
	for _, m := range all {
		if g.Priority != nil && m.priority != *g.Priority {
			return fmt.Sprintf("all pods in a single pod group should have the same priority as the pod group's priority, got %d and %d",
				m.priority, *g.Priority)
		}
		if m.never != all[0].never {
			return fmt.Sprintf("all pods in a single pod group should have the same preemption policy, got %s and %s",
				policy(m.never), policy(all[0].never))
		}
	}
	return ""
}

func policy(never bool) string {
	if never {
		return "Never"
	}
	return "PreemptLowerPriority"
}

// pinned returns the domain of a key that the scheduled pods of a group are in, topology.None for any, or why it is unknown
// (pkg/scheduler/framework/plugins/topologyaware/topology_placement.go getScheduledPodsTopologyDomain, v1.37).
func pinned(s *cluster.State, g *queued, key string) (domain int32, unknown string) {
	if len(g.scheduled) == 0 {
		return topology.None, ""
	}
	unknown = "cannot determine domain for already scheduled pods: "
	id, ok := s.Symbols.Lookup(key)
	column := topology.Nowhere(s.Len())
	if ok {
		column = s.Column(id)
	}
	for i := range g.scheduled {
		pod := &g.scheduled[i]
		d := column.Domain[pod.Node]
		switch {
		case d == topology.None:
			return 0, unknown + fmt.Sprintf("no topology domain found for pod %s/%s", pod.Namespace, pod.Name)
		case domain != topology.None && domain != column.Empty && d != domain: // a domain without a name counts as none
			return 0, unknown + fmt.Sprintf("more than 1 domain found for pod group: %s, %s",
				s.Symbols.Name(column.Values[domain]), s.Symbols.Name(column.Values[d]))
		}
		domain = d
	}
	return domain, ""
}
