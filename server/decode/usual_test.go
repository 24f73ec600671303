package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

func TestUsualIsUnmarshal(t *testing.T) {
	c := request().GetContext().GetCluster()
	for _, m := range []proto.Message{c.PodTemplates[0], c.NodeClasses[0]} {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := decode.Usual(raw, m); !ok {
			t.Errorf("%s with every field is unusual", m.ProtoReflect().Descriptor().Name())
		}
	}
	for _, name := range []string{"", "cpu", "memory", "ephemeral-storage", "pods"} {
		wrong := proto.CloneOf(c.NodeClasses[0])
		wrong.Allocatable = &stowagev1.Resources{Scalars: map[string]int64{name: 1}}
		raw, err := proto.Marshal(wrong)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := decode.Usual(raw, wrong); ok {
			t.Errorf("a class with %q among scalars is taken", name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m := proto.Clone(rapid.SampledFrom([]proto.Message{c.PodTemplates[0], c.NodeClasses[0]}).Draw(t, "message"))
		fill(t, m.ProtoReflect(), rapid.IntRange(0, 3).Draw(t, "depth"))
		raw, err := proto.Marshal(m)
		if err != nil {
			return
		}
		if rapid.Bool().Draw(t, "spoil") && len(raw) > 0 {
			raw[rapid.IntRange(0, len(raw)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		got, ok := decode.Usual(raw, m)
		if !ok {
			return
		}
		in := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(raw, in); err != nil {
			t.Fatalf("taken, though malformed: %v", err)
		}
		want, ok := decode.ByMessage(in)
		if !ok {
			t.Fatalf("taken, though wrong")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("decoded differently (-unmarshal +usual):\n%s", diff)
		}
	})
}
