package cluster

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// Replacement is what the controller of a victim creates in its place.
type Replacement struct {
	// Pod is the pod to be placed; nil if no controller creates one.
	Pod *api.Pod
	// Own reports whether the pod may only go to the victim's own node, regardless of its spec.
	Own bool
	// Unknown reports whether the request does not specify what the controller creates.
	Unknown bool
}

// Replacement returns what the controller of a victim creates in its place: the same pod, before it was placed. A terminating
// pod leaves anyhow. A pod without a template of the cluster is unknown: of the pods on nodes only what other pods' rules read
// is kept.
func (s *State) Replacement(v *Victim) Replacement {
	return s.replacement(s.Group(int(v.Group)), s.Symbols)
}

// replacement returns what the controller of a pod of a group creates. The table has the group's strings.
func (c *Cluster) replacement(g *Group, symbols *intern.Table) Replacement {
	if g.Terminating {
		return Replacement{}
	}
	if g.Template < 0 {
		return Replacement{Unknown: true}
	}
	t := c.templates.get(g.Template)
	if !t.source.Controller.Creates() {
		return Replacement{}
	}
	pod := &api.Pod{Template: t.source, TemplateIndex: g.Template, Name: g.ordinal(t.source)}
	if !slices.Equal(g.Labels, t.shape.Labels) {
		for _, l := range g.Labels {
			pod.Labels = append(pod.Labels, api.Label{Key: symbols.Name(l.Key), Value: symbols.Name(l.Value)})
		}
		slices.SortFunc(pod.Labels, func(a, b api.Label) int { return strings.Compare(a.Key, b.Key) })
	}
	return Replacement{Pod: pod, Own: t.source.Controller.Kind == api.DaemonSet}
}

// ordinal returns the name of the pods of a group if a StatefulSet creates a pod of the same name again, with the claims of that name; empty if
// the name does not matter. The claims of ephemeral volumes are deleted with their pod.
func (g *Group) ordinal(t *api.PodTemplate) string {
	if t.Controller.Kind != api.StatefulSet {
		return ""
	}
	for i := range g.Volumes {
		if v := &g.Volumes[i]; v.Of != nil && v.Of.OfPod && v.Claim.Name != "" {
			return strings.TrimPrefix(v.Claim.Name, v.Of.Name+"-")
		}
	}
	return ""
}
