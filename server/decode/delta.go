package decode

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Delta applies a delta to the request's cluster. field is its path in the request.
func (r *Request) Delta(field string, in *stowagev1.ClusterDelta) {
	if in == nil {
		return
	}
	at := path{name: field}
	base := r.base
	r.unlimited = true // until bound counts the names of the result
	change := api.Delta{
		Templates: r.indexedTemplates(&at, in),
		Classes:   r.indexedClasses(&at, in),
	}
	next, ok := r.apply(&at, in, &change)
	if !ok {
		return
	}
	for number := content.Nodes; number < content.Lists; number++ {
		r.within(&at, clusterLists[number].name, next.List(number).Len(), clusterLists[number].limit)
	}
	r.bounds(&at)
	r.bound(&at, next)
	if r.Err() != nil {
		return
	}
	compiled := base.Cluster
	if !r.uncompiled {
		var err error
		if compiled, err = base.With(r.ctx, &change); err != nil {
			r.ended = err
			return
		}
	}
	r.base = &Snapshot{Cluster: compiled, Content: next, Address: next.Address().String(), known: r.known, interned: base.interned}
	r.known = r.known.shared()
}

// apply returns the content after a delta and sets change. If it fails, it checks the delta alone for problems with paths.
func (r *Request) apply(at *path, in *stowagev1.ClusterDelta, change *api.Delta) (*content.Content, bool) {
	var next *content.Content
	var made *content.Effect
	var err error
	if len(r.violations) == 0 && !countsNone(in) {
		next, made, err = r.base.Content.Apply(r.ctx, in)
		if err == nil && r.changes(&path{}, in, newReader(r.referred), next, made, change) {
			return next, true
		}
	}
	r.checkDelta(at, in)
	if r.Err() != nil {
		return nil, false
	}
	wrong, ok := errors.AsType[*content.Error](err)
	switch {
	case err == nil:
		return next, r.changes(at, in, r.reporter(), next, made, change)
	case r.ctx.Err() != nil:
		r.ended = r.ctx.Err()
	case ok:
		r.refuse(path{parent: at, name: wrong.Field}, wrong.Reason, "%s", wrong.Description)
	default:
		r.refuse(*at, malformed, "%v", err)
	}
	return nil, false
}

// Estimates of the bytes of a content that a delta copies: always, for each node if the delta adds or removes nodes, and as a
// multiple of a list that is read again as a whole.
const (
	copiedContent        = 64 << 10
	copiedContentPerNode = 100 // its digest, where its encoding is, and its place in the table of names
	copiedList           = 8
	copiedStorage        = 1 // of a list of storage objects, of which items move
)

// CopiedBy estimates the bytes of the cluster that a delta copies.
func (c *Snapshot) CopiedBy(in *stowagev1.ClusterDelta) int64 {
	added := slices.ContainsFunc(in.GetNodes(), func(n *stowagev1.Node) bool {
		_, there := c.Content.Lookup(n.GetName())
		return !there
	})
	removed := len(in.GetRemovedNodes()) > 0
	bytes := copiedContent + c.CopiedByChange(len(in.GetNodes())+len(in.GetNodePods()), added, removed)
	if added || removed {
		bytes += copiedContentPerNode * int64(c.Len())
	}
	for number, changed := range content.Changes(in) {
		switch {
		case !changed:
		case number >= int(content.StorageClasses):
			bytes += copiedStorage * c.Content.List(protowire.Number(number)).Memory()
		default:
			bytes += copiedList * c.Content.List(protowire.Number(number)).Memory()
		}
	}
	return bytes
}

// named are the lists that are ordered by names.
var named = [...]protowire.Number{
	content.Namespaces, content.WorkloadSelectors, content.PodDisruptionBudgets, content.PodGroups,
	content.StorageClasses, content.CSIDrivers, content.CSIStorageCapacities, content.PersistentVolumes, content.PersistentVolumeClaims,
	content.DeviceTypes, content.DeviceExpressions, content.DeviceClasses, content.ResourceSlices, content.ResourceClaims,
}

// bound checks the number of names in the cluster after a delta.
func (r *Request) bound(at *path, next *content.Content) {
	r.unlimited, r.loose = false, true
	nodes := next.Nodes().Len()
	exceeds := func(kind nameKind) bool { return len(r.of[kind].names) > nameLimits[kind].with(nodes) }
	if len(r.violations) > 0 || r.ended != nil || !exceeds(resourceName) && !exceeds(topologyKey) {
		return
	}
	exact, err := namesIn(r.ctx, next)
	if err != nil {
		r.ended = err
		return
	}
	r.names = *exact
	r.boundNames(at, nodes)
}

// countsNone reports whether a delta adds pods of a count of 0. The content adds up counts of equal pods, so it shows no trace of one.
func countsNone(in *stowagev1.ClusterDelta) bool {
	none := func(c *stowagev1.PodCount) bool { return c.GetCount() == 0 }
	return slices.ContainsFunc(in.GetNodes(), func(n *stowagev1.Node) bool { return slices.ContainsFunc(n.GetPodCounts(), none) }) ||
		slices.ContainsFunc(in.GetNodePods(), func(n *stowagev1.NodePodsDelta) bool { return slices.ContainsFunc(n.GetPodCounts(), none) })
}

