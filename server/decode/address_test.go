package decode_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// unchangeable are fields that no cluster may have, and why.
var unchangeable = map[protoreflect.FullName]string{
	"stowage.v1.Pod.nominated_node_name": "pods of nodes must not have it",
}

// sameContent are fields of which some changes are none of the content, and why.
var sameContent = map[protoreflect.FullName]string{
	"stowage.v1.PodDisruptionBudget.disrupted_pods": "names may occur twice",
	"stowage.v1.PodSpec.preemption_policy":          "the API server's default is left out",
}

// TestToyFieldInAddress changes every field of every message that the items of a cluster consist of, as the descriptors list
// them. Each change must be in the address, however it is computed, and in the engine's values. A new field of the contract is
// among them without a line here, and fails the test where code that is not generated forgets it.
func TestToyFieldInAddress(t *testing.T) {
	enough := 3 // messages in which a field is changed
	if testing.Short() {
		enough = 1
	}
	base := toyCluster()
	without, was := withoutNames(t, base), mustWire(t, base)
	like := make(map[protoreflect.FullName]protoreflect.Message)
	for _, m := range instances(base) {
		like[m.Descriptor().FullName()] = m
	}
	changed, decoded := map[protoreflect.FullName]int{}, map[protoreflect.FullName]bool{}
	for i, m := range instances(base) {
		for f := range fieldsOf(m.Descriptor()) {
			for n := range len(changesOf(m, f, like)) {
				if changed[f.FullName()] == enough {
					break
				}
				c := proto.CloneOf(base)
				changesOf(instances(c)[i], f, like)[n]()
				of, err := content.Of(c)
				if err != nil || proto.Equal(base, c) {
					continue
				}
				raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				got, err := decode.Wire(wire.Pieces{raw}, true)
				if err != nil {
					continue // not a valid change
				}
				name := fmt.Sprintf("change %d of %s in message %d", n, f.FullName(), i)
				if _, same := sameContent[f.FullName()]; of.Address() == was.Address && same {
					continue
				}
				if of.Address() == was.Address {
					t.Errorf("%s: the address stays", name)
				}
				changed[f.FullName()]++
				decoded[f.FullName()] = decoded[f.FullName()] || !cmp.Equal(was.Cluster, got.Cluster)
				sameAddress(t, name, c, of, got.Address)
				throughDelta(t, name, without, base, c)
				break
			}
		}
	}
	seen := map[protoreflect.FullName]bool{}
	for list := range fieldsOf(base.ProtoReflect().Descriptor()) {
		eachField(list.Message(), seen, func(f protoreflect.FieldDescriptor) {
			_, excused := unchangeable[f.FullName()]
			if changes := changed[f.FullName()]; changes > 0 == excused {
				t.Errorf("%s: changed %d times, has a reason not to be: %t", f.FullName(), changes, excused)
			} else if !excused && !decoded[f.FullName()] && !testing.Short() {
				t.Errorf("%s: does not reach the engine", f.FullName())
			}
		})
	}
}

// toyCluster is a cluster in which every field can be changed. One node has two equal pod counts: a field by which they differ keeps
// them apart. Nodes do not refer to the last template.
func toyCluster() *stowagev1.Cluster {
	c := request().GetContext().GetCluster()
	c.Nodes = append([]*stowagev1.Node{{Name: "d", PodCounts: []*stowagev1.PodCount{{Count: 1}, {Count: 1}}}}, c.Nodes...)
	c.PodTemplates[0].Spec.Affinity.PodAffinity.Preferred[0].Term.TopologyKey = "rack" // unlike the first term
	c.PodTemplates = append(c.PodTemplates, &stowagev1.PodTemplate{Namespace: "other"}, &stowagev1.PodTemplate{
		Controller: &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "DaemonSet", Name: "agent"},
		Spec: &stowagev1.PodSpec{
			Affinity: &stowagev1.Affinity{NodeAffinity: &stowagev1.NodeAffinity{
				Required: &stowagev1.NodeSelector{Terms: []*stowagev1.NodeSelectorTerm{{
					MatchExpressions: []*stowagev1.NodeSelectorRequirement{{
						Key: "zone", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{"a", "b"},
					}},
				}}},
			}},
			TopologySpreadConstraints: []*stowagev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "zone", LabelSelector: selector("agent"),
				WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
			}},
		},
	})
	return c
}

