package decode

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ProvisionCall is a ProvisionRequest in the engine's values.
type ProvisionCall struct {
	Queue   []engine.Pending
	Options engine.ProvisionOptions
}

// Provision decodes a ProvisionRequest except for its cluster.
func (r *Request) Provision(in *stowagev1.ProvisionRequest) ProvisionCall {
	queue := r.queue(in.GetQueue(), nil)
	call := ProvisionCall{
		Queue: queue,
		Options: engine.ProvisionOptions{
			Profile:    r.profile(in.GetContext().GetProfile()),
			Candidates: r.candidates(in.GetCandidateNodes()),
			Seed:       in.GetTieBreakSeed(),
			Groups:     r.podGroups(in.GetPodGroups(), in.GetQueue(), queue),
			MaxNodes:   r.maxNodes(in),
			Steps:      r.provisionSteps(in),
			Scheduler:  r.scheduler(in.GetQueueMode()),
			Domains:    in.GetCountTemplateDomains(),
		},
	}
	for i, g := range in.GetPodGroups() {
		if g.GetMode() == stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT {
			at := (*path)(nil).item("pod_groups", i)
			r.refuse(at.field("mode"), notAllowed, "must not be POD_GROUP_MODE_JOINT")
		}
	}
	if r.require(len(in.GetTemplates()) > 0, path{name: "templates"}) {
		call.Options.Templates = r.nodeTemplates(in.GetTemplates(), "max_nodes", call.Options.MaxNodes)
	}
	return call
}

// nodeTemplates decodes the nodes that may be added, at most maxNodes in all. limit is the request's field of that number.
func (d *decoder) nodeTemplates(in []*stowagev1.NodeTemplate, limit string, maxNodes int) []engine.NodeTemplate {
	var root *path
	const field = "templates"
	if !d.within(root, field, len(in), MaxNodeTemplates) {
		return nil
	}
	out := make([]engine.NodeTemplate, 0, len(in))
	names := make(identities[string], len(in))
	pods, taken, devices := uint64(0), uint64(0), uint64(0)
	for i, t := range in {
		if d.over() {
			return nil
		}
		if d.ended = d.ctx.Err(); d.ended != nil {
			return nil
		}
		at := root.item(field, i)
		own := d.templateSlices(&at, t)
		if !d.require(t.GetNode() != nil, at.field("node")) {
			continue
		}
		template := engine.NodeTemplate{NameLabelKeys: t.GetNameLabelKeys(), Price: int64(min(t.GetPrice(), MaxPrice)), Most: maxNodes}
		if t.MaxCount != nil {
			template.Most = min(int(t.GetMaxCount()), maxNodes)
		}
		if t.GetPrice() > MaxPrice {
			d.refuse(at.field("price"), outOfRange, "is %d, 0 to %d are allowed", t.GetPrice(), int64(MaxPrice))
		}
		if d.within(&at, "name_label_keys", len(t.GetNameLabelKeys()), MaxLabels) {
			for j, key := range t.GetNameLabelKeys() {
				d.labelKey(at.item("name_label_keys", j), key)
			}
		}
		node := d.templateNode(&at, t.GetNode())
		if first, again := names.add(node.node.Name, i); again && node.node.Name != "" {
			at := at.field("node")
			d.refuse(at.field("name"), duplicate, "duplicates templates[%d], names must be unique", first)
		}
		pods, taken = max(pods, node.pods), max(taken, inherited(node.node.Class))
		template.Node, template.Slices = node.node, own
		devices = max(devices, devicesOf(template.Slices))
		out = append(out, template)
	}
	if all := pods * uint64(maxNodes); all > MaxNewPods {
		d.refuse(root.field(field), wrongCount, "with %d new nodes, %d pods may come with them, at most %d are allowed",
			maxNodes, all, MaxNewPods)
	}
	if all := devices * uint64(maxNodes); all > MaxNewDevices {
		d.refuse(root.field(field), wrongCount, "with %d new nodes, %d devices may come with them, at most %d are allowed",
			maxNodes, all, MaxNewDevices)
	}
	if all := d.pods + pods*uint64(maxNodes); all > MaxClusterPods {
		d.refuse(root.field(field), wrongCount, "with %d new nodes there may be %d pods on nodes, at most %d are allowed",
			maxNodes, all, MaxClusterPods)
	}
	if all := d.inherited + taken*uint64(maxNodes); all > MaxInherited {
		d.refuse(root.field(field), wrongCount,
			"with %d new nodes, %d taints, image names, labels and declared features may come from classes, at most %d are allowed", maxNodes, all, MaxInherited)
	}
	nodes, _ := d.nodes()
	d.tighten()
	at := root.field(limit)
	d.boundNames(&at, nodes+maxNodes)
	return out
}

