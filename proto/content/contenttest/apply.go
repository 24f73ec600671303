// Package contenttest is a simple reference implementation of deltas for tests.
package contenttest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Apply applies a delta to a normalized cluster, step by step. It returns false if the delta is invalid. It validates no more
// than that requires.
//
//nolint:funlen // one field after the other
func Apply(c *stowagev1.Cluster, d *stowagev1.ClusterDelta) (_ *stowagev1.Cluster, ok bool) {
	c = proto.Clone(c).(*stowagev1.Cluster)
	d = proto.Clone(d).(*stowagev1.ClusterDelta)
	findNode := func(name string) int {
		return slices.IndexFunc(c.Nodes, func(n *stowagev1.Node) bool { return n.Name == name })
	}
	named := make(map[string]bool)
	twice := func(name string) bool {
		defer func() { named[name] = true }()
		return named[name]
	}

	for _, name := range d.RemovedNodes {
		i := findNode(name)
		if twice("node/"+name) || i < 0 {
			return nil, false
		}
		c.Nodes = slices.Delete(c.Nodes, i, i+1)
	}
	before := len(c.PodTemplates)
	var templates, classes []uint32
	for _, t := range d.PodTemplates {
		if t.Template == nil || int(t.Index) > len(c.PodTemplates) {
			return nil, false
		}
		if int(t.Index) == len(c.PodTemplates) {
			c.PodTemplates = append(c.PodTemplates, nil)
		}
		c.PodTemplates[t.Index] = t.Template
		if t.Index < uint32(before) {
			templates = append(templates, t.Index)
		}
	}
	before = len(c.NodeClasses)
	for _, t := range d.NodeClasses {
		if t.NodeClass == nil || int(t.Index) > len(c.NodeClasses) {
			return nil, false
		}
		if int(t.Index) == len(c.NodeClasses) {
			c.NodeClasses = append(c.NodeClasses, nil)
		}
		c.NodeClasses[t.Index] = t.NodeClass
		if t.Index < uint32(before) {
			classes = append(classes, t.Index)
		}
	}
	for _, n := range d.Nodes {
		if twice("node/" + n.Name) {
			return nil, false
		}
		if i := findNode(n.Name); i >= 0 {
			c.Nodes[i] = n
		} else {
			c.Nodes = append(c.Nodes, n)
		}
		if overflow(n.PodCounts) {
			return nil, false
		}
	}
	for _, pods := range d.NodePods {
		i := findNode(pods.NodeName)
		if twice("node/"+pods.NodeName) || i < 0 {
			return nil, false
		}
		n := c.Nodes[i]
		for _, r := range pods.RemovedPodCounts {
			left := r.Count
			for _, count := range n.PodCounts {
				if count.TemplateIndex == r.TemplateIndex && count.Terminating == r.Terminating &&
					count.Readiness == r.Readiness {
					taken := min(left, count.Count)
					count.Count -= taken
					left -= taken
				}
			}
			if left > 0 {
				return nil, false
			}
		}
		n.PodCounts = slices.DeleteFunc(n.PodCounts, func(c *stowagev1.PodCount) bool { return c.Count == 0 })
		if !remove(c, &n.Pods, pods.RemovedPods) || !remove(c, &n.NominatedPods, pods.RemovedNominatedPods) {
			return nil, false
		}
		for _, p := range pods.NominatedPods {
			if find(c, n.NominatedPods, p.Name, namespaceOf(c, p)) >= 0 {
				return nil, false
			}
			n.NominatedPods = append(n.NominatedPods, p)
		}
		n.PodCounts = append(n.PodCounts, pods.PodCounts...)
		n.Pods = append(n.Pods, pods.Pods...)
		if overflow(n.PodCounts) {
			return nil, false
		}
	}
	for _, n := range c.Nodes {
		if named["node/"+n.Name] {
			continue
		}
		if n.ClassIndex != nil && slices.Contains(classes, *n.ClassIndex) {
			return nil, false
		}
		for _, count := range n.PodCounts {
			if slices.Contains(templates, count.TemplateIndex) {
				return nil, false
			}
		}
		for _, p := range slices.Concat(n.Pods, n.NominatedPods) {
			if p.GetTemplate() == nil && slices.Contains(templates, p.GetTemplateIndex()) {
				return nil, false
			}
		}
	}
	fields := c.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		switch list := fields.Get(i); list.Name() {
		case "nodes", "pod_templates", "node_classes":
		default:
			if !applyNamed(c.ProtoReflect(), d.ProtoReflect(), list, twice) {
				return nil, false
			}
		}
	}
	return c, true
}

