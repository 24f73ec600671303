package decode

import (
	"bytes"
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Field numbers of Cluster.
const (
	clusterNodes = 1 + iota
	clusterPodTemplates
	clusterNamespaces
	clusterWorkloadSelectors
	clusterNodeClasses
)

func isItem(field protowire.Number) bool { return field > clusterNodes && field <= clusterNodeClasses }

// readItem is an item other than a node, and what a reader made of it.
type readItem struct {
	field protowire.Number
	raw   []byte
	sound bool // otherwise there is nothing else
	met   met

	template  *api.PodTemplate
	class     *api.NodeClass
	namespace api.Namespace
	selector  api.WorkloadSelector
	form      []byte // canonical
	digest    content.Digest
}

// itemKind is what is to be done with the items of one of a cluster's lists.
type itemKind struct {
	list    string
	limit   int
	message func() proto.Message
	count   func(*decoder) int
	read    func(*reader, *path, *scan) readItem
	take    func(*decoder, *path, *readItem)
}

// itemKinds are by the lists' numbers.
var itemKinds [clusterNodeClasses + 1]itemKind

func init() { // which a variable's value could not be, as names are counted anew by reading
	itemKinds = [...]itemKind{
		clusterNodes: {
			list: "nodes", limit: MaxNodes,
			message: func() proto.Message { return new(stowagev1.Node) },
		},
		clusterPodTemplates: {
			list: "pod_templates", limit: MaxTemplates,
			message: func() proto.Message { return new(stowagev1.PodTemplate) },
			count:   func(d *decoder) int { return len(d.templates) },
			read: func(r *reader, at *path, in *scan) readItem {
				t := r.template(at, in)
				return readItem{template: &t}
			},
			take: (*decoder).takeTemplate,
		},
		clusterNamespaces: {
			list: "namespaces", limit: MaxNamespaces,
			message: func() proto.Message { return new(stowagev1.Namespace) },
			count:   func(d *decoder) int { return d.namespaces.count },
			read:    func(r *reader, at *path, in *scan) readItem { return readItem{namespace: r.namespace(at, in)} },
			take:    (*decoder).takeNamespace,
		},
		clusterWorkloadSelectors: {
			list: "workload_selectors", limit: MaxWorkloadSelectors,
			message: func() proto.Message { return new(stowagev1.WorkloadSelector) },
			count:   func(d *decoder) int { return d.workloads.count },
			read:    func(r *reader, at *path, in *scan) readItem { return readItem{selector: r.workloadSelector(at, in)} },
			take:    (*decoder).takeWorkloadSelector,
		},
		clusterNodeClasses: {
			list: "node_classes", limit: MaxClasses,
			message: func() proto.Message { return new(stowagev1.NodeClass) },
			count:   func(d *decoder) int { return len(d.classes) },
			read: func(r *reader, at *path, in *scan) readItem {
				c := r.class(at, in)
				return readItem{class: &c}
			},
			take: (*decoder).takeClass,
		},
	}
}

// readItems reads the items of a chunk.
func (r *reader) readItems(c *chunk) {
	for in := c.from; len(c.items) < c.fields; {
		field, n, _ := in.Next()
		switch {
		case n < 0:
		case isItem(field):
			c.items = append(c.items, readItem{})
			item := &c.items[len(c.items)-1]
			raw := in.Take(n, &c.text)
			if !r.item(path{}, field, bytes.Clone(raw), item) {
				if form := usual(raw, itemKinds[field].message()); form != nil {
					r.item(path{}, field, form, item)
				}
			}
			item.raw = raw
		default:
			in.Skip(n)
		}
	}
}

// item reads an item, whose bytes it may keep and change, and reports whether it is in the usual encoding.
func (r *reader) item(at path, field protowire.Number, raw []byte, to *readItem) (isUsual bool) {
	r.begin(&to.met)
	item, ok := read(r, at, raw, itemKinds[field].read)
	item.met, item.field, item.form, item.digest = to.met, field, raw, content.DigestOf(raw)
	*to = item
	to.sound = ok && r.sound()
	return ok
}

// commitItems takes over what was read of items.
func (d *decoder) commitItems(parent *path, c *chunk) {
	if d.ended == nil {
		d.ended = d.ctx.Err()
	}
	for i := range c.items {
		item := &c.items[i]
		kind := &itemKinds[item.field]
		n := kind.count(d)
		at := parent.item(kind.list, n)
		if d.over() || !d.room(parent, kind, n) {
			return
		}
		if !item.sound || !d.meet(&item.met) {
			exactly := func(r *reader, raw []byte) bool { return r.item(at, item.field, raw, item) }
			if !d.again(&at, item.raw, kind.message(), exactly) {
				return
			}
		}
		kind.take(d, &at, item)
	}
}

// room reports whether there is room in a list that has so many items.
func (d *decoder) room(parent *path, kind *itemKind, n int) bool {
	if n < kind.limit {
		return true
	}
	d.refuse(parent.field(kind.list), "has more than %d entries", kind.limit)
	d.full = true
	return false
}

// again brings a message into the usual encoding and reads it once more, and refuses what is lost in that. It reports
// whether it is a message.
func (d *decoder) again(at *path, raw []byte, m proto.Message, read func(*reader, []byte) (isUsual bool)) bool {
	if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m) != nil {
		d.refuse(*at, "is no protobuf message")
		d.full = true
		return false
	}
	d.refuseLost(at, raw, m)
	d.exact(at, m, read)
	return true
}

