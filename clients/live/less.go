package live

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// rest is what remains of a rejected template, and why.
type rest struct {
	template *stowagev1.PodTemplate
	key      string
	reason   string
	// unclear: its pods constrain other pods more than the template says.
	unclear bool
}

// takesUnclear ends the reason for which a pod closes its node.
const takesUnclear = "; what the pod leaves of its node to other pods is not known, so the node takes no pods"

// less returns a template without the smallest part that holds a rejected field: a list of affinity terms, the pods'
// resources, or their labels. It is not ok if nothing can be left out. kube-scheduler enforces every term that it can
// parse, so a missing required anti-affinity term leaves it unclear where other pods may go; other terms only affect
// scores.
func less(t *stowagev1.PodTemplate, field string) (out rest, ok bool) {
	without := func(unclear bool, change func(*stowagev1.PodTemplate)) bool {
		out = rest{template: proto.CloneOf(t), unclear: unclear}
		change(out.template)
		out.key, _ = encoding(out.template)
		return !proto.Equal(out.template, t)
	}
	for list, empty := range termLists {
		if strings.HasPrefix(field, "spec.affinity."+list) && without(list == requiredAntiAffinity, func(t *stowagev1.PodTemplate) {
			if a := t.GetSpec().GetAffinity(); a != nil {
				empty(a)
			}
		}) {
			return out, true
		}
	}
	for _, change := range []func(*stowagev1.PodTemplate){
		func(t *stowagev1.PodTemplate) {
			if strings.HasPrefix(field, "labels") {
				t.Labels = nil
			}
		},
		func(t *stowagev1.PodTemplate) {
			if t.Spec != nil {
				t.Spec = &stowagev1.PodSpec{Affinity: t.Spec.Affinity, Priority: t.Spec.Priority}
			}
		},
		func(t *stowagev1.PodTemplate) { t.Spec = nil },
		func(t *stowagev1.PodTemplate) { t.Labels = nil },
	} {
		if without(true, change) {
			return out, true
		}
	}
	return rest{}, false
}

const requiredAntiAffinity = "pod_anti_affinity.required"

// termLists clear the lists of terms, by path.
var termLists = map[string]func(*stowagev1.Affinity){
	"pod_affinity.required":       func(a *stowagev1.Affinity) { noTerms(a.PodAffinity, true) },
	"pod_affinity.preferred":      func(a *stowagev1.Affinity) { noTerms(a.PodAffinity, false) },
	requiredAntiAffinity:          func(a *stowagev1.Affinity) { noTerms(a.PodAntiAffinity, true) },
	"pod_anti_affinity.preferred": func(a *stowagev1.Affinity) { noTerms(a.PodAntiAffinity, false) },
}

func noTerms(a *stowagev1.PodAffinity, required bool) {
	switch {
	case a == nil:
	case required:
		a.Required = nil
	default:
		a.Preferred = nil
	}
}

// now returns the message of a node with its current pods, nil if the node is left out.
func (n *node) now() *stowagev1.Node {
	if n.stated == nil || len(n.unclear) == 0 {
		return n.stated
	}
	out := &stowagev1.Node{Name: n.stated.Name, Labels: n.stated.Labels, Taints: n.stated.Taints, Images: n.stated.Images}
	kube.Close(out)
	return out
}

// refusedNodes returns the nodes that take no pods because they are rejected or closed by a pod, with the reasons.
func (m *model) refusedNodes() map[string]string {
	out := map[string]string{}
	for name, n := range m.closed {
		if n.stated == nil {
			continue
		}
		uid := slices.Min(slices.Collect(maps.Keys(n.unclear)))
		pod := m.pods[uid].namespace + "/" + m.pods[uid].name
		out[name] = "pod " + pod + " on it: " + m.refused.reasons[object{"Pod", pod}]
	}
	for o, reason := range m.refused.reasons {
		if o.kind == "Node" {
			out[o.name] = reason
		}
	}
	return out
}