// applyNamed applies the two fields of a delta that change a list whose items have names.
func applyNamed(c, d protoreflect.Message, list protoreflect.FieldDescriptor, twice func(string) bool) bool {
	changes := d.Descriptor().Fields()
	without := func(key string) (found bool) {
		items, kept := c.Get(list).List(), c.NewField(list).List()
		for i := range items.Len() {
			if item := items.Get(i); keyOf(item.Message()) == key {
				found = true
			} else {
				kept.Append(item)
			}
		}
		c.Set(list, protoreflect.ValueOfList(kept))
		return found
	}
	removed := d.Get(changes.ByName("removed_" + list.Name())).List()
	for i := range removed.Len() {
		key := removed.Get(i).String()
		if name, isMessage := removed.Get(i).Interface().(protoreflect.Message); isMessage {
			key = keyOf(name)
		}
		if twice(string(list.Name())+"/"+key) || !without(key) {
			return false
		}
	}
	set := d.Get(changes.ByName(list.Name())).List()
	for i := range set.Len() {
		key := keyOf(set.Get(i).Message())
		if twice(string(list.Name()) + "/" + key) {
			return false
		}
		without(key)
		c.Mutable(list).List().Append(set.Get(i))
	}
	return true
}

// keyOf identifies an item in its list: the name, of some behind the kind and the namespace.
func keyOf(item protoreflect.Message) (key string) {
	fields := item.Descriptor().Fields()
	if kind := fields.ByName("kind"); kind != nil {
		key = fmt.Sprint(item.Get(kind).Enum(), "/")
	}
	if namespace := fields.ByName("namespace"); namespace != nil {
		key += cmp.Or(item.Get(namespace).String(), "default") + "/"
	}
	return key + item.Get(fields.ByName("name")).String()
}

func remove(c *stowagev1.Cluster, from *[]*stowagev1.Pod, names []*stowagev1.NamespacedName) bool {
	for _, name := range names {
		i := find(c, *from, name.Name, cmp.Or(name.Namespace, "default"))
		if i < 0 {
			return false
		}
		*from = slices.Delete(*from, i, i+1)
	}
	return true
}

func find(c *stowagev1.Cluster, pods []*stowagev1.Pod, name, namespace string) int {
	return slices.IndexFunc(pods, func(p *stowagev1.Pod) bool { return p.Name == name && namespaceOf(c, p) == namespace })
}

func namespaceOf(c *stowagev1.Cluster, p *stowagev1.Pod) string {
	template := p.GetTemplate()
	if template == nil && int(p.GetTemplateIndex()) < len(c.PodTemplates) {
		template = c.PodTemplates[p.GetTemplateIndex()]
	}
	return cmp.Or(template.GetNamespace(), "default")
}

// overflow reports whether the sum of the counts of the same pods exceeds uint32.
func overflow(counts []*stowagev1.PodCount) bool {
	type pods struct {
		template    uint32
		terminating bool
		readiness   stowagev1.PodReadiness
	}
	sums := make(map[pods]uint64)
	for _, c := range counts {
		sums[pods{c.TemplateIndex, c.Terminating, c.Readiness}] += uint64(c.Count)
	}
	for _, sum := range sums {
		if sum > math.MaxUint32 {
			return true
		}
	}
	return false
}
