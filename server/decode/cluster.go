package decode

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Cluster is a cluster that requests ask about, compiled. It is immutable.
type Cluster struct {
	*engine.Cluster
	Content *content.Content
	// Address is the content's, as text.
	Address string
	known
	// interned is what the engine had interned when the whole cluster was compiled last.
	interned int

	// fixed is Memory without what the cluster remembers and without slack; 0 until somebody asked.
	fixed atomic.Int64
	// exact is the names without those of what is gone, nil until somebody needed them.
	exact atomic.Pointer[names]
}

// known is what later parts of a request refer to, and what counts against its limits.
type known struct {
	// templates and classes are the cluster's; footprints and onNodes have one element per template. A template that pods
	// on nodes must not be of is too large on nodes.
	templates  []*api.PodTemplate
	footprints []footprint
	onNodes    []footprint
	classes    []*api.NodeClass
	// pods counts the pods on all nodes, inherited what these take over from their classes.
	pods, inherited uint64
	names
}

// shared returns a copy that changes nothing of k.
func (k known) shared() known {
	return known{
		templates:  slices.Clip(k.templates),
		footprints: slices.Clip(k.footprints),
		onNodes:    slices.Clip(k.onNodes),
		classes:    slices.Clip(k.classes),
		pods:       k.pods,
		inherited:  k.inherited,
		names:      k.names.shared(),
	}
}

// sink takes a cluster part by part, as *engine.Builder does.
type sink interface {
	Grow(nodes int)
	AddTemplate(*api.PodTemplate)
	AddClass(*api.NodeClass)
	AddNode(context.Context, *api.Node) error
	Preparer() func(*engine.Draft, *api.Node)
	AddDraft(context.Context, *engine.Draft, *api.Node) error
	AddNamespace(api.Namespace)
	AddWorkloadSelector(api.WorkloadSelector)
}

// Message decodes a request's cluster, nil if it has none.
func (r *Request) Message(in *stowagev1.Cluster) { r.wholeCluster(in) }

func (d *decoder) wholeCluster(in *stowagev1.Cluster) {
	at := path{name: "cluster"}
	if in == nil {
		d.refuse(at, "is required")
		return
	}
	if d.within(&at, "pod_templates", len(in.GetPodTemplates()), MaxTemplates) {
		for _, t := range in.GetPodTemplates() {
			d.addTemplate(&at, t)
		}
	}
	if d.within(&at, "node_classes", len(in.GetNodeClasses()), MaxClasses) {
		for _, c := range in.GetNodeClasses() {
			d.addClass(&at, c)
		}
	}
	if d.within(&at, "namespaces", len(in.GetNamespaces()), MaxNamespaces) {
		for _, n := range in.GetNamespaces() {
			d.addNamespace(&at, n)
		}
	}
	if d.within(&at, "workload_selectors", len(in.GetWorkloadSelectors()), MaxWorkloadSelectors) {
		for _, w := range in.GetWorkloadSelectors() {
			d.addWorkloadSelector(&at, w)
		}
	}
	if d.within(&at, "nodes", len(in.GetNodes()), MaxNodes) {
		for _, n := range in.GetNodes() {
			d.addNode(&at, n)
		}
	}
	d.bounds(&at)
}

// Field numbers of Cluster.
const (
	clusterNodes = 1 + iota
	clusterPodTemplates
	clusterNamespaces
	clusterWorkloadSelectors
	clusterNodeClasses
)

// grownBytes is how large nodes are at least for which room is made before they are read: what comes as nodes need not be
// any, and the room for one takes many times the few bytes that an empty one has.
const grownBytes = 16

