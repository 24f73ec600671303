package content

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// items lists an empty message of each kind of item.
func items() []proto.Message {
	return []proto.Message{
		&stowagev1.Node{}, &stowagev1.PodTemplate{}, &stowagev1.NodeClass{}, &stowagev1.Namespace{},
		&stowagev1.WorkloadSelector{}, &stowagev1.PodDisruptionBudget{}, &stowagev1.PodGroup{},
		&stowagev1.StorageClass{}, &stowagev1.CSIDriver{}, &stowagev1.CSIStorageCapacity{}, &stowagev1.PersistentVolume{},
		&stowagev1.PersistentVolumeClaim{}, &stowagev1.DeviceType{}, &stowagev1.DeviceExpression{}, &stowagev1.DeviceClass{},
		&stowagev1.ResourceSlice{}, &stowagev1.ResourceClaim{},
	}
}

// fill sets fields of a message at random.
func fill(t *rapid.T, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !rapid.Bool().Draw(t, string(f.Name())) {
			continue
		}
		n := rapid.IntRange(1, 3)
		switch {
		case f.IsMap():
			for range n.Draw(t, "entries") {
				m.Mutable(f).Map().Set(scalar(t, f.MapKey()).MapKey(), scalar(t, f.MapValue()))
			}
		case f.IsList():
			list := m.Mutable(f).List()
			for range n.Draw(t, "elements") {
				if f.Message() != nil {
					fill(t, list.AppendMutable().Message())
				} else {
					list.Append(scalar(t, f))
				}
			}
		case f.Message() != nil:
			fill(t, m.Mutable(f).Message())
		default:
			m.Set(f, scalar(t, f))
		}
	}
}

func scalar(t *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "bool"))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32Range(-1, 5).Draw(t, "enum")))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32Range(0, 300).Draw(t, "uint32"))
	case protoreflect.StringKind:
		long := string(bytes.Repeat([]byte("long"), 50))
		return protoreflect.ValueOfString(rapid.SampledFrom([]string{"", "a", "b", "ab", "é", long}).Draw(t, "string"))
	}
	panic(fmt.Sprintf("no value for %v", f.FullName()))
}

// reference encodes a message by its descriptor, as the package comment describes, and normalizes it.
func reference(m protoreflect.Message) []byte {
	var out []byte
	d := m.Descriptor().Fields()
	fields := make([]protoreflect.FieldDescriptor, d.Len())
	for i := range fields {
		fields[i] = d.Get(i)
	}
	slices.SortFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	for _, f := range fields {
		if !m.Has(f) {
			continue
		}
		v := m.Get(f)
		switch {
		case f.FullName() == "stowage.v1.PodSpec.preemption_policy" && v.Enum() == 1:
		case f.FullName() == "stowage.v1.PodDisruptionBudget.disrupted_pods":
			names := make(map[string]bool)
			for i := range v.List().Len() {
				names[v.List().Get(i).String()] = true
			}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				out = appendScalar(out, f, protoreflect.ValueOfString(name))
			}
		case f.IsMap():
			entries := make(map[string]protoreflect.Value)
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				entries[k.String()] = v
				return true
			})
			for _, key := range slices.Sorted(maps.Keys(entries)) {
				entry := appendScalar(nil, f.MapKey(), protoreflect.ValueOfString(key))
				entry = appendScalar(entry, f.MapValue(), entries[key])
				out = protowire.AppendTag(out, f.Number(), protowire.BytesType)
				out = protowire.AppendBytes(out, entry)
			}
		case f.IsList() && f.Message() != nil:
			var list []protoreflect.Message
			for i := range v.List().Len() {
				list = append(list, v.List().Get(i).Message())
			}
			switch f.FullName() {
			case "stowage.v1.Node.pod_counts":
				list = referenceCounts(list)
			case "stowage.v1.Node.pods", "stowage.v1.Node.nominated_pods":
				slices.SortFunc(list, func(a, b protoreflect.Message) int { return bytes.Compare(reference(a), reference(b)) })
			}
			for _, m := range list {
				out = protowire.AppendTag(out, f.Number(), protowire.BytesType)
				out = protowire.AppendBytes(out, reference(m))
			}
		case f.IsList():
			for i := range v.List().Len() {
				out = appendScalar(out, f, v.List().Get(i))
			}
		case f.Message() != nil:
			out = protowire.AppendTag(out, f.Number(), protowire.BytesType)
			out = protowire.AppendBytes(out, reference(v.Message()))
		default:
			out = appendScalar(out, f, v)
		}
	}
	return out
}