// sameAddress compares the address of a content with the server's addresses, and the items that it keeps.
func sameAddress(t *testing.T, name string, c *stowagev1.Cluster, of *content.Content, kept content.Address) {
	t.Helper()
	message, err := decode.Message(c)
	if err != nil {
		t.Fatal(name, err)
	}
	canonical := bytes.Join(slices.Collect(of.Parts()), nil)
	alone, err := decode.Wire(wire.Pieces{canonical}, false)
	if err != nil {
		t.Fatal(name, err)
	}
	for way, address := range map[string]content.Address{"kept": kept, "from the message": message.Address, "canonical": alone.Address} {
		if address != of.Address() {
			t.Errorf("%s: %s, the address is %v, that of the content %v", name, way, address, of.Address())
		}
	}
	r := decode.NewRequest(t.Context())
	r.Part("cluster", wire.Pieces{bytes.Clone(canonical)})
	if err := r.Err(); err != nil {
		t.Fatal(name, err)
	}
	if got := bytes.Join(slices.Collect(r.Cluster().Content.Parts()), nil); !bytes.Equal(got, canonical) {
		t.Errorf("%s: what is kept packed is not the content", name)
	}
}

// throughDelta makes one cluster of another by a delta, and compares the address. A node with another name is a new one. without is
// the first cluster without the lists that are in the order of names.
func throughDelta(t *testing.T, name string, without *decode.Snapshot, from, to *stowagev1.Cluster) {
	t.Helper()
	d, want := &stowagev1.ClusterDelta{
		Nodes: to.Nodes, Namespaces: to.Namespaces, WorkloadSelectors: to.WorkloadSelectors,
		PodDisruptionBudgets: to.PodDisruptionBudgets, PodGroups: to.PodGroups,
		StorageClasses: to.StorageClasses, CsiDrivers: to.CsiDrivers, CsiStorageCapacities: to.CsiStorageCapacities,
		PersistentVolumes: to.PersistentVolumes, PersistentVolumeClaims: to.PersistentVolumeClaims,
		DeviceTypes: to.DeviceTypes, DeviceExpressions: to.DeviceExpressions, DeviceClasses: to.DeviceClasses,
		ResourceSlices: to.ResourceSlices, ResourceClaims: to.ResourceClaims,
	}, proto.CloneOf(to)
	for i, template := range to.PodTemplates {
		d.PodTemplates = append(d.PodTemplates, &stowagev1.IndexedPodTemplate{Index: uint32(i), Template: template})
	}
	for i, class := range to.NodeClasses {
		d.NodeClasses = append(d.NodeClasses, &stowagev1.IndexedNodeClass{Index: uint32(i), NodeClass: class})
	}
	for i, n := range from.Nodes {
		if n.Name != to.Nodes[i].Name {
			d.RemovedNodes = append(d.RemovedNodes, n.Name)
			renamed := want.Nodes[i]
			want.Nodes = append(slices.Delete(want.Nodes, i, i+1), renamed)
		}
	}
	got, err := follow(t, without, d)
	if err != nil {
		t.Fatal(name, err)
	}
	of, err := content.Of(want)
	if err != nil {
		t.Fatal(name, err)
	}
	if got.Address != of.Address().String() {
		t.Errorf("%s: by a delta the address is %s, that of the content %v", name, got.Address, of.Address())
	}
}

// withoutNames is a cluster without the lists that are in the order of names.
func withoutNames(t *testing.T, c *stowagev1.Cluster) *decode.Snapshot {
	t.Helper()
	return mustWhole(t, &stowagev1.Cluster{Nodes: c.Nodes, PodTemplates: c.PodTemplates, NodeClasses: c.NodeClasses})
}

