package content

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Content is the content of a cluster. It never changes, and may be used concurrently.
type Content struct {
	templates, classes, nodes, namespaces, selectors List

	names   names
	address Address
}

// Address is the content address.
func (c *Content) Address() Address { return c.address }

// Templates are the pod templates, in the order of the cluster.
func (c *Content) Templates() *List { return &c.templates }

// Classes are the node classes, in the order of the cluster.
func (c *Content) Classes() *List { return &c.classes }

// Nodes are the nodes, in the order of the cluster.
func (c *Content) Nodes() *List { return &c.nodes }

// Namespaces are the namespaces, by name.
func (c *Content) Namespaces() *List { return &c.namespaces }

// WorkloadSelectors are the workload selectors, by kind, namespace and name.
func (c *Content) WorkloadSelectors() *List { return &c.selectors }

// Lookup returns the index of the node of a name.
func (c *Content) Lookup(name string) (uint32, bool) { return c.names.lookup(&c.nodes, []byte(name)) }

// Bytes is the memory that the content takes, in bytes, what it shares with others included.
func (c *Content) Bytes() int64 {
	sum := int64(8 * len(c.names.table))
	for _, l := range c.lists() {
		sum += l.memory()
	}
	return sum
}

// Cluster states the content in a message of its own.
func (c *Content) Cluster() (*stowagev1.Cluster, error) {
	out := &stowagev1.Cluster{}
	for _, err := range []error{
		decodeAll(&c.templates, &out.PodTemplates),
		decodeAll(&c.classes, &out.NodeClasses),
		decodeAll(&c.nodes, &out.Nodes),
		decodeAll(&c.namespaces, &out.Namespaces),
		decodeAll(&c.selectors, &out.WorkloadSelectors),
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

// Builder makes a content item by item. The zero value is ready. It copies what it is given, which must be canonical.
type Builder struct {
	// AddressOnly says that the content is of no use but for its address.
	AddressOnly bool

	content               Content
	namespaces, selectors unordered
	sealed                bool   // everything but the nodes is complete
	nodeNames             []byte // fields of nodes, with AddressOnly
}

// Seal is to be called when b has everything but nodes, of which it has none. Then it may only be forked.
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
}

// Fork returns a builder to add nodes to what b has, which must be sealed. Forks of one builder may be made and used at
// once.
func (b *Builder) Fork() *Builder {
	return &Builder{AddressOnly: b.AddressOnly, content: b.content, sealed: true}
}

// Grow makes room for a number of nodes more, to be added for less.
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

// AddNode appends a node, which may be packed, or nothing if there is one of its name already. It tells whether the name
// is new. The digest is that of the canonical encoding.
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

// Lookup returns the index of the node of a name among those added so far.
func (b *Builder) Lookup(name string) (uint32, bool) {
	return b.content.Lookup(name)
}

// AddNamespace adds a namespace, or nothing if there is one of its name already. It tells whether the name is new.
func (b *Builder) AddNamespace(canonical []byte) bool {
	return b.namespaces.add(namespaceIdentity(canonical), canonical)
}

// AddWorkloadSelector adds a workload selector, or nothing if there is one of its kind, namespace and name already. It
// tells whether they are new.
func (b *Builder) AddWorkloadSelector(canonical []byte) bool {
	return b.selectors.add(selectorIdentity(canonical), canonical)
}

// Build returns the content of what was added. The builder must not be used any more.
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
			return inside(fmt.Sprintf("%s[%d]", list, i), err)
		}
		if !add(e.b) {
			return refuse(fmt.Sprintf("%s[%d].name", list, i), "is that of one before it, too")
		}
	}
	return nil
}

// unordered is namespaces or workload selectors.
type unordered map[identity][]byte

// add adds a copy of an item unless there is one of its identity.
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

// list returns the items in their order.
func (u unordered) list() List {
	var l List
	for _, id := range slices.SortedFunc(maps.Keys(u), identity.compare) {
		l.push(u[id], DigestOf(u[id]))
	}
	l.seal()
	return l
}
