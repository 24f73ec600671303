package content

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Content is the content of a cluster. It is immutable and safe for concurrent use.
type Content struct {
	templates, classes, nodes, namespaces, selectors, budgets, groups List

	names   names
	address Address
}

// Address returns the content address.
func (c *Content) Address() Address { return c.address }

// Templates returns the pod templates in the order of the cluster.
func (c *Content) Templates() *List { return &c.templates }

// Classes returns the node classes in the order of the cluster.
func (c *Content) Classes() *List { return &c.classes }

// Nodes returns the nodes in the order of the cluster.
func (c *Content) Nodes() *List { return &c.nodes }

// Namespaces returns the namespaces, ordered by name.
func (c *Content) Namespaces() *List { return &c.namespaces }

// WorkloadSelectors returns the workload selectors, ordered by kind, namespace and name.
func (c *Content) WorkloadSelectors() *List { return &c.selectors }

// PodDisruptionBudgets returns the budgets, ordered by namespace and name.
func (c *Content) PodDisruptionBudgets() *List { return &c.budgets }

// PodGroups returns the pod groups, ordered by name.
func (c *Content) PodGroups() *List { return &c.groups }

// Len returns the number of all items.
func (c *Content) Len() (n int) {
	for _, l := range c.lists() {
		n += l.Len()
	}
	return n
}

// Lookup returns the index of the node with a name.
func (c *Content) Lookup(name string) (uint32, bool) { return c.names.lookup(&c.nodes, []byte(name)) }

// NominatedPods returns the number of pods that are nominated to the i-th node.
func (c *Content) NominatedPods(i uint32) int { return nominatedPods(c.nodes.raw(int(i))) }

// Bytes returns the memory of the content in bytes, including pages shared with other contents.
func (c *Content) Bytes() int64 {
	sum := int64(8 * len(c.names.table))
	for _, l := range c.lists() {
		sum += l.Memory()
	}
	return sum
}