// Part decodes a cluster, or the next part of one, from the wire; field is what it is called in the request.
func (r *Request) Part(field string, in wire.Pieces) {
	d := &r.decoder
	at := path{name: field}
	items, nodes, malformed := cut(in)
	// What nodes refer to comes behind them in the usual order of fields.
	d.inOrder(items, (*reader).readItems, func(c *chunk) { d.takeItems(&at, c) })
	room := min(nodes.fields, nodes.bytes/grownBytes, MaxNodes)
	d.to.Grow(room)
	d.content.Grow(room)
	d.inOrder(nodes, (*reader).readNodes, func(c *chunk) { d.takeNodes(&at, c) })
	if malformed {
		d.refuse(at, "is no protobuf message")
	}
	d.bounds(&at)
}

// over reports whether there is no point in decoding more.
func (d *decoder) over() bool { return d.full || d.ended != nil }

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
				d.takeTemplate(item.template, item.footprint, item.form, item.digest)
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
	var f footprint
	*out, f = d.template(&at, in)
	form := d.canonicalForm(at, in)
	d.takeTemplate(out, f, form, content.DigestOf(form))
}

// takeTemplate hands a template over.
func (d *decoder) takeTemplate(t *api.PodTemplate, f footprint, form []byte, digest content.Digest) {
	d.templates = append(d.templates, t)
	d.footprints = append(d.footprints, f)
	d.onNodes = append(d.onNodes, onNodes(t, f))
	d.to.AddTemplate(t)
	d.content.AddTemplate(form, digest)
}

func onNodes(t *api.PodTemplate, f footprint) footprint {
	if t.Spec.NodeName != "" {
		return unbounded
	}
	return f
}

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
	d.ended = d.to.AddNode(d.ctx, &out)
}

// countNode counts a node against the limits.
func (d *decoder) countNode(n *api.Node, pods uint64) {
	d.nodes++
	d.pods += pods
	d.inherited += inherited(n.Class)
}

// canonicalForm returns the canonical form of an item. It is there until the next one.
func (d *decoder) canonicalForm(at path, item proto.Message) []byte {
	form, err := content.Append(d.canonical[:0], item)
	if err != nil {
		d.refuse(at, "%s", err.Error())
		return nil
	}
	d.canonical = form
	return form
}

// finish hands over what had to be complete first: workload selectors go in the order of the canonical form, so that
// clusters of equal content get equal answers.
func (d *decoder) finish() {
	slices.SortFunc(d.selectors, func(a, b api.WorkloadSelector) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, s := range d.selectors {
		d.to.AddWorkloadSelector(s)
	}
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
	var total footprint
	for i, c := range in.GetPodCounts() {
		at := at.item("pod_counts", i)
		if count, ok := d.podCount(&at, c); ok {
			total = total.plus(d.footprints[count.Template].times(uint64(c.GetCount())))
			pods += uint64(c.GetCount())
			out.PodCounts = append(out.PodCounts, count)
		}
	}
	for i, p := range in.GetPods() {
		at := at.item("pods", i)
		pod, f := d.pod(&at, p, onNode)
		total = total.plus(f)
		out.Pods = append(out.Pods, pod)
	}
	d.bounded(*at, total)
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

// besides is what a cluster takes that nobody counts, such as what later parts of a request refer to.
const besides = 16 << 10

// withSlack is an estimate of memory from above: sizes that allocations are rounded up to are not known exactly.
func withSlack(bytes int64) int64 { return bytes + bytes/8 }

// Memory is what the cluster takes at most, in bytes, what it remembers at the moment included.
func (c *Cluster) Memory() int64 {
	fixed := c.fixed.Load()
	if fixed == 0 {
		fixed = c.Bytes() - c.Cluster.Remembered() + c.Content.Bytes()
		c.fixed.Store(fixed)
	}
	return besides + withSlack(fixed+c.Cluster.Remembered())
}

// Remembered is the part of Memory that grows as the cluster remembers more.
func (c *Cluster) Remembered() int64 { return withSlack(c.Cluster.Remembered()) }

// RememberAtMost bounds Remembered.
func (c *Cluster) RememberAtMost(bytes int64) { c.Cluster.RememberAtMost(bytes - bytes/8) }