func mustWire(t *testing.T, c *stowagev1.Cluster) *decode.Decoded {
	t.Helper()
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode.Wire(wire.Pieces{raw}, true)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func fieldsOf(m protoreflect.MessageDescriptor) func(func(protoreflect.FieldDescriptor) bool) {
	return func(yield func(protoreflect.FieldDescriptor) bool) {
		for i := range m.Fields().Len() {
			if !yield(m.Fields().Get(i)) {
				return
			}
		}
	}
}

// eachField visits the fields of a message and of the messages in it.
func eachField(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool, visit func(protoreflect.FieldDescriptor)) {
	if seen[m.FullName()] {
		return
	}
	seen[m.FullName()] = true
	for f := range fieldsOf(m) {
		if visit(f); f.Message() != nil && !f.IsMap() {
			eachField(f.Message(), seen, visit)
		}
	}
}

// instances are the messages in a cluster, without the cluster itself, in the same order for equal clusters.
func instances(c *stowagev1.Cluster) (out []protoreflect.Message) {
	var walk func(protoreflect.Message)
	walk = func(m protoreflect.Message) {
		for f := range fieldsOf(m.Descriptor()) {
			switch {
			case !m.Has(f) || f.Message() == nil || f.IsMap():
			case f.IsList():
				for i := range m.Get(f).List().Len() {
					out = append(out, m.Get(f).List().Get(i).Message())
					walk(out[len(out)-1])
				}
			default:
				out = append(out, m.Get(f).Message())
				walk(out[len(out)-1])
			}
		}
	}
	walk(c.ProtoReflect())
	return out
}

// changesOf are ways to change a field of a message. Some are not valid. like has a message of each kind.
func changesOf(m protoreflect.Message, f protoreflect.FieldDescriptor, like map[protoreflect.FullName]protoreflect.Message) (out []func()) {
	if m.Has(f) {
		out = append(out, func() { m.Clear(f) })
	}
	switch {
	case f.IsMap():
		out = append(out, func() {
			entries := m.Mutable(f).Map()
			entries.Set(protoreflect.ValueOfString("toy").MapKey(), samples(f.MapValue(), entries.NewValue())[0])
		})
	case f.IsList() && f.Message() != nil:
		out = append(out, func() { m.Mutable(f).List().AppendMutable() })
		if other := like[f.Message().FullName()]; other != nil {
			out = append(out, func() { m.Mutable(f).List().Append(copyOf(other)) })
		}
	case f.IsList():
		for _, v := range samples(f, protoreflect.Value{}) {
			out = append(out, func() { m.Mutable(f).List().Append(v) })
		}
	case f.Message() != nil:
		out = append(out, func() { m.Set(f, m.NewField(f)) })
		if other := like[f.Message().FullName()]; other != nil {
			out = append(out, func() { m.Set(f, copyOf(other)) })
		}
	default:
		for _, v := range samples(f, m.Get(f)) {
			out = append(out, func() { m.Set(f, v) })
		}
	}
	return out
}

func copyOf(m protoreflect.Message) protoreflect.Value {
	return protoreflect.ValueOfMessage(proto.Clone(m.Interface()).ProtoReflect())
}

// samples are values of a field other than the one it has.
func samples(f protoreflect.FieldDescriptor, v protoreflect.Value) (out []protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return []protoreflect.Value{protoreflect.ValueOfBool(!v.Bool())}
	case protoreflect.EnumKind:
		for i := f.Enum().Values().Len() - 1; i >= 0; i-- {
			if n := f.Enum().Values().Get(i).Number(); n != v.Enum() {
				out = append(out, protoreflect.ValueOfEnum(n))
			}
		}
		return out
	case protoreflect.StringKind:
		return []protoreflect.Value{protoreflect.ValueOfString(text(v) + "x"), protoreflect.ValueOfString("Exists")}
	case protoreflect.Int32Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt32(int32(v.Int()) + 1), protoreflect.ValueOfInt32(int32(v.Int()) - 1)}
	case protoreflect.Int64Kind:
		return []protoreflect.Value{protoreflect.ValueOfInt64(number(v) + 1)}
	case protoreflect.Uint32Kind:
		return []protoreflect.Value{protoreflect.ValueOfUint32(uint32(v.Uint()) + 1), protoreflect.ValueOfUint32(uint32(v.Uint()) - 1)}
	}
	panic("no sample of " + string(f.FullName()))
}

func text(v protoreflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

func number(v protoreflect.Value) int64 {
	if !v.IsValid() {
		return 0
	}
	return v.Int()
}
