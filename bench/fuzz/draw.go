package main

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
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

// pools are the values of strings by the field's name.
var pools = map[protoreflect.Name][]string{
	"namespace":            {"", "default", "prod"},
	"namespaces":           {"default", "prod"},
	"node":                 {"n0", "n1"},
	"node_name":            {"n0", "n1", "n2"},
	"cordoned_nodes":       {"n0", "n1"},
	"removed_nodes":        {"n0", "n1"},
	"nominated_node_name":  {"n0", "n1"},
	"topology_key":         {hostname, zone, zone, "disk"},
	"keys":                 {hostname, zone},
	"match_label_keys":     {"version"},
	"mismatch_label_keys":  {"version"},
	"name_label_keys":      {hostname},
	"key":                  {"app", "disk", zone, hostname, "metadata.name"},
	"value":                {"", "a", "web"},
	"values":               {"a", "b", "web", "db", "3", "n1"},
	"image":                {"", "example.com/a:v1", "b"},
	"host_ip":              {"", "127.0.0.1", "0.0.0.0"},
	"pod_group":            {"", "", "group"},
	"scheduling_gates":     {"gate"},
	"kind":                 {"ReplicaSet", "Job"},
	"api_version":          {"apps/v1", "batch/v1"},
	"ignored_resources":    {"example.com/gpu"},
	"disrupted_pods":       {"p0", "p1"},
	"removed_namespaces":   {"default"},
	"address":              {"", "0000000000000000000000000000000000000000000000000000000000000000"},
	"feature_gates.name":   {"MatchLabelKeysInPodTopologySpread"},
	"resource_weight.name": {"cpu", "memory", "example.com/gpu"},
}

const (
	hostname = "kubernetes.io/hostname"
	zone     = "topology.kubernetes.io/zone"
)

// labels are the keys and values of maps from strings to strings.
var labels = map[string][]string{
	"app": {"web", "db"}, "disk": {"ssd", "3"}, "version": {"1", "2"}, zone: {"a", "b"}, hostname: {"n0", "n1"},
}

var (
	labelKeys   = []string{"app", "disk", "version", zone, hostname}
	quantities  = []int64{0, 1, 1, 2, 3, 100, 1000}
	allocatable = []int64{0, 3, 4, 110, 4000, 4000}
	small       = []int64{1, 1, 2, 3}
	extremes    = []uint64{
		0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64,
	}
)

// often are fields that are set nearly always, because without them a message is refused or says little.
var often = map[protoreflect.Name]bool{
	"context": true, "cluster": true, "pod": true, "pods": true, "nodes": true, "queue": true, "spec": true, "name": true, "pod_templates": true,
	"mix": true, "candidates": true, "templates": true, "scenarios": true, "containers": true, "requests": true, "allocatable": true,
	"label_selector": true, "topology_key": true, "max_skew": true, "count": true, "weight": true, "term": true, "preference": true,
	"place": true, "terms": true, "match_expressions": true, "operator": true, "key": true, "replicas": true, "labels": true, "node": true,
	"when_unsatisfiable": true, "port": true, "enabled": true, "cpu_millis": true, "memory_bytes": true, "effect": true, "plugin": true,
	"kind": true, "node_class": true, "template": true, "object": true, "field": true, "node_name": true, "shape": true, "selector": true,
	"pod_counts": true, "node_classes": true, "mode": true, "type": true,
}

// seldom are fields that refuse most requests, or that turn off much of what is to be compared.
var seldom = map[protoreflect.Name]bool{
	"unread": true, "resource_status": true, "profile": true, "delta": true, "preempted": true, "start_time": true, "readiness": true, "gone": true, "volumes": true,
	"disabled_filters": true, "disabled_post_filters": true, "disabled_pod_group_post_filters": true, "feature_gates": true, "scheduling_gates": true, "nominated_node_name": true, "added_affinity": true,
}

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

// spoil changes a field somewhere in a message: to an extreme value, to nothing, to an element twice, to one that the contract does
// not have.
func (d *drawer) spoil(m protoreflect.Message) {
	m = pick(d, slices.Collect(messages(m)))
	fields := m.Descriptor().Fields()
	if d.chance(20) || fields.Len() == 0 {
		m.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 1999, protowire.VarintType), 1))
		return
	}
	f := fields.Get(d.IntN(fields.Len()))
	switch {
	case d.chance(4):
		m.Clear(f)
	case f.IsMap():
		if f.MapValue().Kind() == protoreflect.Int64Kind {
			m.Mutable(f).Map().Set(protoreflect.ValueOfString(pick(d, []string{"", "cpu", "pods", "a b", "x"})).MapKey(),
				protoreflect.ValueOfInt64(int64(pick(d, extremes))))
			return
		}
		m.Mutable(f).Map().Set(protoreflect.ValueOfString(d.odd()).MapKey(), protoreflect.ValueOfString(d.odd()))
	case f.IsList():
		into := m.Mutable(f).List()
		if n := into.Len(); n > 0 && d.chance(2) {
			i, j := d.IntN(n), d.IntN(n)
			a, b := into.Get(i), into.Get(j)
			if f.Message() != nil {
				a, b = copied(a), copied(b)
			}
			if d.chance(2) {
				into.Set(i, b)
			}
			into.Set(j, a)
			return
		}
		if f.Message() != nil {
			d.message(into.AppendMutable().Message(), 3)
		} else {
			into.Append(d.extreme(f))
		}
	case f.Message() != nil:
		d.message(m.Mutable(f).Message(), 3)
	default:
		m.Set(f, d.extreme(f))
	}
}

func copied(v protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfMessage(proto.Clone(v.Message().Interface()).ProtoReflect())
}

func (d *drawer) odd() string {
	return pick(d, []string{"", "a b", "-x", "é", "app", zone, hostname, "\x00", string(make([]byte, 400))})
}

func (d *drawer) extreme(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(d.chance(2))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(pick(d, []protoreflect.EnumNumber{-1, 0, 1, 2, 99, math.MaxInt32}))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(d.odd())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(nil)
	}
	return number(f.Kind(), pick(d, extremes))
}

// messages iterates over a message and those in it, in the order of the descriptor: Range has another one in each binary.
func messages(m protoreflect.Message) iter.Seq[protoreflect.Message] {
	return func(yield func(protoreflect.Message) bool) { each(m, yield) }
}

func each(m protoreflect.Message, yield func(protoreflect.Message) bool) (more bool) {
	if !yield(m) {
		return false
	}
	more = true
	fields := m.Descriptor().Fields()
	for i := 0; more && i < fields.Len(); i++ {
		f := fields.Get(i)
		switch {
		case f.Message() == nil || f.IsMap() || !m.Has(f):
		case f.IsList():
			list := m.Get(f).List()
			for j := 0; more && j < list.Len(); j++ {
				more = each(list.Get(j).Message(), yield)
			}
		default:
			more = each(m.Get(f).Message(), yield)
		}
	}
	return more
}
