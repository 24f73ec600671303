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

// Change describes the effect of a delta, to update values derived from the content. It shares messages with the delta.
type Change struct {
	// Templates and Classes are the set items, in order. An index equal to the length appends.
	Templates []*stowagev1.IndexedPodTemplate
	Classes   []*stowagev1.IndexedNodeClass
	// Removed lists the indexes of the removed nodes before the delta, ascending.
	Removed []uint32
	// Nodes lists the added and changed nodes, ascending by index.
	Nodes []IndexedNode
	// NamespacesChanged reports whether the delta sets or removes namespaces. Namespaces then lists all of the result.
	NamespacesChanged bool
	Namespaces        []*stowagev1.Namespace
	// WorkloadSelectorsChanged reports whether the delta sets or removes workload selectors. WorkloadSelectors then lists all
	// of the result.
	WorkloadSelectorsChanged bool
	WorkloadSelectors        []*stowagev1.WorkloadSelector
	// BudgetsChanged reports whether the delta sets or removes PodDisruptionBudgets. Budgets then lists all of the result.
	BudgetsChanged bool
	Budgets        []*stowagev1.PodDisruptionBudget
	// GroupsChanged reports whether the delta sets or removes pod groups. Groups then lists all of the result.
	GroupsChanged bool
	Groups        []*stowagev1.PodGroup
}

// IndexedNode is a normalized node and its index.
type IndexedNode struct {
	// Index is the node's index after the delta. Added nodes have the highest indexes.
	Index uint32
	Node  *stowagev1.Node
}

// Apply returns the content after a delta, and the change. It does not modify c. The error is an *Error with a path inside the
// delta, or the error of ctx.
//
// The delta must name every node that refers to a replaced template or class. In node_pods, pods of a replaced template are
// pods of its new version. If a delta sets a template or class more than once, the last one wins.
//
// Apply is linear in the size of the delta and of the nodes that it names. It is also linear in the namespaces, workload
// selectors, budgets or pod groups if the delta changes any, in the number of nodes if it adds or removes any, and in the size of all
// nodes if it replaces a template or class.
func (c *Content) Apply(ctx context.Context, d *stowagev1.ClusterDelta) (*Content, *Change, error) {
	next := *c
	a := applier{ctx: ctx, base: c, next: &next, change: &Change{}, named: make(map[string]location)}
	for _, step := range []func(*stowagev1.ClusterDelta) error{
		a.claimNodes, a.templates, a.classes, a.checkUnreferenced, a.nodes, a.namespaces, a.selectors, a.budgets, a.groups,
	} {
		if err := step(d); err != nil {
			return nil, nil, err
		}
	}
	next.seal()
	return &next, a.change, ctx.Err()
}

// applier applies one delta.
type applier struct {
	ctx        context.Context
	base, next *Content
	change     *Change
	named      map[string]location // the nodes that the delta names
	// replacedTemplates and replacedClasses map indexes to the location in the delta.
	replacedTemplates, replacedClasses map[uint32]location
}

// location is an element of a list of the delta.
type location struct {
	format string // of the path
	i      int
}

func (l location) String() string { return fmt.Sprintf(l.format, l.i) }

// claim records the location of a key and fails on duplicates.
func claim[K comparable](named map[K]location, key K, at location) error {
	if first, ok := named[key]; ok {
		return refuse(at.String(), stowagev1.ViolationReason_VIOLATION_REASON_DUPLICATE, "duplicates %v", first)
	}
	named[key] = at
	return nil
}

// claimNodes records the nodes that the delta names.
func (a *applier) claimNodes(d *stowagev1.ClusterDelta) error {
	for i, name := range d.GetRemovedNodes() {
		if err := claim(a.named, name, location{"removed_nodes[%d]", i}); err != nil {
			return err
		}
	}
	for i, n := range d.GetNodes() {
		if err := claim(a.named, n.GetName(), location{"nodes[%d].name", i}); err != nil {
			return err
		}
	}
	for i, n := range d.GetNodePods() {
		if err := claim(a.named, n.GetNodeName(), location{"node_pods[%d].node_name", i}); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) templates(d *stowagev1.ClusterDelta) (err error) {
	a.change.Templates = d.GetPodTemplates()
	a.replacedTemplates, err = put(a.ctx, &a.next.templates, "pod_templates[%d]", a.change.Templates,
		func(t *stowagev1.IndexedPodTemplate) (uint32, proto.Message) { return t.GetIndex(), t.GetTemplate() })
	return err
}

func (a *applier) classes(d *stowagev1.ClusterDelta) (err error) {
	a.change.Classes = d.GetNodeClasses()
	a.replacedClasses, err = put(a.ctx, &a.next.classes, "node_classes[%d]", a.change.Classes,
		func(c *stowagev1.IndexedNodeClass) (uint32, proto.Message) { return c.GetIndex(), c.GetNodeClass() })
	return err
}

// put sets items of a list by index. It returns the locations of those that replace an item of the base.
func put[M any](
	ctx context.Context, l *List, path string, items []M, indexed func(M) (uint32, proto.Message),
) (map[uint32]location, error) {
	if len(items) == 0 {
		return nil, nil
	}
	baseLen := l.Len()
	replaced := make(map[uint32]location)
	*l = l.edit()
	for i, item := range items {
		index, m := indexed(item)
		raw, err := Append(nil, m)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, prefixField(location{path, i}.String(), err)
		case uint64(index) > uint64(l.Len()):
			return nil, refuse(location{path + ".index", i}.String(),
				stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND, "is %d, the next free one is %d", index, l.Len())
		case int(index) == l.Len():
			l.push(raw, DigestOf(raw))
			continue
		case int(index) < baseLen:
			replaced[index] = location{path + ".index", i}
		}
		l.set(int(index), raw, DigestOf(raw))
	}
	l.seal()
	return replaced, nil
}

