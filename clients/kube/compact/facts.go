package compact

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type kind int

const (
	label kind = iota
	cpu
	memory
	ephemeralStorage
	podNumber
	scalar
	taints
	features
	csiNode
)

// fact is a property that a node can have, and its kind.
type fact struct {
	kind kind
	key  string // of labels and scalars
}

func (f fact) compare(g fact) int {
	return cmp.Or(cmp.Compare(f.kind, g.kind), cmp.Compare(f.key, g.key))
}

// value is the value of a node's property. name: the value is the node's name.
type value struct {
	text   string
	number int64
	name   bool
}

// each yields a node's properties, with the bytes that each takes in the node and in a class.
func each(n *stowagev1.Node, yield func(f fact, v value, inNode, inClass int)) {
	for key, text := range n.GetLabels() {
		size := entryBytes(key, protowire.SizeBytes(len(text)))
		if text == n.GetName() {
			yield(fact{label, key}, value{name: true}, size, field(len(key)))
		} else {
			yield(fact{label, key}, value{text: text}, size, size)
		}
	}
	r := n.GetAllocatable()
	number := func(k kind, q *int64) {
		if q != nil {
			size := 1 + protowire.SizeVarint(uint64(*q))
			yield(fact{kind: k}, value{number: *q}, size, size)
		}
	}
	if r != nil {
		number(cpu, r.CpuMillis)
		number(memory, r.MemoryBytes)
		number(ephemeralStorage, r.EphemeralStorageBytes)
		number(podNumber, r.Pods)
	}
	for key, q := range r.GetScalars() {
		size := entryBytes(key, protowire.SizeVarint(uint64(q)))
		yield(fact{scalar, key}, value{number: q}, size, size)
	}
	if len(n.GetTaints()) > 0 {
		var text []byte
		size := 0
		for _, t := range n.GetTaints() {
			text = protowire.AppendString(protowire.AppendString(text, t.GetKey()), t.GetValue())
			text = protowire.AppendVarint(text, uint64(t.GetEffect()))
			size += field(field(len(t.GetKey())) + field(len(t.GetValue())) + 2)
		}
		yield(fact{kind: taints}, value{text: string(text)}, size, size)
	}
	if len(n.GetDeclaredFeatures()) > 0 {
		var text []byte
		size := 0
		for _, name := range n.GetDeclaredFeatures() {
			text = protowire.AppendString(text, name)
			size += field(len(name))
		}
		yield(fact{kind: features}, value{text: string(text)}, size, size)
	}
	if n.GetCsiNode() != nil {
		text := csiNodeText(n)
		size := field(len(text))
		yield(fact{kind: csiNode}, value{text: text}, size, size)
	}
}

// csiNodeText is the encoded CSINode of a node.
func csiNodeText(n *stowagev1.Node) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(n.GetCsiNode())
	if err != nil { // not UTF-8, which the server refuses: equal to no other
		return "node " + n.GetName()
	}
	return string(text)
}

// field is the size of a field whose content has a length.
func field(content int) int { return 1 + protowire.SizeBytes(content) }

// entryBytes is the size of a map entry with a value of the given size.
func entryBytes(key string, value int) int { return field(field(len(key)) + 1 + value) }

// state is the properties of a node or a class.
type state struct {
	labels      map[string]string
	taints      []*stowagev1.Taint
	allocatable *stowagev1.Resources
	features    []string
	csiNode     *stowagev1.CSINode
}

// selected is the wanted properties of a node.
func selected(n *stowagev1.Node, wanted func(fact) bool) state {
	var out state
	for key, text := range n.GetLabels() {
		if wanted(fact{label, key}) {
			put(&out.labels, key, text)
		}
	}
	if wanted(fact{kind: taints}) {
		out.taints = n.GetTaints()
	}
	if wanted(fact{kind: features}) {
		out.features = n.GetDeclaredFeatures()
	}
	if wanted(fact{kind: csiNode}) {
		out.csiNode = n.GetCsiNode()
	}
	if r := n.GetAllocatable(); r != nil {
		kept := &stowagev1.Resources{}
		some := false
		number := func(k kind, to **int64, q *int64) {
			if q != nil && wanted(fact{kind: k}) {
				*to, some = q, true
			}
		}
		number(cpu, &kept.CpuMillis, r.CpuMillis)
		number(memory, &kept.MemoryBytes, r.MemoryBytes)
		number(ephemeralStorage, &kept.EphemeralStorageBytes, r.EphemeralStorageBytes)
		number(podNumber, &kept.Pods, r.Pods)
		for key, q := range r.GetScalars() {
			if wanted(fact{scalar, key}) {
				put(&kept.Scalars, key, q)
				some = true
			}
		}
		if some {
			out.allocatable = kept
		}
	}
	return out
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