// indexedTemplates decodes the templates that a delta sets, which nodes refer to from then on.
func (d *decoder) indexedTemplates(at *path, in *stowagev1.ClusterDelta) (out []api.IndexedTemplate) {
	if len(in.GetPodTemplates()) > 0 {
		d.templates, d.pinned = slices.Clone(d.templates), slices.Clone(d.pinned)
	}
	for i, t := range in.GetPodTemplates() {
		at := at.item("pod_templates", i)
		template := indexed(d, &at, "template", int(t.GetIndex()), t.GetTemplate(), (*reader).podTemplate, &d.templates)
		if template == nil {
			continue
		}
		set(&d.pinned, int(t.GetIndex()), pinned(template))
		out = append(out, api.IndexedTemplate{Index: int(t.GetIndex()), Template: template})
	}
	return out
}

// indexedClasses decodes the classes that a delta sets, which nodes refer to from then on.
func (d *decoder) indexedClasses(at *path, in *stowagev1.ClusterDelta) (out []api.IndexedClass) {
	if len(in.GetNodeClasses()) > 0 {
		d.classes = slices.Clone(d.classes)
	}
	for i, c := range in.GetNodeClasses() {
		at := at.item("node_classes", i)
		class := indexed(d, &at, "node_class", int(c.GetIndex()), c.GetNodeClass(), (*reader).nodeClass, &d.classes)
		out = append(out, api.IndexedClass{Index: int(c.GetIndex()), Class: class})
	}
	return out
}

// indexed decodes an item and sets it in a list. It is nil if the field is absent.
func indexed[T any, M any, P interface {
	*M
	proto.Message
}](d *decoder, at *path, field string, index int, in P, message func(*reader, *path, *scan) T, list *[]*T) *T {
	if !d.require(in != nil, at.field(field)) {
		return nil
	}
	item := submessage(d, at.field(field), in, message)
	if !set(list, index, item) {
		d.refuse(at.field("index"), notFound, "is %d, the next free one is %d", index, len(*list))
	}
	return item
}

// set sets the i-th element of a list, or appends it if i is the length. It fails for larger i.
func set[T any](list *[]T, i int, v T) bool {
	if i < len(*list) {
		(*list)[i] = v
	} else if i == len(*list) {
		*list = append(*list, v)
	}
	return i < len(*list)
}

// checkDelta checks the rest of a delta without the cluster.
func (d *decoder) checkDelta(at *path, in *stowagev1.ClusterDelta) {
	for i, n := range in.GetNodes() {
		if d.over() {
			return
		}
		at := at.item("nodes", i)
		d.exact(&at, n, func(r *reader, raw []byte) bool { return r.node(new(chunk), at, raw, new(readNode)) })
	}
	for i, n := range in.GetNodePods() {
		if d.over() {
			return
		}
		at := at.item("node_pods", i)
		d.checkNodePods(&at, n)
	}
	for _, number := range named {
		name := clusterLists[number].name
		items := in.ProtoReflect().Get(in.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))).List()
		for i := range items.Len() {
			if d.over() {
				return
			}
			at := at.item(name, i)
			d.exact(&at, items.Get(i).Message().Interface(), func(r *reader, raw []byte) bool {
				return r.item(at, number, raw, new(readItem))
			})
		}
	}
}

func (d *decoder) checkNodePods(at *path, in *stowagev1.NodePodsDelta) {
	d.name(at, "node_name", in.GetNodeName(), MaxNameBytes)
	for i, c := range in.GetRemovedPodCounts() {
		d.reporter().wrongCount(at.item("removed_pod_counts", i), uint64(c.GetTemplateIndex()), uint64(c.GetCount()))
	}
	for i, p := range in.GetRemovedPods() {
		at := at.item("removed_pods", i)
		d.name(&at, "name", p.GetName(), MaxNameBytes)
	}
	for i, c := range in.GetPodCounts() {
		d.reporter().wrongCount(at.item("pod_counts", i), uint64(c.GetTemplateIndex()), uint64(c.GetCount()))
	}
	for i, p := range in.GetPods() {
		submessage(d, at.item("pods", i), p, podAs(onNode))
	}
	for i, p := range in.GetRemovedNominatedPods() {
		at := at.item("removed_nominated_pods", i)
		d.name(&at, "name", p.GetName(), MaxNameBytes)
	}
	for i, p := range in.GetNominatedPods() {
		submessage(d, at.item("nominated_pods", i), p, podAs(nominated))
	}
}

