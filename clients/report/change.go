package report

import (
	"fmt"
	"io"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// WriteChanges writes the changes that would make a pod schedulable, except those that preemption makes anyway.
func (x *Explanation) WriteChanges(w io.Writer, indent string, changes []*stowagev1.Change, p *stowagev1.Preemption) {
	other, without := "", ""
	if p.GetNominated() != nil {
		other, without = "other ", " without preemption"
	}
	changes = beyond(changes, p)
	if len(changes) == 0 {
		WriteWrapped(w, indent, "No "+other+"single change was found that would place it.", x.Width)
		return
	}
	fmt.Fprintln(w, indent+"Any one of these would place it"+without+":")
	for _, c := range changes {
		WriteWrapped(w, indent+"  ", "- "+x.Change(c), x.Width)
	}
}

// Change describes a change in words.
func (x *Explanation) Change(c *stowagev1.Change) string {
	taken := ""
	if n := c.GetNodes().GetIndexes(); len(n) > 0 {
		taken = "; " + x.node(n[0]) + " would take it"
	}
	switch k := c.GetKind().(type) {
	case *stowagev1.Change_AddedNode:
		text := "one more node like " + x.node(k.AddedNode.GetLikeNodeIndex())
		for i, key := range k.AddedNode.GetNewDomainKeys() {
			text += map[bool]string{true: ", in a ", false: " and a "}[i == 0] + key + " of its own"
		}
		return text
	case *stowagev1.Change_Victims:
		pods := k.Victims.GetPods()
		var out []string
		for _, p := range pods {
			out = append(out, x.pod(p))
		}
		return Names(out) + " gone from " + x.node(pods[0].GetNodeIndex()) + taken
	case *stowagev1.Change_RaisedMaxSkew:
		r := k.RaisedMaxSkew
		return fmt.Sprintf("maxSkew %d in place of %d in its spread by %s%s", r.GetTo(), r.GetFrom(), r.GetTopologyKey(), taken)
	case *stowagev1.Change_PreferredRule:
		return x.preferred(k.PreferredRule) + taken
	case *stowagev1.Change_LoweredRequest:
		r := k.LoweredRequest
		return fmt.Sprintf("a request of %s %s at most in place of %s%s", Quantity(r.GetResource(), r.GetTo()), r.GetResource(),
			Quantity(r.GetResource(), r.GetFrom()), taken)
	}
	return "something that this release does not know"
}

func (x *Explanation) preferred(r *stowagev1.PodRule) string {
	switch {
	case r.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD:
		return fmt.Sprintf("ScheduleAnyway in its spread by %s", r.GetTopologyKey())
	case r.GetPlugin() == stowagev1.Plugin_PLUGIN_NODE_AFFINITY:
		return "its node selector and node affinity preferred in place of required"
	}
	return fmt.Sprintf("its %s by %s preferred in place of required", Rule(r.GetRule()), r.GetTopologyKey())
}