// exact reads a message with a reader that reports what is wrong.
func (d *decoder) exact(at *path, m proto.Message, read func(*reader, []byte) (isUsual bool)) {
	raw := encoded(m)
	if raw == nil {
		d.refuse(*at, "has text that is not UTF-8")
		return
	}
	d.refuseLost(at, raw, m)
	if !read(d.exactly(), raw) && len(d.violations) == 0 {
		d.refuse(*at, "has a field that this server does not read")
	}
}

// exactly returns a reader that reports what is wrong to d.
func (d *decoder) exactly() *reader {
	r := d.own
	if r == nil {
		r = newReader()
		d.own, r.problems, r.exact = r, &d.problems, d
	}
	r.begin(&r.unused)
	r.referred = d.referred()
	return r
}

// quickly returns a reader that does not tell what is wrong.
func (d *decoder) quickly() *reader {
	r := newReader()
	r.referred = d.referred()
	return r
}

// referred returns what nodes and pods can refer to so far.
func (d *decoder) referred() referred { return referred{d.templates, d.pinned, d.classes} }

// meet counts names against the limits, or none if there are too many.
func (d *decoder) meet(m *met) bool {
	resources, keys := d.most(MaxDistinctResources), d.most(MaxDistinctTopologyKeys)
	if !d.resourceNames.fit(m.resources, resources) || !d.topologyKeys.fit(m.topologyKeys, keys) {
		return false
	}
	for _, name := range m.resources {
		d.knows(theResourceNames, name, resources)
	}
	for _, key := range m.topologyKeys {
		d.knows(theTopologyKeys, key, keys)
	}
	return true
}

func (d *decoder) takeTemplate(_ *path, item *readItem) {
	d.templates = append(d.templates, item.template)
	d.pinned = append(d.pinned, pinned(item.template))
	d.to.AddTemplate(item.template)
	d.content.AddTemplate(item.form, item.digest)
}

func pinned(t *api.PodTemplate) bool { return t.Spec.NodeName != "" }

func (d *decoder) takeClass(_ *path, item *readItem) {
	d.classes = append(d.classes, item.class)
	d.to.AddClass(item.class)
	d.content.AddClass(item.form, item.digest)
}

func (d *decoder) takeNamespace(at *path, item *readItem) {
	name := item.namespace.Name
	if first, again := d.namespaces.add(name); again && name != "" {
		d.refuse(at.field("name"), "is that of %s.namespaces[%d] too, names must be unique", at.parent.String(), first)
	}
	d.to.AddNamespace(item.namespace)
	d.content.AddNamespace(item.form)
}

func (d *decoder) takeWorkloadSelector(at *path, item *readItem) {
	s := &item.selector
	id := workload{s.Kind, s.Namespace, s.Name}
	if first, again := d.workloads.add(id); again && id.kind != api.NoWorkload && id.name != "" {
		d.refuse(at.field("name"), "is that of %s.workload_selectors[%d], of the same kind and namespace, too", at.parent.String(), first)
	}
	d.selectors = append(d.selectors, *s)
	d.content.AddWorkloadSelector(item.form)
}

// workload is the identity of a workload selector.
type workload struct {
	kind            api.WorkloadKind
	namespace, name string
}

func (r *reader) namespace(at *path, in *scan) (out api.Namespace) {
	out.Name = in.text(1)
	out.Labels = r.labels(at, in, 2, "labels")
	r.name(at, "name", out.Name, MaxNamespaceBytes)
	return out
}

func (r *reader) workloadSelector(at *path, in *scan) (out api.WorkloadSelector) {
	kind := stowagev1.WorkloadKind(in.int32(1))
	out.Namespace = cmp.Or(in.text(2), "default")
	r.length(at.field("namespace"), out.Namespace, MaxNamespaceBytes)
	out.Name = in.text(3)
	out.Selector = some(r, at, in, 4, "selector", (*reader).labelSelector)
	r.name(at, "name", out.Name, MaxNameBytes)
	out.Kind, _ = enum(r.problems, at, "kind", kind,
		api.Service, api.ReplicationController, api.ReplicaSet, api.StatefulSet)
	mapOnly := out.Kind == api.Service || out.Kind == api.ReplicationController
	if mapOnly && out.Selector != nil && len(out.Selector.MatchExpressions) > 0 {
		selector := at.field("selector")
		r.refuse(selector.field("match_expressions"),
			"must be empty with WORKLOAD_KIND_SERVICE and WORKLOAD_KIND_REPLICATION_CONTROLLER")
	}
	return out
}

func (r *reader) class(at *path, in *scan) (out api.NodeClass) {
	out.Labels = r.labels(at, in, 1, "labels")
	out.Taints = list(r, at, in, 2, "taints", MaxTaints, (*reader).taint)
	out.Allocatable = one(r, at, in, 3, "allocatable", (*reader).nodeResources)
	out.Images = list(r, at, in, 4, "images", MaxImages, (*reader).image)
	out.NameLabelKeys = r.texts(at, in, 5, "name_label_keys", MaxLabels)
	for i, key := range out.NameLabelKeys {
		if key == "" {
			r.refuse(at.item("name_label_keys", i), "is empty")
		}
		r.length(at.item("name_label_keys", i), key, MaxLabelKeyBytes)
	}
	return out
}