func referenceCounts(list []protoreflect.Message) []protoreflect.Message {
	var out []protoreflect.Message
	const states = 7 // scalar draws enums from -1 to 5
	for at := range uint32(301 * 2 * states) {
		index, terminating, readiness := at/(2*states), at/states%2 == 1, stowagev1.PodReadiness(at%states)-1
		if sum := (&stowagev1.PodCount{TemplateIndex: index, Terminating: terminating, Readiness: readiness}); len(list) > 0 {
			found := false
			for _, m := range list {
				c := m.Interface().(*stowagev1.PodCount)
				if c.TemplateIndex == index && c.Terminating == terminating && c.Readiness == readiness {
					sum.Count += c.Count
					found = true
				}
			}
			if found {
				out = append(out, sum.ProtoReflect())
			}
		}
	}
	return out
}

func appendScalar(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value) []byte {
	var varint uint64
	switch f.Kind() {
	case protoreflect.StringKind:
		b = protowire.AppendTag(b, f.Number(), protowire.BytesType)
		return protowire.AppendString(b, v.String())
	case protoreflect.BoolKind:
		varint = protowire.EncodeBool(v.Bool())
	case protoreflect.EnumKind:
		varint = uint64(v.Enum())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		varint = uint64(v.Int())
	case protoreflect.Uint32Kind:
		varint = v.Uint()
	default:
		panic("a list of numbers, or a kind that the contract did not have: " + string(f.FullName()))
	}
	b = protowire.AppendTag(b, f.Number(), protowire.VarintType)
	return protowire.AppendVarint(b, varint)
}

// disorder changes a message without changing its content: it adds an unknown field, splits counts, and shuffles the lists that
// are normalized.
func disorder(t *rapid.T, m proto.Message) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 1000, protowire.VarintType), 5)
	m.ProtoReflect().SetUnknown(unknown)
	switch m := m.(type) {
	case *stowagev1.Node:
		for _, c := range m.PodCounts {
			if part := rapid.Uint32Range(0, c.Count).Draw(t, "part"); part > 0 {
				c.Count -= part
				m.PodCounts = append(m.PodCounts,
					&stowagev1.PodCount{TemplateIndex: c.TemplateIndex, Count: part, Terminating: c.Terminating, Readiness: c.Readiness})
			}
		}
		m.PodCounts = shuffled(t, m.PodCounts)
		m.Pods = shuffled(t, m.Pods)
		m.NominatedPods = shuffled(t, m.NominatedPods)
		if m.Allocatable != nil {
			m.Allocatable.ProtoReflect().SetUnknown(unknown)
		}
	case *stowagev1.PodTemplate:
		if m.Spec != nil && m.Spec.PreemptionPolicy == 0 {
			m.Spec.PreemptionPolicy = stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY
		}
	case *stowagev1.PodDisruptionBudget:
		m.DisruptedPods = shuffled(t, append(m.DisruptedPods, m.DisruptedPods...))
	case *stowagev1.Cluster:
		for _, n := range m.Nodes {
			disorder(t, n)
		}
		m.Namespaces = shuffled(t, m.Namespaces)
		m.WorkloadSelectors = shuffled(t, m.WorkloadSelectors)
		for _, template := range m.PodTemplates {
			disorder(t, template)
		}
		for _, p := range m.PodDisruptionBudgets {
			disorder(t, p)
		}
		m.PodDisruptionBudgets = shuffled(t, m.PodDisruptionBudgets)
		m.PodGroups = shuffled(t, m.PodGroups)
		m.StorageClasses = shuffled(t, m.StorageClasses)
		m.CsiDrivers = shuffled(t, m.CsiDrivers)
		m.CsiStorageCapacities = shuffled(t, m.CsiStorageCapacities)
		m.PersistentVolumes = shuffled(t, m.PersistentVolumes)
		m.PersistentVolumeClaims = shuffled(t, m.PersistentVolumeClaims)
		m.DeviceTypes = shuffled(t, m.DeviceTypes)
		m.DeviceExpressions = shuffled(t, m.DeviceExpressions)
		m.DeviceClasses = shuffled(t, m.DeviceClasses)
		m.ResourceSlices = shuffled(t, m.ResourceSlices)
		m.ResourceClaims = shuffled(t, m.ResourceClaims)
	}
}

