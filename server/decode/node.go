package decode

import (
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// takeNodes takes over what was read of nodes.
func (d *decoder) takeNodes(at *path, c *chunk) {
	for _, template := range c.shared {
		d.content.Share(c.reader, template)
	}
	for i := range c.nodes {
		if d.over() {
			return
		}
		n := &c.nodes[i]
		if n.sound && d.nodes < MaxNodes && d.meet(&n.met) && d.content.AddNode(n.form, n.digest) {
			d.countNode(&n.node, n.pods)
			d.ended = d.to.AddDraft(d.ctx, &c.drafts[i], &n.node)
		} else {
			decodeItem(d, at, "nodes", d.nodes, MaxNodes, n.raw, d.addNode)
		}
	}
}

func (d *decoder) addNode(parent *path, in *stowagev1.Node) {
	if d.over() {
		return
	}
	at := parent.item("nodes", d.nodes)
	var out api.Node
	pods := d.node(&at, in, &out)
	d.name(&at, "name", in.GetName(), MaxNameBytes)
	if first, again := d.content.Lookup(in.GetName()); again && in.GetName() != "" {
		d.refuse(at.field("name"), "is that of %s.nodes[%d] too, names must be unique", parent.String(), first)
	}
	form := d.canonicalForm(at, in)
	d.content.AddNode(form, content.DigestOf(form))
	// Pods count in the order of the canonical form, so that clusters of equal content get equal answers.
	if len(in.GetPods())+len(in.GetPodCounts()) > 1 && len(d.violations) == 0 {
		ordered := new(stowagev1.Node)
		if err := proto.Unmarshal(form, ordered); err != nil {
			d.refuse(at, "%v", err)
			return
		}
		out = api.Node{}
		d.node(&at, ordered, &out)
	}
	d.countNode(&out, pods)
	if len(d.violations) > 0 {
		d.ended = d.ctx.Err()
		return // there is no cluster to add to, and what is wrong with the node must not get there
	}
	d.ended = d.to.AddNode(d.ctx, &out)
}

// countNode counts a node against the limits.
func (d *decoder) countNode(n *api.Node, pods uint64) {
	d.nodes++
	d.pods += pods
	d.inherited += inherited(n.Class)
}

// inherited is what a node takes over from its class, nil if it has none.
func inherited(c *api.NodeClass) uint64 {
	if c == nil {
		return 0
	}
	n := len(c.Taints) + len(c.NameLabelKeys)
	for i := range c.Images {
		n += len(c.Images[i].Names)
	}
	return uint64(n)
}

// bounds checks what counts over all nodes.
func (d *decoder) bounds(at *path) {
	if d.inherited > MaxInherited {
		d.refuse(at.field("nodes"), "take over %d taints, image names and labels from their classes in all, at most %d are allowed",
			d.inherited, MaxInherited)
	}
	if d.pods > MaxClusterPods {
		d.refuse(at.field("nodes"), "have %d pods in all, at most %d are allowed", d.pods, MaxClusterPods)
	}
}

// node decodes a node with its pods, and tells how many these are.
func (d *decoder) node(at *path, in *stowagev1.Node, out *api.Node) (pods uint64) {
	out.Name = in.GetName()
	out.Labels = d.labels(at, "labels", in.GetLabels())
	out.Taints = d.taints(at, in.GetTaints())
	out.Unschedulable = in.GetUnschedulable()
	out.Allocatable = d.resources(at, "allocatable", in.GetAllocatable(), true)
	out.Images = d.images(at, in.GetImages())
	if in.ClassIndex != nil {
		if i := in.GetClassIndex(); uint64(i) < uint64(len(d.classes)) {
			out.Class = d.classes[i]
		} else {
			d.refuse(at.field("class_index"), "is %d, but there are %d node classes", i, len(d.classes))
		}
	}
	for i, c := range in.GetPodCounts() {
		at := at.item("pod_counts", i)
		if count, ok := d.podCount(&at, c); ok {
			pods += uint64(c.GetCount())
			out.PodCounts = append(out.PodCounts, count)
		}
	}
	for i, p := range in.GetPods() {
		at := at.item("pods", i)
		out.Pods = append(out.Pods, d.pod(&at, p, onNode))
	}
	return pods + uint64(len(out.Pods))
}

func (d *decoder) podCount(at *path, in *stowagev1.PodCount) (_ api.PodCount, ok bool) {
	if in.GetCount() == 0 {
		d.refuse(at.field("count"), "is 0, at least 1 is required")
	}
	ok = d.templateIndex(at, in.GetTemplateIndex(), onNode)
	return api.PodCount{
		Template: int(in.GetTemplateIndex()),
		// A count beyond that is refused with the cluster's total.
		Count:       int32(min(in.GetCount(), MaxClusterPods)),
		Terminating: in.GetTerminating(),
	}, ok
}

func (d *decoder) images(at *path, in []*stowagev1.ContainerImage) []api.Image {
	if len(in) == 0 || !d.within(at, "images", len(in), MaxImages) {
		return nil
	}
	out := make([]api.Image, len(in))
	for i, m := range in {
		at := at.item("images", i)
		if m.GetSizeBytes() < 0 || m.GetSizeBytes() > MaxImageBytes {
			d.refuse(at.field("size_bytes"), "is %d, 0 to %d are allowed", m.GetSizeBytes(), int64(MaxImageBytes))
		}
		d.within(&at, "names", len(m.GetNames()), MaxImageNames)
		out[i] = api.Image{Names: m.GetNames(), SizeBytes: m.GetSizeBytes()}
	}
	return out
}
