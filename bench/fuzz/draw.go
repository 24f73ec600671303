package main

import (
	"math/rand/v2"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// drawer draws messages field by field from the contract's descriptors, so that a field that the contract gains is drawn too.
// Values come from small pools, so that objects refer to each other.
type drawer struct {
	*rand.Rand
	nodes, names int // how many were named
}

// chance returns true once in n times.
func (d *drawer) chance(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d *drawer, from []T) T { return from[d.IntN(len(from))] }

// message draws the fields of a message. depth bounds how deep messages are within each other.
func (d *drawer) message(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	var chosen protoreflect.FieldDescriptor // of the oneof
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if chosen == nil || chosen.ContainingOneof() != o {
				chosen = o.Fields().Get(d.IntN(o.Fields().Len()))
			}
			if f != chosen {
				continue
			}
		} else if !d.sets(f, depth) {
			continue
		}
		d.field(m, f, depth)
	}
}

func (d *drawer) sets(f protoreflect.FieldDescriptor, depth int) bool {
	switch {
	case f.Message() != nil && depth == 0:
		return false
	case f.Name() == "namespace_selector" || f.Name() == "name" && f.Parent().Name() == "Pod":
		return !d.chance(3)
	case often[f.Name()]:
		return !d.chance(300)
	case seldom[f.Name()]:
		return d.chance(25)
	}
	return d.chance(4)
}

func (d *drawer) field(m protoreflect.Message, f protoreflect.FieldDescriptor, depth int) {
	switch {
	case f.IsMap():
		into := m.Mutable(f).Map()
		for range 1 + d.IntN(3) {
			key := pick(d, labelKeys)
			if f.MapValue().Kind() == protoreflect.Int64Kind {
				into.Set(protoreflect.ValueOfString("example.com/gpu").MapKey(), protoreflect.ValueOfInt64(pick(d, small)))
				continue
			}
			into.Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(pick(d, labels[key])))
		}
	case f.IsList():
		into := m.Mutable(f).List()
		for range d.length(f) {
			if f.Message() != nil {
				d.message(into.AppendMutable().Message(), depth-1)
			} else {
				into.Append(d.scalar(m, f))
			}
		}
	case f.Message() != nil:
		d.message(m.Mutable(f).Message(), depth-1)
	default:
		m.Set(f, d.scalar(m, f))
	}
}

func (d *drawer) length(f protoreflect.FieldDescriptor) int {
	switch f.Name() {
	case "node_classes", "pod_templates":
		return 2
	case "nodes":
		if f.Message().Name() == "Node" && !d.chance(20) {
			return 2 + d.IntN(4)
		}
	case "queue":
		return 1 + d.IntN(3)
	}
	return 1 + d.IntN(1+d.IntN(3))
}

func (d *drawer) scalar(m protoreflect.Message, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(d.chance(2))
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		n := d.IntN(values.Len())
		if n == 0 && often[f.Name()] {
			n = values.Len() - 1
		}
		return protoreflect.ValueOfEnum(values.Get(n).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(d.text(m, f))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(d.text(m, f)))
	}
	return number(f.Kind(), uint64(d.number(m, f)))
}

func number(kind protoreflect.Kind, n uint64) protoreflect.Value {
	switch kind {
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(n)
	default:
		return protoreflect.ValueOfInt64(int64(n))
	}
}

func (d *drawer) number(m protoreflect.Message, f protoreflect.FieldDescriptor) int64 {
	switch f.Name() {
	case "template_index", "class_index", "index", "indexes":
		return int64(d.IntN(2))
	case "cpu_millis", "memory_bytes", "ephemeral_storage_bytes", "pods":
		if parent := m.Descriptor().Name(); parent == "Resources" {
			return pick(d, quantities)
		}
	case "priority":
		return int64(d.IntN(3))
	case "tie_break_seed":
		return int64(d.IntN(3))
	}
	return pick(d, small)
}

func (d *drawer) text(m protoreflect.Message, f protoreflect.FieldDescriptor) string {
	parent := m.Descriptor().Name()
	switch f.Name() {
	case "name":
		switch parent {
		case "Node":
			d.nodes++
			return "n" + strconv.Itoa(d.nodes-1)
		case "Pod", "WorkloadSelector", "PodDisruptionBudget", "Scenario":
			d.names++
			return "p" + strconv.Itoa(d.names-1)
		case "PodGroup":
			return "group"
		case "Profile":
			return [...]string{"", "kube-1.37"}[d.IntN(2)]
		case "FeatureGate":
			return pools["feature_gates.name"][0]
		case "ResourceWeight":
			return pick(d, pools["resource_weight.name"])
		}
		return "p" + strconv.Itoa(d.IntN(4))
	case "names":
		if parent == "CandidateNodes" {
			return "n" + strconv.Itoa(d.IntN(2))
		}
		return pick(d, pools["image"][1:])
	}
	if pool := pools[f.Name()]; pool != nil {
		return pick(d, pool)
	}
	return "x"
}

// cluster draws a cluster.
func (d *drawer) cluster() *stowagev1.Cluster {
	c := new(stowagev1.Cluster)
	d.nodes, d.names = 0, 0
	d.message(c.ProtoReflect(), 9)
	for _, n := range c.Nodes {
		d.room(n)
	}
	if d.chance(1000) {
		d.enlarge(c)
	}
	return c
}

// room lets most nodes have room for pods: drawn values alone would leave nearly every pod without a node.
func (d *drawer) room(n *stowagev1.Node) {
	if n.Allocatable == nil || d.chance(5) {
		return
	}
	n.Allocatable.CpuMillis, n.Allocatable.MemoryBytes = proto.Int64(pick(d, allocatable)), proto.Int64(pick(d, allocatable))
	n.Allocatable.Pods = proto.Int64(pick(d, []int64{1, 3, 110, 110}))
	if d.chance(4) {
		return
	}
	n.Taints, n.Unschedulable = nil, false
}

// enlarge repeats the nodes until the server decodes the cluster on several cores.
func (d *drawer) enlarge(c *stowagev1.Cluster) {
	if len(c.Nodes) == 0 {
		return
	}
	for size := proto.Size(c); size < 80<<10; {
		n := proto.CloneOf(pick(d, c.Nodes))
		d.nodes++
		n.Name = "n" + strconv.Itoa(d.nodes)
		for _, p := range append(n.Pods, n.NominatedPods...) {
			d.names++
			p.Name = "p" + strconv.Itoa(d.names)
		}
		n.Labels = map[string]string{hostname: n.Name, zone: pick(d, labels[zone])}
		c.Nodes = append(c.Nodes, n)
		size += proto.Size(n)
	}
}

// request draws a request to a method, which has the cluster in it.
func (d *drawer) request(m *method) proto.Message {
	r := m.request.ProtoReflect().New()
	c := d.cluster()
	d.message(r, 9)
	of := r
	if m.within != nil {
		of = r.Mutable(m.within).Message()
	}
	mend(r.Interface())
	mend(c)
	context := of.Mutable(of.Descriptor().Fields().ByName("context")).Message()
	context.Set(context.Descriptor().Fields().ByName("cluster"), protoreflect.ValueOfMessage(c.ProtoReflect()))
	return r.Interface()
}
