package live

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// rest is the accepted part of a rejected template, and the reason of the rejection.
type rest struct {
	template *stowagev1.PodTemplate
	key      string
	reason   string
	// unclear: its pods may constrain other pods more than the template does.
	unclear bool
}

// takesUnclear ends the reason for which a pod closes its node.
const takesUnclear = "; the pod's use of its node is unknown, so the node accepts no pods"

// now returns the message of a node with its current pods, nil if the node is left out.
func (n *node) now() *stowagev1.Node {
	if n.message == nil || len(n.unclear) == 0 {
		return n.message
	}
	out := &stowagev1.Node{Name: n.message.Name, Labels: n.message.Labels, Taints: n.message.Taints, Images: n.message.Images}
	convert.Close(out)
	return out
}

// refusedNodes returns the nodes that accept no pods because they are rejected or closed by a pod, with the reasons.
func (m *model) refusedNodes() map[string]string {
	out := map[string]string{}
	for name, n := range m.closed {
		if n.message == nil {
			continue
		}
		uid := slices.Min(slices.Collect(maps.Keys(n.unclear)))
		on, p := " on it: ", m.pod(uid)
		if m.pods[uid] == nil {
			on = " nominated to it: "
		}
		pod := p.namespace + "/" + p.name
		out[name] = "pod " + pod + on + m.refused.reasons[object{"Pod", pod}]
	}
	for o, reason := range m.refused.reasons {
		if o.kind == "Node" {
			out[o.name] = reason
		}
	}
	return out
}