func shuffled[T any](t *rapid.T, list []T) []T {
	if len(list) == 0 {
		return list
	}
	return rapid.Permutation(list).Draw(t, "order")
}

func mustAppend(t interface {
	Helper()
	Fatal(...any)
}, m proto.Message) []byte {
	t.Helper()
	raw, err := Append(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func canonical(m proto.Message, raw []byte) ([]byte, error) {
	switch m.(type) {
	case *stowagev1.Node:
		return Canonical[stowagev1.Node](raw)
	case *stowagev1.PodTemplate:
		return Canonical[stowagev1.PodTemplate](raw)
	case *stowagev1.NodeClass:
		return Canonical[stowagev1.NodeClass](raw)
	case *stowagev1.Namespace:
		return Canonical[stowagev1.Namespace](raw)
	case *stowagev1.PodDisruptionBudget:
		return Canonical[stowagev1.PodDisruptionBudget](raw)
	case *stowagev1.PodGroup:
		return Canonical[stowagev1.PodGroup](raw)
	case *stowagev1.StorageClass:
		return Canonical[stowagev1.StorageClass](raw)
	case *stowagev1.CSIDriver:
		return Canonical[stowagev1.CSIDriver](raw)
	case *stowagev1.CSIStorageCapacity:
		return Canonical[stowagev1.CSIStorageCapacity](raw)
	case *stowagev1.PersistentVolume:
		return Canonical[stowagev1.PersistentVolume](raw)
	case *stowagev1.PersistentVolumeClaim:
		return Canonical[stowagev1.PersistentVolumeClaim](raw)
	case *stowagev1.DeviceType:
		return Canonical[stowagev1.DeviceType](raw)
	case *stowagev1.DeviceExpression:
		return Canonical[stowagev1.DeviceExpression](raw)
	case *stowagev1.DeviceClass:
		return Canonical[stowagev1.DeviceClass](raw)
	case *stowagev1.ResourceSlice:
		return Canonical[stowagev1.ResourceSlice](raw)
	case *stowagev1.ResourceClaim:
		return Canonical[stowagev1.ResourceClaim](raw)
	default:
		return Canonical[stowagev1.WorkloadSelector](raw)
	}
}

// The encoding is the one of the package comment, for any order and from messages and encodings.
func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(items()).Draw(t, "item")
		fill(t, m.ProtoReflect())
		want := reference(m.ProtoReflect())
		if got := mustAppend(t, m); !bytes.Equal(got, want) {
			t.Errorf("%v\nis\n%x, want\n%x", m, got, want)
		}
		disorder(t, m)
		before := proto.Clone(m)
		if got := mustAppend(t, m); !bytes.Equal(got, want) {
			t.Errorf("in disorder, %v\nis\n%x, want\n%x", m, got, want)
		}
		if !proto.Equal(before, m) {
			t.Error("the message was changed")
		}
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := canonical(m, raw); err != nil || !bytes.Equal(got, want) {
			t.Errorf("from the wire, %v\nis\n%x, %v, want\n%x", m, got, err, want)
		}
	})
}

// Messages without a oneof are canonical as google.golang.org/protobuf marshals them deterministically.
func TestCanonicalAsMarshalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(items()).Draw(t, "item")
		fill(t, m.ProtoReflect())
		switch m := m.(type) {
		case *stowagev1.Node:
			m.Pods, m.NominatedPods = nil, nil
			m.PodCounts, _ = mergeCounts(m.PodCounts)
		case *stowagev1.PodTemplate:
			if m.GetSpec().GetPreemptionPolicy() == stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY {
				m.Spec.PreemptionPolicy = 0
			}
		case *stowagev1.PodDisruptionBudget:
			slices.Sort(m.DisruptedPods)
			m.DisruptedPods = slices.Compact(m.DisruptedPods)
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustAppend(t, m); !bytes.Equal(got, want) {
			t.Errorf("%v\nis\n%x, want\n%x", m, got, want)
		}
	})
}