// Cluster returns the content as a new message.
func (c *Content) Cluster() (*stowagev1.Cluster, error) {
	out := &stowagev1.Cluster{}
	for _, err := range []error{
		decodeAll(&c.templates, &out.PodTemplates),
		decodeAll(&c.classes, &out.NodeClasses),
		decodeAll(&c.nodes, &out.Nodes),
		decodeAll(&c.namespaces, &out.Namespaces),
		decodeAll(&c.selectors, &out.WorkloadSelectors),
		decodeAll(&c.budgets, &out.PodDisruptionBudgets),
		decodeAll(&c.groups, &out.PodGroups),
	} {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func decodeAll[M any, P interface {
	*M
	proto.Message
}](l *List, out *[]P) error {
	*out = make([]P, l.Len())
	for i, item := range l.All {
		(*out)[i] = new(M)
		if err := decode(item, (*out)[i]); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

// Builder builds a content item by item. The zero value is ready to use. Items must be canonical; Builder copies them.
type Builder struct {
	// AddressOnly keeps no items, only what the address and Lookup need.
	AddressOnly bool

	content                                Content
	namespaces, selectors, budgets, groups unordered
	sealed                                 bool   // all lists except the nodes are complete
	nodeNames                              []byte // name fields of the nodes, with AddressOnly
}

// Seal completes all lists except the nodes, before any node is added. After Seal, only Fork may be called.
func (b *Builder) Seal() {
	if b.sealed {
		return
	}
	b.sealed = true
	c := &b.content
	c.templates.seal()
	c.classes.seal()
	c.namespaces = b.namespaces.list()
	c.selectors = b.selectors.list()
	c.budgets = b.budgets.list()
	c.groups = b.groups.list()
	b.namespaces, b.selectors, b.budgets, b.groups = nil, nil, nil, nil // the content keeps the builder
}

// Fork returns a builder that adds nodes to a copy of b, which must be sealed. Fork is safe for concurrent use, and forks are
// independent.
func (b *Builder) Fork() *Builder {
	return &Builder{AddressOnly: b.AddressOnly, content: b.content, sealed: true}
}

// Grow reserves capacity for more nodes.
func (b *Builder) Grow(nodes int) {
	c := &b.content
	if want := c.nodes.Len() + nodes; 2*want > len(c.names.table) {
		c.names.grow(&c.nodes, want)
	}
}

// AddTemplate appends a pod template.
func (b *Builder) AddTemplate(canonical []byte, digest Digest) {
	b.content.templates.push(b.keep(canonical), digest)
}

// AddClass appends a node class.
func (b *Builder) AddClass(canonical []byte, digest Digest) {
	b.content.classes.push(b.keep(canonical), digest)
}

func (b *Builder) keep(item []byte) []byte {
	if b.AddressOnly {
		return nil
	}
	return bytes.Clone(item)
}

// AddNode appends a node, which may be packed, unless its name exists. It reports whether the name is new. digest is that of
// the canonical encoding.
func (b *Builder) AddNode(canonical []byte, digest Digest) bool {
	c := &b.content
	name := nameOf(canonical)
	if !c.names.add(&c.nodes, name) {
		return false
	}
	if b.AddressOnly {
		n := len(b.nodeNames)
		b.nodeNames = append(b.nodeNames, nameField(canonical)...)
		c.nodes.push(b.nodeNames[n:], digest)
	} else {
		c.nodes.push(bytes.Clone(canonical), digest)
	}
	return true
}

// Lookup returns the index of the added node with a name.
func (b *Builder) Lookup(name string) (uint32, bool) {
	return b.content.Lookup(name)
}

// AddNamespace adds a namespace unless its name exists. It reports whether the name is new.
func (b *Builder) AddNamespace(canonical []byte) bool {
	return b.namespaces.add(namedIdentity(canonical), canonical)
}

// AddWorkloadSelector adds a workload selector unless its kind, namespace and name exist. It reports whether they are new.
func (b *Builder) AddWorkloadSelector(canonical []byte) bool {
	return b.selectors.add(selectorIdentity(canonical), canonical)
}

// AddPodDisruptionBudget adds a budget unless its namespace and name exist. It reports whether they are new.
func (b *Builder) AddPodDisruptionBudget(canonical []byte) bool {
	return b.budgets.add(budgetIdentity(canonical), canonical)
}

// AddPodGroup adds a pod group unless its name exists. It reports whether it is new.
func (b *Builder) AddPodGroup(canonical []byte) bool {
	return b.groups.add(namedIdentity(canonical), canonical)
}

// Build returns the content. The builder must not be used afterwards.
func (b *Builder) Build() *Content {
	b.Seal()
	c := &b.content
	c.nodes.seal()
	c.seal()
	return c
}

// Of returns the content of a cluster. The error is an *Error with a path inside the cluster.
func Of(cluster *stowagev1.Cluster) (*Content, error) {
	var b Builder
	always := func(add func([]byte, Digest)) func([]byte) bool {
		return func(item []byte) bool { add(item, DigestOf(item)); return true }
	}
	addNode := func(node []byte) bool { return b.AddNode(node, DigestOf(node)) }
	for _, err := range []error{
		addAll("pod_templates", cluster.GetPodTemplates(), always(b.AddTemplate)),
		addAll("node_classes", cluster.GetNodeClasses(), always(b.AddClass)),
		addAll("nodes", cluster.GetNodes(), addNode),
		addAll("namespaces", cluster.GetNamespaces(), b.AddNamespace),
		addAll("workload_selectors", cluster.GetWorkloadSelectors(), b.AddWorkloadSelector),
		addAll("pod_disruption_budgets", cluster.GetPodDisruptionBudgets(), b.AddPodDisruptionBudget),
		addAll("pod_groups", cluster.GetPodGroups(), b.AddPodGroup),
	} {
		if err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

func addAll[M proto.Message](list string, items []M, add func([]byte) bool) error {
	var e encoder
	for i, item := range items {
		e.b = e.b[:0]
		if err := e.item(item); err != nil {
			return prefixField(fmt.Sprintf("%s[%d]", list, i), err)
		}
		if !add(e.b) {
			return refuse(fmt.Sprintf("%s[%d].name", list, i), stowagev1.ViolationReason_VIOLATION_REASON_DUPLICATE, "duplicates an earlier item")
		}
	}
	return nil
}

// unordered collects items that are ordered by identity.
type unordered map[identity][]byte

// add adds a copy of an item unless its identity exists.
func (u *unordered) add(id identity, item []byte) bool {
	if *u == nil {
		*u = make(unordered)
	}
	if _, ok := (*u)[id]; ok {
		return false
	}
	(*u)[id] = bytes.Clone(item)
	return true
}

// list returns the items ordered by identity.
func (u unordered) list() List {
	var l List
	for _, id := range slices.SortedFunc(maps.Keys(u), identity.compare) {
		l.push(u[id], DigestOf(u[id]))
	}
	l.seal()
	return l
}
