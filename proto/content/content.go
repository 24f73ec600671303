package content

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The lists of a cluster, by their numbers in stowage.v1.Cluster.
const (
	Nodes protowire.Number = 1 + iota
	PodTemplates
	Namespaces
	WorkloadSelectors
	NodeClasses
	PodDisruptionBudgets
	PodGroups
	StorageClasses
	CSIDrivers
	CSIStorageCapacities
	PersistentVolumes
	PersistentVolumeClaims
	DeviceTypes
	DeviceExpressions
	DeviceClasses
	ResourceSlices
	ResourceClaims

	// Lists is above all numbers.
	Lists
)

// identities are how items are identified in the lists whose canonical order is by identity. The others have an order of their own.
var identities = [Lists]func(item []byte) identity{
	Namespaces: namedIdentity, WorkloadSelectors: selectorIdentity, PodDisruptionBudgets: namespacedIdentity, PodGroups: namedIdentity,
	StorageClasses: namedIdentity, CSIDrivers: namedIdentity, CSIStorageCapacities: namespacedIdentity, PersistentVolumes: namedIdentity,
	PersistentVolumeClaims: namespacedIdentity,
	DeviceTypes:            namedIdentity, DeviceExpressions: namedIdentity, DeviceClasses: namedIdentity, ResourceSlices: namedIdentity,
	ResourceClaims: namespacedIdentity,
}

var fieldsOfCluster = (*stowagev1.Cluster)(nil).ProtoReflect().Descriptor().Fields()

// nodesLast yields the lists of a cluster. What nodes refer to precedes them.
func nodesLast(yield func(protowire.Number, protoreflect.FieldDescriptor) bool) {
	for n := Nodes + 1; n < Lists; n++ {
		if !yield(n, fieldsOfCluster.ByNumber(n)) {
			return
		}
	}
	yield(Nodes, fieldsOfCluster.ByNumber(Nodes))
}

// Content is the content of a cluster. It is immutable and safe for concurrent use.
type Content struct {
	lists   [Lists]List
	names   names
	address Address
}

// Address returns the content address.
func (c *Content) Address() Address { return c.address }

// List returns a list. Templates, classes and nodes are in the order of the cluster, other items in the order of their identities.
func (c *Content) List(of protowire.Number) *List { return &c.lists[of] }

// Nodes returns the nodes in the order of the cluster.
func (c *Content) Nodes() *List { return &c.lists[Nodes] }

// Len returns the number of all items.
func (c *Content) Len() (n int) {
	for i := range c.lists {
		n += c.lists[i].Len()
	}
	return n
}

// Lookup returns the index of the node with a name.
func (c *Content) Lookup(name string) (uint32, bool) { return c.names.lookup(c.Nodes(), []byte(name)) }

// NominatedPods returns the number of pods that are nominated to the i-th node.
func (c *Content) NominatedPods(i uint32) int { return nominatedPods(c.Nodes().raw(int(i))) }

// Bytes returns the memory of the content in bytes, including pages shared with other contents.
func (c *Content) Bytes() int64 {
	sum := int64(8 * len(c.names.table))
	for i := Nodes; i < Lists; i++ {
		sum += c.lists[i].Memory()
	}
	return sum
}

// Cluster returns the content as a new message.
func (c *Content) Cluster() (*stowagev1.Cluster, error) {
	out := &stowagev1.Cluster{}
	for number, field := range nodesLast {
		list := out.ProtoReflect().Mutable(field).List()
		for i, item := range c.lists[number].All {
			if err := decode(item, list.AppendMutable().Message().Interface()); err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", field.Name(), i, err)
			}
		}
	}
	return out, nil
}

// Builder builds a content item by item. The zero value is ready to use. Items must be canonical; Builder copies them.
type Builder struct {
	// AddressOnly keeps no items, only what the address and Lookup need.
	AddressOnly bool

	content   Content
	unordered [Lists]unordered
	sealed    bool   // all lists except the nodes are complete
	nodeNames []byte // name fields of the nodes, with AddressOnly
}

// Seal completes all lists except the nodes, before any node is added. After Seal, only Fork may be called.
func (b *Builder) Seal() {
	if b.sealed {
		return
	}
	b.sealed = true
	for number := Nodes + 1; number < Lists; number++ {
		if l := &b.content.lists[number]; identities[number] == nil {
			l.seal()
		} else {
			*l = b.unordered[number].list()
		}
	}
	b.unordered = [Lists]unordered{} // the content keeps the builder
}

// Fork returns a builder that adds nodes to a copy of b, which must be sealed. Fork is safe for concurrent use, and forks are
// independent.
func (b *Builder) Fork() *Builder {
	return &Builder{AddressOnly: b.AddressOnly, content: b.content, sealed: true}
}

// Grow reserves capacity for more nodes.
func (b *Builder) Grow(nodes int) {
	c := &b.content
	if want := c.Nodes().Len() + nodes; 2*want > len(c.names.table) {
		c.names.grow(c.Nodes(), want)
	}
}

// Add adds an item to a list, unless its name or identity exists. It reports whether it is new. digest is the digest of canonical.
func (b *Builder) Add(to protowire.Number, canonical []byte, digest Digest) bool {
	switch identify := identities[to]; {
	case to == Nodes:
		return b.AddNode(canonical, digest)
	case identify != nil:
		return b.unordered[to].add(identify(canonical), canonical)
	case b.AddressOnly:
		canonical = nil
	}
	b.content.lists[to].push(bytes.Clone(canonical), digest)
	return true
}

// AddNode appends a node, which may be packed, unless its name exists. It reports whether the name is new. digest is the digest of
// the canonical encoding, also for a packed node.
func (b *Builder) AddNode(canonical []byte, digest Digest) bool {
	nodes := b.content.Nodes()
	if !b.content.names.add(nodes, nameOf(canonical)) {
		return false
	}
	if b.AddressOnly {
		n := len(b.nodeNames)
		b.nodeNames = append(b.nodeNames, nameField(canonical)...)
		nodes.push(b.nodeNames[n:], digest)
	} else {
		nodes.push(bytes.Clone(canonical), digest)
	}
	return true
}

// Lookup returns the index of the added node with a name.
func (b *Builder) Lookup(name string) (uint32, bool) {
	return b.content.Lookup(name)
}

// Build returns the content. The builder must not be used afterwards.
func (b *Builder) Build() *Content {
	b.Seal()
	c := &b.content
	c.Nodes().seal()
	c.seal()
	return c
}

// Of returns the content of a cluster. The error is an *Error with a path inside the cluster.
func Of(cluster *stowagev1.Cluster) (*Content, error) {
	var b Builder
	var e encoder
	for number, field := range nodesLast {
		items := cluster.ProtoReflect().Get(field).List()
		for i := range items.Len() {
			e.b = e.b[:0]
			if err := e.item(items.Get(i).Message().Interface()); err != nil {
				return nil, prefixField(fmt.Sprintf("%s[%d]", field.Name(), i), err)
			}
			if !b.Add(number, e.b, DigestOf(e.b)) {
				return nil, refuse(fmt.Sprintf("%s[%d].name", field.Name(), i), stowagev1.ViolationReason_VIOLATION_REASON_DUPLICATE,
					"duplicates an earlier item")
			}
		}
	}
	return b.Build(), nil
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
	l := List{ordered: true}
	for _, id := range slices.SortedFunc(maps.Keys(u), identity.compare) {
		l.push(u[id], DigestOf(u[id]))
	}
	l.seal()
	return l
}