// changes decodes the items that a delta changed, counts their names and pods, and reports whether they are valid.
func (r *Request) changes(
	at *path, in *stowagev1.ClusterDelta, by *reader, next *content.Content, made *content.Effect, out *api.Delta,
) bool {
	nodes := make([]readNode, len(made.Nodes))
	c := new(chunk)
	for i, n := range made.Nodes {
		if by.node(c, *at, next.Nodes().At(int(n.Index)), &nodes[i]); !nodes[i].sound {
			return false
		}
	}
	changed := content.Changes(in)
	for _, number := range named {
		if changed[number] {
			namedChange(at, by, number, next.List(number), &made.Named[number], out)
		}
	}
	if len(by.violations) > 0 {
		return false
	}
	for i := range nodes {
		r.addNames(&nodes[i].names)
	}
	if changed[content.PodGroups] {
		r.groups = groups{}
		for i := range out.PodGroups {
			r.groups.add(&out.PodGroups[i])
		}
	}
	r.nodesOf(nodes, made, out)
	return true
}

// namedChange decodes the change of a list that is ordered by names.
func namedChange(at *path, by *reader, number protowire.Number, of *content.List, made *content.NamedChange, out *api.Delta) {
	set, gone := made.Set, made.Removed
	storage, devices := &out.Storage, &out.Devices
	switch number {
	case content.Namespaces:
		out.Namespaces = itemsOf(by, at, of, (*reader).namespace)
	case content.WorkloadSelectors:
		out.WorkloadSelectors = itemsOf(by, at, of, (*reader).workloadSelector)
	case content.PodDisruptionBudgets:
		out.Budgets = itemsOf(by, at, of, (*reader).podDisruptionBudget)
	case content.PodGroups:
		out.PodGroups = itemsOf(by, at, of, (*reader).clusterGroup)
	case content.StorageClasses:
		storage.Set.Classes, storage.Removed.Classes = changedItems(by, at, set, (*reader).storageClass), namesOf(gone)
	case content.CSIDrivers:
		storage.Set.Drivers, storage.Removed.Drivers = changedItems(by, at, set, (*reader).csiDriver), namesOf(gone)
	case content.CSIStorageCapacities:
		storage.Set.Capacities, storage.Removed.Capacities = changedItems(by, at, set, (*reader).csiStorageCapacity), objectNames(gone)
	case content.PersistentVolumes:
		storage.Set.Volumes, storage.Removed.Volumes = changedItems(by, at, set, (*reader).persistentVolume), namesOf(gone)
	case content.PersistentVolumeClaims:
		storage.Set.Claims, storage.Removed.Claims = changedItems(by, at, set, (*reader).persistentVolumeClaim), objectNames(gone)
	case content.DeviceTypes:
		devices.Set.Types, devices.Removed.Types = changedItems(by, at, set, (*reader).deviceType), namesOf(gone)
	case content.DeviceExpressions:
		devices.Set.Expressions, devices.Removed.Expressions = changedItems(by, at, set, (*reader).deviceExpression), namesOf(gone)
	case content.DeviceClasses:
		devices.Set.Classes, devices.Removed.Classes = changedItems(by, at, set, (*reader).deviceClass), namesOf(gone)
	case content.ResourceSlices:
		devices.Set.Slices, devices.Removed.Slices = changedItems(by, at, set, (*reader).resourceSlice), namesOf(gone)
	case content.ResourceClaims:
		devices.Set.Claims, devices.Removed.Claims = changedItems(by, at, set, (*reader).resourceClaim), objectNames(gone)
	}
}

func itemsOf[T any](by *reader, at *path, of *content.List, message func(*reader, *path, *scan) T) []T {
	out := make([]T, of.Len())
	for i, raw := range of.All {
		out[i], _ = read(by, *at, raw, message)
	}
	return out
}

// changedItems decodes the items of a list that a delta changed.
func changedItems[T any](by *reader, at *path, set [][]byte, message func(*reader, *path, *scan) T) []T {
	out := make([]T, len(set))
	for i, raw := range set {
		out[i], _ = read(by, *at, raw, message)
	}
	return out
}

func namesOf(names []content.Name) (out []string) {
	for _, n := range names {
		out = append(out, n.Name)
	}
	return out
}

func objectNames(names []content.Name) (out []api.ObjectName) {
	for _, n := range names {
		out = append(out, api.ObjectName(n))
	}
	return out
}

// nodesOf counts the nodes that a delta changed, and divides them into added and replaced ones.
func (d *decoder) nodesOf(nodes []readNode, made *content.Effect, out *api.Delta) {
	base := d.base
	out.Removed = made.Removed
	gone := func(i uint32) {
		nominated := uint64(0)
		if d.nominated > 0 {
			nominated = uint64(base.Content.NominatedPods(i))
		}
		d.pods -= uint64(base.PodsOn(i)) + nominated
		d.nominated -= nominated
		d.inherited -= inherited(base.ClassOf(i))
	}
	for _, i := range made.Removed {
		gone(i)
	}
	kept := uint32(base.Len() - len(made.Removed))
	removed := 0
	for i, n := range made.Nodes {
		node := &nodes[i]
		d.pods += node.pods
		d.nominated += node.nominated
		d.inherited += inherited(node.node.Class)
		if n.Index >= kept {
			out.Added = append(out.Added, node.node)
			continue
		}
		for removed < len(made.Removed) && made.Removed[removed]-uint32(removed) <= n.Index {
			removed++
		}
		index := n.Index + uint32(removed)
		gone(index)
		out.Replaced = append(out.Replaced, api.Replacement{Index: index, Node: node.node})
	}
}
