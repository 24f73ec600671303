package content

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Change is what a delta did, for whoever keeps something that was made from the content. It shares messages with the
// delta.
type Change struct {
	// Templates and Classes are what was set, in this order: at the index given, or behind all others.
	Templates []*stowagev1.IndexedPodTemplate
	Classes   []*stowagev1.IndexedNodeClass
	// Removed are the indexes that the removed nodes had before the delta, ascending.
	Removed []uint32
	// Nodes are the nodes that are new or not what they were, ascending by index.
	Nodes []IndexedNode
	// NamespacesChanged tells whether the delta speaks of namespaces, and Namespaces are then all of the result.
	NamespacesChanged bool
	Namespaces        []*stowagev1.Namespace
	// WorkloadSelectorsChanged tells whether the delta speaks of workload selectors, and WorkloadSelectors are then all of
	// the result.
	WorkloadSelectorsChanged bool
	WorkloadSelectors        []*stowagev1.WorkloadSelector
}

// IndexedNode is a node, in order as its canonical form has it, and its place.
type IndexedNode struct {
	// Index is that of the node after the delta, removed ones gone. Nodes that are new have the highest ones.
	Index uint32
	Node  *stowagev1.Node
}

// Apply returns the content that a delta leads to, and what is different. The content itself stays as it is. The error is
// an *Error with a path inside the delta, and then there is nothing else.
//
// A node stays as it is if the delta does not name it: one that only gets or loses pods may have pods of a template that
// the delta replaces, and counts as having those of the new one. A template or class may be set more than once; the last
// one stays.
//
// It takes time linear in the delta, the nodes that it changes, and the namespaces or workload selectors if it changes
// any; besides, in the number of nodes if it removes or adds some, and in their size if it replaces a template or class.
// It returns the context's error if that ends first.
func (c *Content) Apply(ctx context.Context, d *stowagev1.ClusterDelta) (*Content, *Change, error) {
	next := *c
	a := application{ctx: ctx, base: c, next: &next, change: &Change{}, named: make(map[string]place)}
	for _, step := range []func(*stowagev1.ClusterDelta) error{
		a.claims, a.templates, a.classes, a.unused, a.nodes, a.namespaces, a.selectors,
	} {
		if err := step(d); err != nil {
			return nil, nil, err
		}
	}
	next.seal()
	return &next, a.change, ctx.Err()
}

// application is the application of one delta.
type application struct {
	ctx        context.Context
	base, next *Content
	change     *Change
	named      map[string]place // the nodes that the delta names
	// Where the delta replaces templates and classes, by index.
	templatesReplaced, classesReplaced map[uint32]place
}

// place is an element of one of a delta's lists.
type place struct {
	format string // of its path
	i      int
}

func (p place) String() string { return fmt.Sprintf(p.format, p.i) }

// claim notes where something is named, and fails if it was named before.
func claim[K comparable](named map[K]place, key K, p place) error {
	if first, ok := named[key]; ok {
		return refuse(p.String(), "is at %v, too", first)
	}
	named[key] = p
	return nil
}

// claims notes the nodes that the delta names.
func (a *application) claims(d *stowagev1.ClusterDelta) error {
	for i, name := range d.GetRemovedNodes() {
		if err := claim(a.named, name, place{"removed_nodes[%d]", i}); err != nil {
			return err
		}
	}
	for i, n := range d.GetNodes() {
		if err := claim(a.named, n.GetName(), place{"nodes[%d].name", i}); err != nil {
			return err
		}
	}
	for i, n := range d.GetNodePods() {
		if err := claim(a.named, n.GetNodeName(), place{"node_pods[%d].node_name", i}); err != nil {
			return err
		}
	}
	return nil
}

func (a *application) templates(d *stowagev1.ClusterDelta) (err error) {
	a.change.Templates = d.GetPodTemplates()
	a.templatesReplaced, err = put(a.ctx, &a.next.templates, "pod_templates[%d]", a.change.Templates,
		func(t *stowagev1.IndexedPodTemplate) (uint32, proto.Message) { return t.GetIndex(), t.GetTemplate() })
	return err
}

func (a *application) classes(d *stowagev1.ClusterDelta) (err error) {
	a.change.Classes = d.GetNodeClasses()
	a.classesReplaced, err = put(a.ctx, &a.next.classes, "node_classes[%d]", a.change.Classes,
		func(c *stowagev1.IndexedNodeClass) (uint32, proto.Message) { return c.GetIndex(), c.GetNodeClass() })
	return err
}

