package compact_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// fill sets every field of a message and of the messages in it, down to a depth. Lists and maps get an element.
func fill(m protoreflect.Message, depth int) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), sample(f.MapValue(), m.NewField(f).Map().NewValue(), depth))
		case f.IsList():
			list := m.Mutable(f).List()
			list.Append(sample(f, list.NewElement(), depth))
		default:
			m.Set(f, sample(f, m.NewField(f), depth))
		}
	}
}

// sample is a value of a field that is not its default, except for indexes, which are 0, and messages that are too deep.
func sample(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.MessageKind:
		if depth > 0 {
			fill(v.Message(), depth-1)
		}
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("text")
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1)
	}
	return v
}

// TestEveryFieldStays: a copy, and what is made of a node and its class, have every field.
func TestEveryFieldStays(t *testing.T) {
	for _, m := range []proto.Message{&stowagev1.Node{}, &stowagev1.Pod{}} {
		fill(m.ProtoReflect(), 3)
		if got := compact.Shallow(m); !proto.Equal(got, m) {
			t.Errorf("the copy of %v is %v", m, got)
		}
	}
	class := &stowagev1.NodeClass{}
	fill(class.ProtoReflect(), 3)
	whole, err := compact.WholeNode(&stowagev1.Cluster{NodeClasses: []*stowagev1.NodeClass{class}}, &stowagev1.Node{Name: "a", ClassIndex: new(uint32(0))})
	if err != nil {
		t.Fatal(err)
	}
	for i := range class.ProtoReflect().Descriptor().Fields().Len() {
		f := class.ProtoReflect().Descriptor().Fields().Get(i)
		if f.Name() == "name_label_keys" {
			continue // become labels
		}
		own := whole.ProtoReflect().Descriptor().Fields().ByName(f.Name())
		if own == nil || !whole.ProtoReflect().Get(own).Equal(class.ProtoReflect().Get(f)) && f.Name() != "labels" {
			t.Errorf("WholeNode leaves out %s of the class", f.Name())
		}
	}
}

// TestClustersStayWhole encodes a cluster whose node has every field, and a pod that has every field.
func TestClustersStayWhole(t *testing.T) {
	node, pod := &stowagev1.Node{}, &stowagev1.Pod{}
	fill(node.ProtoReflect(), 3)
	fill(pod.ProtoReflect(), 0)
	node.ClassIndex, pod.Source = nil, &stowagev1.Pod_TemplateIndex{}
	node.Pods, node.NominatedPods = []*stowagev1.Pod{pod}, nil
	in := &stowagev1.Cluster{Nodes: []*stowagev1.Node{node}, PodTemplates: []*stowagev1.PodTemplate{{Namespace: "a"}}}
	want := proto.Clone(node).(*stowagev1.Node)
	out, err := compact.Cluster(in, compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := compact.WholeNode(out, out.Nodes[0]); err != nil || !proto.Equal(got, want) {
		t.Errorf("%v: the node is %v, want %v", err, got, want)
	}
}

// TestEveryListStays: the lists of a cluster other than nodes and their classes stay.
func TestEveryListStays(t *testing.T) {
	in := &stowagev1.Cluster{}
	fill(in.ProtoReflect(), 0)
	out, err := compact.Cluster(in, compact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range in.ProtoReflect().Descriptor().Fields().Len() {
		f := in.ProtoReflect().Descriptor().Fields().Get(i)
		if f.Name() != "node_classes" && !in.ProtoReflect().Get(f).Equal(out.ProtoReflect().Get(f)) {
			t.Errorf("%s: %v became %v", f.Name(), in.ProtoReflect().Get(f), out.ProtoReflect().Get(f))
		}
	}
}