// templateNode decodes the node of a template.
func (d *decoder) templateNode(parent *path, in *stowagev1.Node) readNode {
	var n readNode
	at := parent.field("node")
	d.exact(&at, in, func(r *reader, raw []byte) bool { return r.node(new(chunk), at, raw, &n) })
	if len(n.node.Name) > MaxNamePrefixBytes {
		d.refuse(at.field("name"), tooLong, "has %d bytes, at most %d are allowed", len(n.node.Name), MaxNamePrefixBytes)
	}
	if len(in.GetNominatedPods()) > 0 {
		d.refuse(at.field("nominated_pods"), notAllowed, "must be empty")
	}
	if n.pods > MaxTemplatePods {
		d.refuse(at, wrongCount, "has %d pods, at most %d are allowed", n.pods, MaxTemplatePods)
	}
	return n
}

// templateSlices decodes the resource slices of a template.
func (d *decoder) templateSlices(parent *path, t *stowagev1.NodeTemplate) []api.ResourceSlice {
	const field = "resource_slices"
	if !d.within(parent, field, len(t.GetResourceSlices()), MaxTemplateSlices) {
		return nil
	}
	var out []api.ResourceSlice
	names := make(identities[string], len(t.GetResourceSlices()))
	for i, in := range t.GetResourceSlices() {
		if d.over() {
			return nil
		}
		at := parent.item(field, i)
		slice := submessage(d, at, in, (*reader).resourceSlice)
		if slice == nil {
			continue
		}
		if on := slice.NodeName; on != "" && on != t.GetNode().GetName() || slice.AllNodes || slice.NodeSelector != nil || slice.PerDeviceNodeSelection {
			d.refuse(at, notAllowed, "belongs to other nodes, or to several ones")
		}
		if first, again := names.add(slice.Name, i); again {
			d.refuse(at.field("name"), duplicate, "duplicates %s[%d], names must be unique", field, first)
		}
		out = append(out, *slice)
	}
	slices.SortFunc(out, func(a, b api.ResourceSlice) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// devicesOf returns the number of devices and slices.
func devicesOf(list []api.ResourceSlice) uint64 {
	n := len(list)
	for i := range list {
		n += len(list[i].Devices)
	}
	return uint64(n)
}

// maxNodes returns the maximum number of new nodes.
func (d *decoder) maxNodes(in *stowagev1.ProvisionRequest) int {
	if in.MaxNodes == nil {
		return defaultNewNodes
	}
	d.between(path{name: "max_nodes"}, int64(in.GetMaxNodes()), 1, MaxNewNodes)
	return int(min(in.GetMaxNodes(), MaxNewNodes))
}

// provisionSteps returns the step budget, 0 for the engine's.
func (d *decoder) provisionSteps(in *stowagev1.ProvisionRequest) int {
	if in.MaxSteps == nil {
		return 0
	}
	d.between(path{name: "max_steps"}, int64(in.GetMaxSteps()), 1, MaxSteps)
	return int(in.GetMaxSteps())
}
