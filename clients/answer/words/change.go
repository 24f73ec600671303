package words

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// OneOf names the pod of some pods that a change places.
func OneOf(pods uint32) string {
	if pods > 1 {
		return "one of them"
	}
	return "it"
}

// Change describes a change in words.
func (x *Explanation) Change(c *stowagev1.Change) string {
	return x.difference(c) + x.taken(c)
}

// taken says which node a change makes feasible, unless the change is of that node alone.
func (x *Explanation) taken(c *stowagev1.Change) string {
	n := c.GetNodes().GetIndexes()
	if len(n) == 0 {
		return ""
	}
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_UncordonedNode:
		if k.UncordonedNode.GetNodeIndex() == n[0] {
			return ""
		}
	case *stowagev1.Change_ClearedTaints:
		if k.ClearedTaints.GetNodeIndex() == n[0] {
			return ""
		}
	case *stowagev1.Change_LabelledNode:
		if k.LabelledNode.GetNodeIndex() == n[0] {
			return ""
		}
	}
	return "; " + x.Node(n[0]) + " would take it"
}

// difference describes what changes.
func (x *Explanation) difference(c *stowagev1.Change) string {
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_AddedNode:
		text := "one more node like " + x.Node(k.AddedNode.GetLikeNodeIndex())
		for i, key := range k.AddedNode.GetNewDomainKeys() {
			text += map[bool]string{true: ", in a ", false: " and a "}[i == 0] + key + " of its own"
		}
		return text
	case *stowagev1.Change_Victims:
		pods := k.Victims.GetPods()
		var out []string
		for _, p := range pods {
			out = append(out, x.Pod(p))
		}
		return Names(out) + " gone from " + x.Node(pods[0].GetNodeIndex())
	case *stowagev1.Change_RaisedMaxSkew:
		r := k.RaisedMaxSkew
		return fmt.Sprintf("maxSkew %d instead of %d in its spread by %s", r.GetTo(), r.GetFrom(), r.GetTopologyKey())
	case *stowagev1.Change_PreferredRule:
		return x.preferred(k.PreferredRule)
	case *stowagev1.Change_LoweredRequest:
		r := k.LoweredRequest
		return fmt.Sprintf("a request of %s %s%s instead of %s", Quantity(r.GetResource(), r.GetTo()), r.GetResource(),
			map[bool]string{false: " at most"}[x.Counting], Quantity(r.GetResource(), r.GetFrom()))
	case *stowagev1.Change_UncordonedNode:
		return x.Node(k.UncordonedNode.GetNodeIndex()) + " uncordoned"
	case *stowagev1.Change_ClearedTaints:
		return x.Node(k.ClearedTaints.GetNodeIndex()) + " " + cleared(k.ClearedTaints.GetTaints())
	case *stowagev1.Change_LabelledNode:
		l := k.LabelledNode
		return fmt.Sprintf("the label %s=%s on %s", l.GetKey(), l.GetValue(), x.Node(l.GetNodeIndex()))
	case *stowagev1.Change_Combined:
		var all []string
		for _, one := range k.Combined.GetChanges() {
			all = append(all, x.difference(one))
		}
		return strings.Join(all, ", together with ")
	}
	return ofSpec(c)
}

// cleared describes a node without some taints: the states that have ended, and the other taints by name.
func cleared(taints []*stowagev1.Taint) string {
	var parts []string
	var others []*stowagev1.Taint
	for _, t := range taints {
		switch ended := nodestate.Ended(t.GetKey()); {
		case ended == "":
			others = append(others, t)
		case !slices.Contains(parts, ended):
			parts = append(parts, ended)
		}
	}
	if len(others) > 0 {
		parts = append(parts, fmt.Sprintf("without the %s %s", Noun("taint", len(others)), taintNames(others)))
	}
	return strings.Join(parts, " and ")
}

func (x *Explanation) preferred(r *stowagev1.PodRule) string {
	switch {
	case r.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		return fmt.Sprintf("ScheduleAnyway in its spread by %s", r.GetTopologyKey())
	case r.GetPlugin() == stowagev1.Plugin_PLUGIN_NODE_AFFINITY:
		return "its node selector and node affinity preferred instead of required"
	}
	return fmt.Sprintf("its %s by %s preferred instead of required", Rule(r.GetRule()), r.GetTopologyKey())
}

// Missing is what a node lacks of a resource. Amounts are rounded down, what is missing is not.
func Missing(s *stowagev1.ResourceShortage) string {
	name := corev1.ResourceName(s.GetResource())
	q := convert.Quantity(name, s.GetRequested())
	q.Add(convert.Quantity(name, s.GetUsed()))
	q.Sub(convert.Quantity(name, s.GetAllocatable()))
	text := Brief(q)
	if brief, err := resource.ParseQuantity(text); err == nil && brief.Cmp(q) < 0 {
		return "over " + text
	}
	return text
}

// Remedies are the changes that would make a pod schedulable, without the changes that preemption makes anyway.
func Remedies(changes []*stowagev1.Change, p *stowagev1.Preemption) []*stowagev1.Change {
	return Beyond(changes, p)
}
