package decode

import (
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// takeItems takes over what was read of items.
func (d *decoder) takeItems(at *path, c *chunk) {
	if d.ended == nil {
		d.ended = d.ctx.Err()
	}
	for i := range c.items {
		if d.over() {
			return
		}
		item := &c.items[i]
		switch item.field {
		case clusterPodTemplates:
			if item.sound && len(d.templates) < MaxTemplates && d.meet(&item.met) {
				d.takeTemplate(item.template, item.form, item.digest)
			} else {
				decodeItem(d, at, "pod_templates", len(d.templates), MaxTemplates, item.raw, d.addTemplate)
			}
		case clusterNodeClasses:
			if item.sound && len(d.classes) < MaxClasses && d.meet(&item.met) {
				d.takeClass(item.class, item.form, item.digest)
			} else {
				decodeItem(d, at, "node_classes", len(d.classes), MaxClasses, item.raw, d.addClass)
			}
		case clusterNamespaces:
			decodeItem(d, at, "namespaces", d.namespaces.count, MaxNamespaces, item.raw, d.addNamespace)
		case clusterWorkloadSelectors:
			decodeItem(d, at, "workload_selectors", d.workloads.count, MaxWorkloadSelectors, item.raw, d.addWorkloadSelector)
		}
	}
}

// decodeItem decodes an element of one of the cluster's lists, which has some already.
func decodeItem[M any, P interface {
	*M
	proto.Message
}](d *decoder, at *path, field string, count, limit int, raw []byte, add func(*path, P)) {
	m := P(new(M))
	switch {
	case count == limit:
		d.refuse(at.field(field), "has more than %d entries", limit)
		d.full = true
	case proto.Unmarshal(raw, m) != nil:
		d.refuse(at.item(field, count), "is no protobuf message")
		d.full = true
	default:
		item := at.item(field, count)
		d.refuseMisfit(&item, raw, m)
		add(at, m)
	}
}

// meet counts names against the limits, or none if there are too many.
func (d *decoder) meet(m *met) bool {
	resources, keys := d.most(MaxDistinctResources), d.most(MaxDistinctTopologyKeys)
	if !d.resourceNames.fit(m.resources, resources) || !d.topologyKeys.fit(m.topologyKeys, keys) {
		return false
	}
	for _, name := range m.resources {
		d.resourceNames.add(name, resources)
	}
	for _, key := range m.topologyKeys {
		d.topologyKeys.add(key, keys)
	}
	return true
}

func (d *decoder) addTemplate(parent *path, in *stowagev1.PodTemplate) {
	if d.over() {
		return
	}
	at := parent.item("pod_templates", len(d.templates))
	out := new(api.PodTemplate)
	*out = d.template(&at, in)
	form := d.canonicalForm(at, in)
	d.takeTemplate(out, form, content.DigestOf(form))
}

// takeTemplate hands a template over.
func (d *decoder) takeTemplate(t *api.PodTemplate, form []byte, digest content.Digest) {
	d.templates = append(d.templates, t)
	d.pinned = append(d.pinned, pinned(t))
	d.to.AddTemplate(t)
	d.content.AddTemplate(form, digest)
}

func pinned(t *api.PodTemplate) bool { return t.Spec.NodeName != "" }

func (d *decoder) addClass(parent *path, in *stowagev1.NodeClass) {
	if d.over() {
		return
	}
	at := parent.item("node_classes", len(d.classes))
	out := new(api.NodeClass)
	*out = d.class(&at, in)
	form := d.canonicalForm(at, in)
	d.takeClass(out, form, content.DigestOf(form))
}

// takeClass hands a class over.
func (d *decoder) takeClass(class *api.NodeClass, form []byte, digest content.Digest) {
	d.classes = append(d.classes, class)
	d.to.AddClass(class)
	d.content.AddClass(form, digest)
}

func (d *decoder) addNamespace(parent *path, in *stowagev1.Namespace) {
	if d.over() {
		return
	}
	at := parent.item("namespaces", d.namespaces.count)
	out := d.decodeNamespace(&at, in)
	if first, again := d.namespaces.add(out.Name); again && out.Name != "" {
		d.refuse(at.field("name"), "is that of %s.namespaces[%d] too, names must be unique", parent.String(), first)
	}
	d.to.AddNamespace(out)
	d.content.AddNamespace(d.canonicalForm(at, in))
}

func (d *decoder) decodeNamespace(at *path, in *stowagev1.Namespace) api.Namespace {
	d.name(at, "name", in.GetName(), MaxNamespaceBytes)
	return api.Namespace{Name: in.GetName(), Labels: d.labels(at, "labels", in.GetLabels())}
}

func (d *decoder) addWorkloadSelector(parent *path, in *stowagev1.WorkloadSelector) {
	if d.over() {
		return
	}
	at := parent.item("workload_selectors", d.workloads.count)
	out := d.workloadSelector(&at, in)
	id := workload{out.Kind, out.Namespace, out.Name}
	if first, again := d.workloads.add(id); again && id.kind != api.NoWorkload && id.name != "" {
		d.refuse(at.field("name"), "is that of %s.workload_selectors[%d], of the same kind and namespace, too", parent.String(), first)
	}
	d.selectors = append(d.selectors, out)
	d.content.AddWorkloadSelector(d.canonicalForm(at, in))
}

// class decodes a node class.
func (d *decoder) class(at *path, in *stowagev1.NodeClass) api.NodeClass {
	out := api.NodeClass{
		Labels:      d.labels(at, "labels", in.GetLabels()),
		Taints:      d.taints(at, in.GetTaints()),
		Allocatable: d.resources(at, "allocatable", in.GetAllocatable(), true),
		Images:      d.images(at, in.GetImages()),
	}
	if !d.within(at, "name_label_keys", len(in.GetNameLabelKeys()), MaxLabels) {
		return out
	}
	out.NameLabelKeys = in.GetNameLabelKeys()
	for i, key := range out.NameLabelKeys {
		if key == "" {
			d.refuse(at.item("name_label_keys", i), "is empty")
		}
		d.length(at.item("name_label_keys", i), key, MaxLabelKeyBytes)
	}
	return out
}