// checkUnreferenced checks that only nodes named in the delta refer to replaced templates and classes.
func (a *applier) checkUnreferenced(*stowagev1.ClusterDelta) error {
	if len(a.replacedTemplates)+len(a.replacedClasses) == 0 {
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
		references(node, func(template uint32) {
			if p, ok := a.replacedTemplates[template]; ok {
				err = refuse(p.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED,
					"is %d, a template in use by node %q, which the delta does not name", template, nameOf(node))
			}
		}, func(class uint32) {
			if p, ok := a.replacedClasses[class]; ok {
				err = refuse(p.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_ALLOWED,
					"is %d, the class of node %q, which the delta does not name", class, nameOf(node))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) nodes(d *stowagev1.ClusterDelta) error {
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
			return refuse(location{"node_pods[%d].node_name", i}.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND, nodeNotFound)
		}
		n, raw, err := a.movePods(l.At(int(index)), pods)
		if err != nil {
			return prefixField(location{"node_pods[%d]", i}.String(), err)
		}
		l.set(int(index), raw, DigestOf(raw))
		a.change.Nodes = append(a.change.Nodes, IndexedNode{index, n})
	}
	l.seal()
	slices.SortFunc(a.change.Nodes, func(a, b IndexedNode) int { return cmp.Compare(a.Index, b.Index) })
	return nil
}

const nodeNotFound = "node not found in the snapshot"

func (a *applier) removeNodes(removed []string) error {
	if len(removed) == 0 {
		return nil
	}
	for i, name := range removed {
		index, ok := a.base.Lookup(name)
		if !ok {
			return refuse(location{"removed_nodes[%d]", i}.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND, nodeNotFound)
		}
		a.change.Removed = append(a.change.Removed, index)
	}
	slices.Sort(a.change.Removed)
	a.next.nodes.remove(a.change.Removed)
	a.next.names.grow(&a.next.nodes, a.next.nodes.Len())
	return nil
}

func (a *applier) putNodes(nodes []*stowagev1.Node) error {
	l, names := &a.next.nodes, &a.next.names
	added := false
	for i, n := range nodes {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		n, raw, err := encodeNode(n)
		if err != nil {
			return prefixField(location{"nodes[%d]", i}.String(), err)
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

func (a *applier) namespaces(d *stowagev1.ClusterDelta) error {
	var err error
	a.change.Namespaces, err = change(&a.next.namespaces, namedIdentity, named(d.GetRemovedNamespaces()), d.GetNamespaces(), "namespace")
	a.change.NamespacesChanged = a.change.Namespaces != nil
	return err
}

func (a *applier) groups(d *stowagev1.ClusterDelta) error {
	var err error
	a.change.Groups, err = change(&a.next.groups, namedIdentity, named(d.GetRemovedPodGroups()), d.GetPodGroups(), "pod_group")
	a.change.GroupsChanged = a.change.Groups != nil
	return err
}

// named returns the identities of items without a namespace.
func named(names []string) []identity {
	out := make([]identity, len(names))
	for i, name := range names {
		out[i] = identity{name: name}
	}
	return out
}

func (a *applier) selectors(d *stowagev1.ClusterDelta) error {
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

func (a *applier) budgets(d *stowagev1.ClusterDelta) error {
	removed := make([]identity, len(d.GetRemovedPodDisruptionBudgets()))
	for i, p := range d.GetRemovedPodDisruptionBudgets() {
		removed[i] = identity{namespace: cmp.Or(p.GetNamespace(), defaultNamespace), name: p.GetName()}
	}
	var err error
	a.change.Budgets, err = change(
		&a.next.budgets, budgetIdentity, removed, d.GetPodDisruptionBudgets(), "pod_disruption_budget")
	a.change.BudgetsChanged = a.change.Budgets != nil
	return err
}

// change removes and sets items of a list that is ordered by identity. It returns all items of the result, nil if nothing
// changes.
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
	named := make(map[identity]location)
	for i, id := range removed {
		at := location{"removed_" + kind + "s[%d]", i}
		if err := claim(named, id, at); err != nil {
			return nil, err
		}
		if _, ok := items[id]; !ok {
			return nil, refuse(at.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND, "%s not found in the snapshot", strings.ReplaceAll(kind, "_", " "))
		}
		delete(items, id)
	}
	for i, m := range set {
		raw, err := Append(nil, m)
		if err != nil {
			return nil, prefixField(location{kind + "s[%d]", i}.String(), err)
		}
		id := identify(raw)
		if err := claim(named, id, location{kind + "s[%d].name", i}); err != nil {
			return nil, err
		}
		items[id] = raw
	}
	*l = items.list()
	var out []P
	err := decodeAll(l, &out)
	return out, err
}