// put sets items of a list by index, and tells where it replaced items that were there before.
func put[M any](ctx context.Context, l *List, path string, items []M, indexed func(M) (uint32, proto.Message)) (map[uint32]place, error) {
	if len(items) == 0 {
		return nil, nil
	}
	before := l.Len()
	replaced := make(map[uint32]place)
	*l = l.edit()
	for i, item := range items {
		index, m := indexed(item)
		raw, err := Append(nil, m)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, inside(place{path, i}.String(), err)
		case uint64(index) > uint64(l.Len()):
			return nil, refuse(place{path + ".index", i}.String(), "is %d, the next free one is %d", index, l.Len())
		case int(index) == l.Len():
			l.push(raw, DigestOf(raw))
			continue
		case int(index) < before:
			replaced[index] = place{path + ".index", i}
		}
		l.set(int(index), raw, DigestOf(raw))
	}
	l.seal()
	return replaced, nil
}

// unused checks that no node that stays as it is refers to what was replaced.
func (a *application) unused(*stowagev1.ClusterDelta) error {
	if len(a.templatesReplaced)+len(a.classesReplaced) == 0 {
		return nil
	}
	for i, node := range a.base.nodes.allRaw {
		if i%pageSize == 0 && a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if _, ok := a.named[string(nameOf(node))]; ok {
			continue
		}
		var err error
		usage(node, func(template uint32) {
			if p, ok := a.templatesReplaced[template]; ok {
				err = refuse(p.String(), "is %d, a template that node %q has pods of, which stays as it is", template, nameOf(node))
			}
		}, func(class uint32) {
			if p, ok := a.classesReplaced[class]; ok {
				err = refuse(p.String(), "is %d, the class of node %q, which stays as it is", class, nameOf(node))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *application) nodes(d *stowagev1.ClusterDelta) error {
	if len(a.named) == 0 {
		return nil
	}
	l := &a.next.nodes
	*l = l.edit()
	if err := a.removeNodes(d.GetRemovedNodes()); err != nil {
		return err
	}
	if err := a.putNodes(d.GetNodes()); err != nil {
		return err
	}
	for i, pods := range d.GetNodePods() {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		index, ok := a.next.Lookup(pods.GetNodeName())
		if !ok {
			return refuse(place{"node_pods[%d].node_name", i}.String(), noNode)
		}
		n, raw, err := a.movePods(l.At(int(index)), pods)
		if err != nil {
			return inside(place{"node_pods[%d]", i}.String(), err)
		}
		l.set(int(index), raw, DigestOf(raw))
		a.change.Nodes = append(a.change.Nodes, IndexedNode{index, n})
	}
	l.seal()
	slices.SortFunc(a.change.Nodes, func(a, b IndexedNode) int { return cmp.Compare(a.Index, b.Index) })
	return nil
}

const noNode = "names no node of the snapshot"

func (a *application) removeNodes(removed []string) error {
	if len(removed) == 0 {
		return nil
	}
	for i, name := range removed {
		index, ok := a.base.Lookup(name)
		if !ok {
			return refuse(place{"removed_nodes[%d]", i}.String(), noNode)
		}
		a.change.Removed = append(a.change.Removed, index)
	}
	slices.Sort(a.change.Removed)
	a.next.nodes.remove(a.change.Removed)
	a.next.names.grow(&a.next.nodes, a.next.nodes.Len())
	return nil
}

func (a *application) putNodes(nodes []*stowagev1.Node) error {
	l, names := &a.next.nodes, &a.next.names
	added := false
	for i, n := range nodes {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		n, raw, err := encodeNode(n)
		if err != nil {
			return inside(place{"nodes[%d]", i}.String(), err)
		}
		index, ok := a.next.Lookup(n.GetName())
		if ok {
			l.set(int(index), raw, DigestOf(raw))
		} else {
			if !added {
				added = true
				names.table = slices.Clone(names.table)
			}
			index = uint32(l.Len())
			names.add(l, nameOf(raw))
			l.push(raw, DigestOf(raw))
		}
		a.change.Nodes = append(a.change.Nodes, IndexedNode{index, n})
	}
	return nil
}

// podName is a pod's name, with its namespace.
type podName struct{ namespace, name string }

// movePods returns what encodeNode does of a node after pods came and went. Paths of errors start in the delta.
func (a *application) movePods(node []byte, d *stowagev1.NodePodsDelta) (*stowagev1.Node, []byte, error) {
	n := &stowagev1.Node{}
	if err := decode(node, n); err != nil {
		return nil, nil, err
	}
	if err := removeCounts(n, d.GetRemovedPodCounts()); err != nil {
		return nil, nil, err
	}
	if err := a.removePods(n, d.GetRemovedPods()); err != nil {
		return nil, nil, err
	}
	n.PodCounts = append(n.PodCounts, d.GetPodCounts()...)
	n.Pods = append(n.Pods, d.GetPods()...)
	return encodeNode(n)
}

// removeCounts takes counts from those of a node, which may be changed.
func removeCounts(n *stowagev1.Node, removed []*stowagev1.PodCount) error {
	if len(removed) == 0 {
		return nil
	}
	type pods struct {
		template    uint32
		terminating bool
	}
	counts := make(map[pods]*stowagev1.PodCount, len(n.PodCounts))
	for _, c := range n.PodCounts {
		counts[pods{c.GetTemplateIndex(), c.GetTerminating()}] = c
	}
	for i, r := range removed {
		c := counts[pods{r.GetTemplateIndex(), r.GetTerminating()}]
		if r.GetCount() > c.GetCount() {
			return refuse(place{"removed_pod_counts[%d].count", i}.String(),
				"is %d, but the node has %d such pods", r.GetCount(), c.GetCount())
		}
		if c != nil {
			c.Count -= r.GetCount()
		}
	}
	n.PodCounts = slices.DeleteFunc(n.PodCounts, func(c *stowagev1.PodCount) bool { return c.GetCount() == 0 })
	return nil
}

// removePods takes pods from those of a node; of several of one name the first in canonical order.
func (a *application) removePods(n *stowagev1.Node, removed []*stowagev1.PodName) error {
	if len(removed) == 0 {
		return nil
	}
	wanted := make(map[podName][]int, len(removed))
	for i, r := range removed {
		name := podName{cmp.Or(r.GetNamespace(), defaultNamespace), r.GetName()}
		wanted[name] = append(wanted[name], i)
	}
	n.Pods = slices.DeleteFunc(n.Pods, func(p *stowagev1.Pod) bool {
		name := podName{a.namespaceOf(p), p.GetName()}
		where := wanted[name]
		if len(where) == 0 {
			return false
		}
		wanted[name] = where[1:]
		return true
	})
	missing := len(removed)
	for _, where := range wanted {
		if len(where) > 0 {
			missing = min(missing, where[0])
		}
	}
	if missing < len(removed) {
		return refuse(place{"removed_pods[%d]", missing}.String(), "names no pod of the node")
	}
	return nil
}

// namespaceOf returns a pod's namespace, that of its template.
func (a *application) namespaceOf(p *stowagev1.Pod) string {
	namespace := p.GetTemplate().GetNamespace()
	if source, ok := p.GetSource().(*stowagev1.Pod_TemplateIndex); ok && int(source.TemplateIndex) < a.next.templates.Len() {
		namespace = string(nameOf(a.next.templates.At(int(source.TemplateIndex))))
	}
	return cmp.Or(namespace, defaultNamespace)
}

func (a *application) namespaces(d *stowagev1.ClusterDelta) error {
	removed := make([]identity, len(d.GetRemovedNamespaces()))
	for i, name := range d.GetRemovedNamespaces() {
		removed[i] = identity{name: name}
	}
	var err error
	a.change.Namespaces, err = change(&a.next.namespaces, namespaceIdentity, removed, d.GetNamespaces(), "namespace")
	a.change.NamespacesChanged = a.change.Namespaces != nil
	return err
}

func (a *application) selectors(d *stowagev1.ClusterDelta) error {
	removed := make([]identity, len(d.GetRemovedWorkloadSelectors()))
	for i, w := range d.GetRemovedWorkloadSelectors() {
		removed[i] = identity{int32(w.GetKind()), cmp.Or(w.GetNamespace(), defaultNamespace), w.GetName()}
	}
	var err error
	a.change.WorkloadSelectors, err = change(
		&a.next.selectors, selectorIdentity, removed, d.GetWorkloadSelectors(), "workload_selector")
	a.change.WorkloadSelectorsChanged = a.change.WorkloadSelectors != nil
	return err
}

// change removes and sets items of a list that is ordered by identity. It returns all of the result, not nil, unless
// there is nothing to do.
func change[M any, P interface {
	*M
	proto.Message
}](l *List, identify func([]byte) identity, removed []identity, set []P, kind string) ([]P, error) {
	if len(removed)+len(set) == 0 {
		return nil, nil
	}
	items := make(unordered, l.Len())
	for _, item := range l.All {
		items[identify(item)] = item
	}
	named := make(map[identity]place)
	for i, id := range removed {
		at := place{"removed_" + kind + "s[%d]", i}
		if err := claim(named, id, at); err != nil {
			return nil, err
		}
		if _, ok := items[id]; !ok {
			return nil, refuse(at.String(), "names no %s of the snapshot", strings.ReplaceAll(kind, "_", " "))
		}
		delete(items, id)
	}
	for i, m := range set {
		raw, err := Append(nil, m)
		if err != nil {
			return nil, inside(place{kind + "s[%d]", i}.String(), err)
		}
		id := identify(raw)
		if err := claim(named, id, place{kind + "s[%d].name", i}); err != nil {
			return nil, err
		}
		items[id] = raw
	}
	*l = items.list()
	var out []P
	err := decodeAll(l, &out)
	return out, err
}