// Packed nodes have references to templates in a field that pods do not have.
func TestSharedFieldIsFree(t *testing.T) {
	if f := (&stowagev1.Pod{}).ProtoReflect().Descriptor().Fields().ByNumber(sharedField); f != nil {
		t.Errorf("%s has the number of sharedField: give that one another number", f.FullName())
	}
}

func TestCanonicalRefuses(t *testing.T) {
	node := func(m *stowagev1.Node) []byte {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, raw := range map[string][]byte{
		"truncated": node(&stowagev1.Node{Name: "a"})[:2],
		"no UTF-8":  {10, 1, 0xff},
		"overflow": node(&stowagev1.Node{PodCounts: []*stowagev1.PodCount{
			{TemplateIndex: 1, Count: 1 << 31}, {TemplateIndex: 1, Count: 1 << 31},
		}}),
	} {
		if got, err := Canonical[stowagev1.Node](raw); err == nil {
			t.Errorf("%s: %x is canonical as %x", name, raw, got)
		}
	}
	for name, m := range map[string]proto.Message{
		"no UTF-8":      &stowagev1.Node{Labels: map[string]string{"a": "\xff"}},
		"no UTF-8 pods": &stowagev1.Node{Pods: []*stowagev1.Pod{{Name: "\xff"}, {}}},
		"no item":       &stowagev1.Pod{},
	} {
		if got, err := Append(nil, m); err == nil {
			t.Errorf("%s: %v is encoded as %x", name, m, got)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for i, m := range []proto.Message{
		&stowagev1.Node{
			Name: "a", Labels: map[string]string{"b": "c", "a": ""}, ClassIndex: proto.Uint32(0),
			PodCounts: []*stowagev1.PodCount{{TemplateIndex: 3, Count: 1}, {Count: 2}},
			Pods: []*stowagev1.Pod{
				{Name: "b", Source: &stowagev1.Pod_TemplateIndex{}, StartTime: &timestamppb.Timestamp{Seconds: 1 << 31, Nanos: -1}},
				{Name: "a", StartTime: &timestamppb.Timestamp{}, Preempted: true},
			},
			NominatedPods: []*stowagev1.Pod{{Name: "b"}, {Name: "a"}},
		},
		&stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Priority: -1, PreemptionPolicy: 1}},
		&stowagev1.NodeClass{NameLabelKeys: []string{""}},
		&stowagev1.Namespace{Name: "a", Labels: map[string]string{"b": "c"}},
		&stowagev1.WorkloadSelector{Kind: 1, Name: "a", Selector: &stowagev1.LabelSelector{}},
		&stowagev1.PodDisruptionBudget{Name: "a", DisruptionsAllowed: -1, DisruptedPods: []string{"b", "a", "b"}},
	} {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), raw)
	}
	f.Fuzz(func(t *testing.T, kind uint8, raw []byte) {
		m := items()[int(kind)%len(items())]
		got, err := canonical(m, raw)
		if failed := proto.Unmarshal(raw, m) != nil; err != nil {
			if _, overflow := errors.AsType[*Error](err); !failed && !overflow {
				t.Fatalf("%x is refused: %v", raw, err)
			}
			return
		} else if failed {
			t.Fatalf("%x is malformed, and canonical as %x", raw, got)
		}
		if again, err := canonical(m, got); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%x becomes %x, %v", got, again, err)
		}
		if same := mustAppend(t, m); !bytes.Equal(same, got) {
			t.Errorf("%x from the wire, %x from the message", got, same)
		}
		if want := reference(m.ProtoReflect()); !hasHighCounts(m) && !bytes.Equal(want, got) {
			t.Errorf("is %x, want %x", got, want)
		}
	})
}

// hasHighCounts reports template indexes that referenceCounts does not cover.
func hasHighCounts(m proto.Message) bool {
	n, ok := m.(*stowagev1.Node)
	return ok && slices.ContainsFunc(n.PodCounts, func(c *stowagev1.PodCount) bool { return c.TemplateIndex > 300 })
}
