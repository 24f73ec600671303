package convert

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestEveryFieldOfAPodOnANodeIsDecidedOn: a field of a pod's spec either stays in templates of pods on nodes, as rules of other pods read
// it, or does not. OccupyingPod must do the same with the field of the object.
func TestEveryFieldOfAPodOnANodeIsDecidedOn(t *testing.T) {
	leftOut := map[protoreflect.Name]bool{
		"node_selector": true, "tolerations": true, "topology_spread_constraints": true, "node_name": true,
		"scheduling_gates": true, "scheduler_name": true, "required_node_features": true,
	}
	spec := &stowagev1.PodSpec{}
	of := spec.ProtoReflect()
	fields := of.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.IsMap():
			of.Mutable(f).Map().Set(protoreflect.ValueOfString("x").MapKey(), protoreflect.ValueOfString("x"))
		case f.IsList():
			list := of.Mutable(f).List()
			list.Append(list.NewElement())
		case f.Message() != nil:
			of.Mutable(f)
		case f.Kind() == protoreflect.StringKind:
			of.Set(f, protoreflect.ValueOfString("x"))
		case f.Kind() == protoreflect.EnumKind:
			of.Set(f, protoreflect.ValueOfEnum(1))
		case f.Kind() == protoreflect.Int32Kind:
			of.Set(f, protoreflect.ValueOfInt32(1))
		case f.Kind() == protoreflect.BoolKind:
			of.Set(f, protoreflect.ValueOfBool(true))
		default:
			t.Fatalf("the test has no value for %s", f.Name())
		}
	}
	spec.Affinity.PodAffinity = &stowagev1.PodAffinity{}
	got := OccupyingTemplate(&stowagev1.PodTemplate{Spec: spec}).GetSpec().ProtoReflect()
	for i := range fields.Len() {
		if f := fields.Get(i); got.Has(f) == leftOut[f.Name()] {
			t.Errorf("%s: on nodes it stays %t, and is left out %t", f.Name(), got.Has(f), leftOut[f.Name()])
		}
	}
}
