package decode

import (
	"maps"
	"strings"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// podGroups decodes the groups of a queue: the request's groups, then the cluster's groups that entries are in.
func (d *decoder) podGroups(in []*stowagev1.PodGroup, queue []*stowagev1.PendingPods, pending []engine.Pending) []engine.PodGroup {
	var root *path
	const field = "pod_groups"
	if !d.within(root, field, len(in), MaxPodGroups) {
		return nil
	}
	byName := make(identities[string], len(in))
	var groups []engine.PodGroup
	for i, g := range in {
		at := root.item(field, i)
		var group engine.PodGroup
		if read := submessage(d, at, g, (*reader).podGroup); read != nil {
			group = *read
		}
		groups = append(groups, group)
		if first, again := byName.add(g.GetName(), i); again {
			d.refuse(at.field("name"), duplicate, "duplicates pod_groups[%d]", first)
		}
	}
	for i, p := range queue {
		if d.full {
			return nil
		}
		name := p.GetPodGroup()
		if name == "" {
			continue
		}
		g, ok := byName[name]
		if of := d.groups.byName[name]; !ok && of != nil {
			g, ok = len(groups), true
			byName[name] = g
			groups = append(groups, *of)
		}
		if !ok {
			at := root.item("queue", i)
			d.refuse(at.field("pod_group"), notFound, "is none of pod_groups, and no group of the cluster")
			continue
		}
		groups[g].Entries = append(groups[g].Entries, i)
	}
	for i := range groups {
		pods := uint64(0)
		for _, e := range groups[i].Entries {
			pods += uint64(queue[e].PodCount())
		}
		if least := groups[i].Minimum; i < len(in) && uint64(max(least, 0)) > pods && !strings.Contains(groups[i].Name, "/") {
			at := root.item(field, i) // no pod on a node is in a group of that name
			d.refuse(at.field("min_count"), outOfRange, "is %d, the group has %d pods", least, pods)
		}
		switch {
		case !groups[i].Joint || pods <= engine.MaxJointPods:
		case i < len(in):
			d.refuse(root.item(field, i), wrongCount, "has %d pods, at most %d can be placed jointly", pods, engine.MaxJointPods)
		default:
			groups[i].Joint = false
		}
	}
	if len(d.violations) > 0 || len(pending) < len(queue) {
		return groups
	}
	return engine.Grouped(pending, groups, func(name string) *api.PodGroup { return d.groups.byName[name] })
}

// groups are pod groups of a cluster by name. Copies share the map until one adds a group.
type groups struct {
	byName map[string]*api.PodGroup
	own    bool // no copy shares the map
}

func (g *groups) add(group *api.PodGroup) {
	if !g.own {
		g.byName, g.own = maps.Clone(g.byName), true
		if g.byName == nil {
			g.byName = make(map[string]*api.PodGroup)
		}
	}
	g.byName[group.Name] = group
}

// scheduledGroups refuses groups that kube-scheduler does not support.
func (d *decoder) scheduledGroups(in []*stowagev1.PodGroup) {
	const only = "is only allowed with QUEUE_MODE_IN_ORDER"
	var root *path
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
	}
}

// clusterGroup reads a group of a cluster.
func (r *reader) clusterGroup(at *path, in *scan) api.PodGroup {
	g := r.podGroup(at, in)
	namespace, name, found := strings.Cut(g.Name, "/")
	if g.Name != "" && (!found || namespace == "" || name == "" || strings.Contains(name, "/")) {
		r.refuse(at.field("name"), invalidSyntax, "must be a namespace and a name with a slash between them")
	}
	return g
}

// groupMode reads the mode of a group. A group of an unknown mode may have steps, as it is refused anyway.
func (r *reader) groupMode(at *path, in *scan, out *api.PodGroup) {
	joint, known := enum(r.problems, at, "mode", stowagev1.PodGroupMode(in.int32(3)), false, true)
	out.Joint = joint || !known
}

// maxSteps reads the step budget, which only JOINT's search has.
func (r *reader) maxSteps(at *path, in *scan, out *api.PodGroup) {
	in.next(number(5))
	out.Steps = int(in.uint32Value())
	if !out.Joint {
		r.refuse(at.field("max_steps"), notAllowed, "is only allowed with POD_GROUP_MODE_JOINT")
		return
	}
	r.between(at.field("max_steps"), int64(out.Steps), 1, MaxSteps)
}

func (r *reader) checkPodGroupTopology(at *path, out *api.PodGroup) {
	out.Constrained = true
	var first identities[string]
	for i, key := range out.Keys {
		at := at.item("keys", i)
		if before, again := first.add(key, i); again {
			r.refuse(at, duplicate, "duplicates keys[%d]", before)
			continue
		}
		r.countName(at, topologyKey, key)
	}
}
