package decode

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (d *decoder) podGroups(in []*stowagev1.PodGroup, queue []*stowagev1.PendingPods) []engine.PodGroup {
	var root *path
	const field = "pod_groups"
	if !d.within(root, field, len(in), MaxPodGroups) {
		return nil
	}
	byName := make(identities[string], len(in))
	var groups []engine.PodGroup
	scheduled := 0
	for i, g := range in {
		at := root.item(field, i)
		if scheduled += len(g.GetScheduledPods()); scheduled > MaxScheduledPods {
			d.refuse(at.field("scheduled_pods"), wrongCount, "the scheduled pods of all groups are more than %d", MaxScheduledPods)
			return nil
		}
		groups = append(groups, d.podGroup(&at, g))
		d.name(&at, "name", g.GetName(), MaxNameBytes)
		if first, again := byName.add(g.GetName(), i); again {
			d.refuse(at.field("name"), duplicate, "is that of pod_groups[%d]", first)
		}
	}
	pods := make([]uint64, len(in))
	for i, p := range queue {
		if d.full {
			return nil
		}
		name := p.GetPodGroup()
		if name == "" {
			continue
		}
		g, ok := byName[name]
		if !ok {
			at := root.item("queue", i)
			d.refuse(at.field("pod_group"), notFound, "is none of pod_groups")
			continue
		}
		groups[g].Entries = append(groups[g].Entries, i)
		pods[g] += uint64(p.PodCount())
	}
	for i, g := range in {
		at := root.item(field, i)
		switch least := g.GetMinCount(); {
		case g.MinCount == nil:
		case least == 0:
			d.refuse(at.field("min_count"), outOfRange, "is 0, at least 1 is required")
		case uint64(least) > pods[i]+uint64(len(g.GetScheduledPods())):
			all := pods[i] + uint64(len(g.GetScheduledPods()))
			d.refuse(at.field("min_count"), outOfRange, "is %d, the group has %d pods", least, all)
		}
		if groups[i].Joint && pods[i] > MaxJointPods {
			d.refuse(at, wrongCount, "has %d pods, at most %d can be placed jointly", pods[i], MaxJointPods)
		}
	}
	return groups
}

// scheduledGroups refuses groups that kube-scheduler does not have, and those that pods without a group cannot preempt as
// kube-scheduler lets them. returning says that evicted pods come back, which are in no group.
func (d *decoder) scheduledGroups(in []*stowagev1.PodGroup, queue []*stowagev1.PendingPods, returning bool) {
	const only = "is only allowed with QUEUE_MODE_IN_ORDER"
	var root *path
	var single string
	switch {
	case slices.ContainsFunc(queue, func(p *stowagev1.PendingPods) bool { return p.GetPodGroup() == "" }):
		single = ", as an entry of the queue is in no group"
	case returning:
		single = ", as evicted pods that come back are in no group"
	}
	for i, g := range in {
		if d.full {
			return
		}
		at := root.item("pod_groups", i)
		if g.GetMode() == stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT {
			d.refuse(at.field("mode"), notAllowed, "POD_GROUP_MODE_JOINT "+only)
		}
		topology := at.field("topology")
		if g.GetTopology().GetPolicy() == stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_PREFERRED {
			d.refuse(topology.field("policy"), notAllowed, "POD_GROUP_TOPOLOGY_POLICY_PREFERRED "+only)
		}
		if len(g.GetTopology().GetKeys()) > 1 {
			d.refuse(topology.field("keys"), notAllowed, "more than one key "+only)
		}
		if single != "" && g.GetDisruptionMode() == stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_ALL {
			d.refuse(at.field("disruption_mode"), notAllowed,
				"POD_GROUP_DISRUPTION_MODE_ALL "+only+"%s", single)
		}
	}
}

func (d *decoder) podGroup(at *path, in *stowagev1.PodGroup) engine.PodGroup {
	out := engine.PodGroup{Name: in.GetName(), Minimum: int(in.GetMinCount()), Steps: int(in.GetMaxSteps())}
	mode := cmp.Or(in.GetMode(), stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER)
	var known bool
	out.Joint, known = enum(&d.problems, at, "mode", mode, false, true)
	switch {
	case !known || in.MaxSteps == nil:
	case !out.Joint:
		d.refuse(at.field("max_steps"), notAllowed, "is only allowed with POD_GROUP_MODE_JOINT")
	case out.Steps < 1 || out.Steps > MaxSteps:
		d.refuse(at.field("max_steps"), outOfRange, "is %d, 1 to %d are allowed", out.Steps, MaxSteps)
	}
	out.Priority = in.Priority
	disruption := cmp.Or(in.GetDisruptionMode(), stowagev1.PodGroupDisruptionMode_POD_GROUP_DISRUPTION_MODE_SINGLE)
	out.DisruptAll, _ = enum(&d.problems, at, "disruption_mode", disruption, false, true)
	out.Scheduled = d.scheduledPods(at, in.GetScheduledPods())
	if t := in.GetTopology(); t != nil {
		at := at.field("topology")
		d.podGroupTopology(&at, t, &out)
	}
	return out
}

func (d *decoder) scheduledPods(at *path, in []*stowagev1.ScheduledPod) []engine.ScheduledPod {
	if len(in) == 0 {
		return nil
	}
	_, lookup := d.nodes()
	out := make([]engine.ScheduledPod, len(in))
	names := make(identities[[2]string], len(in))
	for i, p := range in {
		at := at.item("scheduled_pods", i)
		d.length(at.field("namespace"), p.GetNamespace(), MaxNameBytes)
		d.name(&at, "name", p.GetName(), MaxNameBytes)
		if first, again := names.add([2]string{p.GetNamespace(), p.GetName()}, i); again {
			d.refuse(at.field("name"), duplicate, "is that of scheduled_pods[%d], in the same namespace, too", first)
		}
		node, ok := lookup(p.GetNode())
		if d.require(p.GetNode() != "", at.field("node")) && !ok {
			d.refuse(at.field("node"), notFound, "no node is called %s", quote(p.GetNode()))
		}
		policy := cmp.Or(p.GetPreemptionPolicy(), stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY)
		never, _ := enum(&d.problems, &at, "preemption_policy", policy, false, true)
		out[i] = engine.ScheduledPod{
			Namespace: p.GetNamespace(), Name: p.GetName(), Node: node, Priority: p.GetPriority(), NeverPreempts: never,
		}
	}
	return out
}

func (d *decoder) podGroupTopology(at *path, in *stowagev1.PodGroupTopology, out *engine.PodGroup) {
	policy := cmp.Or(in.GetPolicy(), stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_REQUIRED)
	out.Preferred, _ = enum(&d.problems, at, "policy", policy, false, true)
	const field = "keys"
	keys := in.GetKeys()
	out.Constrained = true
	if !d.within(at, field, len(keys), MaxGroupKeys) {
		return
	}
	var first identities[string]
	for i, key := range keys {
		at := at.item(field, i)
		if before, again := first.add(key, i); again {
			d.refuse(at, duplicate, "is that of keys[%d]", before)
			continue
		}
		d.labelKey(at, key)
		d.countName(at, topologyKey, key)
		out.Keys = append(out.Keys, key)
	}
}
