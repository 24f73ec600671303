package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// wholeCluster decodes a request's cluster. It comes before everything that refers to nodes or templates.
func (d *decoder) wholeCluster(in *stowagev1.Cluster) *api.Cluster {
	at := path{name: "cluster"}
	if in == nil {
		d.refuse(at, "is required")
		return nil
	}
	out := &api.Cluster{}
	// Templates first: pods on nodes refer to them.
	if d.within(&at, "pod_templates", len(in.GetPodTemplates()), MaxTemplates) {
		d.templates = make([]*api.PodTemplate, len(in.GetPodTemplates()))
		d.footprints = make([]footprint, len(in.GetPodTemplates()))
		out.Templates = d.templates
		for i, t := range in.GetPodTemplates() {
			at := at.item("pod_templates", i)
			d.templates[i] = new(api.PodTemplate)
			*d.templates[i], d.footprints[i] = d.template(&at, t)
		}
	}
	if d.within(&at, "nodes", len(in.GetNodes()), MaxNodes) {
		out.Nodes = make([]api.Node, len(in.GetNodes()))
		d.nodes = len(in.GetNodes())
		d.nodeIndexes = make(map[string]uint32, len(in.GetNodes()))
		for i, n := range in.GetNodes() {
			if d.full {
				break
			}
			at := at.item("nodes", i)
			d.node(&at, n, &out.Nodes[i])
			d.nodeName(&at, i, n.GetName())
		}
	}
	if d.pods > MaxClusterPods {
		d.refuse(at.field("nodes"), "have %d pods in all, at most %d are allowed", d.pods, MaxClusterPods)
	}
	out.Namespaces = d.namespaces(&at, in.GetNamespaces())
	out.WorkloadSelectors = d.workloadSelectors(&at, in.GetWorkloadSelectors())
	return out
}

// nodeName checks and remembers a node's name.
func (d *decoder) nodeName(at *path, i int, name string) {
	d.name(at, "name", name, MaxNameBytes)
	if first, ok := d.nodeIndexes[name]; ok && name != "" {
		d.refuse(at.field("name"), "is that of cluster.nodes[%d] too, names must be unique", first)
		return
	}
	d.nodeIndexes[name] = uint32(i)
}

func (d *decoder) node(at *path, in *stowagev1.Node, out *api.Node) {
	out.Name = in.GetName()
	out.Labels = d.labels(at, "labels", in.GetLabels())
	out.Taints = d.taints(at, in.GetTaints())
	out.Unschedulable = in.GetUnschedulable()
	out.Allocatable = d.resources(at, "allocatable", in.GetAllocatable(), true)
	out.Images = d.images(at, in.GetImages())
	var total footprint
	if n := len(in.GetPodCounts()); n > 0 {
		out.PodCounts = make([]api.PodCount, n)
		for i, c := range in.GetPodCounts() {
			at := at.item("pod_counts", i)
			if c.GetCount() == 0 {
				d.refuse(at.field("count"), "is 0, at least 1 is required")
			}
			if !d.templateIndex(&at, c.GetTemplateIndex(), onNode) {
				continue
			}
			total = total.plus(d.footprints[c.GetTemplateIndex()].times(uint64(c.GetCount())))
			d.pods += uint64(c.GetCount())
			// A count beyond int32 is refused with the cluster's total.
			out.PodCounts[i] = api.PodCount{
				Template:    int(c.GetTemplateIndex()),
				Count:       int32(min(c.GetCount(), MaxClusterPods)),
				Terminating: c.GetTerminating(),
			}
		}
	}
	if n := len(in.GetPods()); n > 0 {
		out.Pods = make([]api.Pod, n)
		for i, p := range in.GetPods() {
			at := at.item("pods", i)
			var f footprint
			out.Pods[i], f = d.pod(&at, p, onNode)
			total = total.plus(f)
		}
		d.pods += uint64(n)
	}
	d.bounded(*at, total)
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

func (d *decoder) namespaces(at *path, in []*stowagev1.Namespace) []api.Namespace {
	if len(in) == 0 || !d.within(at, "namespaces", len(in), MaxNamespaces) {
		return nil
	}
	out := make([]api.Namespace, len(in))
	seen := make(map[string]int, len(in))
	for i, n := range in {
		at := at.item("namespaces", i)
		d.name(&at, "name", n.GetName(), MaxNamespaceBytes)
		if first, ok := seen[n.GetName()]; ok && n.GetName() != "" {
			d.refuse(at.field("name"), "is that of cluster.namespaces[%d] too, names must be unique", first)
		} else {
			seen[n.GetName()] = i
		}
		out[i] = api.Namespace{Name: n.GetName(), Labels: d.labels(&at, "labels", n.GetLabels())}
	}
	return out
}
