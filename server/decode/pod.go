package decode

import (
	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// onePod decodes the pod of a request that has one.
func (d *decoder) onePod(in *stowagev1.Pod) *api.Pod {
	at := path{name: "pod"}
	if in == nil {
		d.refuse(at, "is required")
		return nil
	}
	pod := d.pod(&at, in, pending)
	return &pod
}

// queue decodes the pods to place.
func (d *decoder) queue(in []*stowagev1.PendingPods) []engine.Pending {
	var root *path
	if !d.within(root, "queue", len(in), MaxQueuePods) {
		return nil
	}
	out := make([]engine.Pending, 0, len(in))
	var pods uint64
	for i, p := range in {
		if d.full {
			break
		}
		at := root.item("queue", i)
		if p.GetPod() == nil {
			d.refuse(at.field("pod"), "is required")
			continue
		}
		count := p.PodCount()
		podAt := at.field("pod")
		pods += uint64(count)
		out = append(out, engine.Pending{Pod: d.pod(&podAt, p.GetPod(), pending), Count: int(count)})
	}
	if pods > MaxQueuePods {
		d.refuse(root.field("queue"), "has %d pods in all, at most %d are allowed", pods, MaxQueuePods)
	}
	return out
}

// standing says where a pod of a request stands.
type standing uint8

const (
	onNode standing = iota
	pending
)

// pod decodes a pod.
func (d *decoder) pod(at *path, in *stowagev1.Pod, s standing) api.Pod {
	out := api.Pod{
		Name:          in.GetName(),
		TemplateIndex: -1,
		Labels:        d.labels(at, "labels", in.GetLabels()),
		Terminating:   in.GetTerminating(),
	}
	d.length(at.field("name"), out.Name, MaxNameBytes)
	switch source := in.GetSource().(type) {
	case *stowagev1.Pod_TemplateIndex:
		if !d.templateIndex(at, source.TemplateIndex, s) {
			break
		}
		out.TemplateIndex = int(source.TemplateIndex)
		out.Template = d.templates[source.TemplateIndex]
	case *stowagev1.Pod_Template:
		at := at.field("template")
		out.Template = new(api.PodTemplate)
		*out.Template = d.template(&at, source.Template)
		if s == onNode && out.Template.Spec.NodeName != "" {
			spec := at.field("spec")
			d.refuse(spec.field("node_name"), "must be empty in pods on nodes")
		}
	default:
		d.refuse(at.field("source"), "one of template_index and template is required")
	}
	if s == pending {
		d.unread(at, in.GetUnread())
	}
	if s == onNode {
		out.ResourceStatus = d.resourceStatus(at, in.GetResourceStatus())
	}
	return out
}

// unread checks what a caller could not state of a pod, which answers repeat.
func (d *decoder) unread(at *path, in []*stowagev1.UnreadField) {
	if !d.within(at, "unread", len(in), MaxUnread) {
		return
	}
	for i, u := range in {
		at := at.item("unread", i)
		d.name(&at, "object", u.GetObject(), MaxUnreadBytes)
		d.name(&at, "field", u.GetField(), MaxUnreadBytes)
		d.length(at.field("consequence"), u.GetConsequence(), MaxConsequenceBytes)
	}
}

// templateIndex checks a reference to a template of the cluster.
func (d *decoder) templateIndex(at *path, i uint32, s standing) bool {
	if uint64(i) >= uint64(len(d.templates)) {
		d.refuse(at.field("template_index"), "is %d, but cluster.pod_templates has %d entries", i, len(d.templates))
		return false
	}
	if s == onNode && d.templates[i].Spec.NodeName != "" {
		d.refuse(at.field("template_index"), "refers to a template with a node_name, which pods on nodes must not have")
		return false
	}
	return true
}

// resourceStatus decodes what a pod's status says of its resources.
func (d *decoder) resourceStatus(parent *path, in *stowagev1.PodResourceStatus) *api.PodResourceStatus {
	if in == nil {
		return nil
	}
	at := parent.field("resource_status")
	out := &api.PodResourceStatus{
		ResizeInfeasible: in.GetResizeInfeasible(),
		Allocated:        d.resources(&at, "allocated", in.GetAllocated(), false),
		Actuated:         d.resources(&at, "actuated", in.GetActuated(), false),
		ResourcesPresent: in.GetResourcesPresent() || in.GetActuated() != nil,
	}
	if !d.within(&at, "containers", len(in.GetContainers()), 2*MaxContainers) {
		return out
	}
	for i, c := range in.GetContainers() {
		at := at.item("containers", i)
		d.name(&at, "name", c.GetName(), MaxNameBytes)
		out.Containers = append(out.Containers, api.ContainerResourceStatus{
			Name:      c.GetName(),
			Allocated: d.resources(&at, "allocated", c.GetAllocated(), false),
			Actuated:  d.resources(&at, "actuated", c.GetActuated(), false),
		})
	}
	return out
}
