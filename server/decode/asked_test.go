package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// usuallyAsked is requests whose pods are read straight from the wire.
func usuallyAsked() []*stowagev1.FilterRequest {
	template := request().GetContext().GetCluster().PodTemplates[0]
	return []*stowagev1.FilterRequest{
		{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}}},
		{Pod: &stowagev1.Pod{
			Name: "web-0", Labels: map[string]string{"b": "1", "a": "", "c": "2"}, Terminating: true,
			Source: &stowagev1.Pod_Template{Template: template},
		}, Context: &stowagev1.DecisionContext{Profile: request().GetContext().GetProfile(), IncludeNodeNames: true}},
	}
}

func TestAskedIsUnmarshal(t *testing.T) {
	for _, r := range usuallyAsked() {
		raw, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !sameAsked(t, raw) {
			t.Errorf("the pod is unusual: %v", r)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := proto.CloneOf(rapid.SampledFrom(usuallyAsked()).Draw(t, "request"))
		fill(t, r.Pod.ProtoReflect(), rapid.IntRange(0, 4).Draw(t, "depth"))
		raw, err := proto.Marshal(r)
		if err != nil {
			return
		}
		if rapid.Bool().Draw(t, "spoil") {
			raw[rapid.IntRange(0, len(raw)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		sameAsked(t, raw)
	})
}

// TestAskedNames has pods with as many names as there is room for, and one more.
func TestAskedNames(t *testing.T) {
	for _, n := range []int{decode.MaxDistinctTopologyKeys, decode.MaxDistinctTopologyKeys + 1} {
		template := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{}}}}
		terms := template.Spec.Affinity.PodAffinity
		for i := range n {
			terms.Required = append(terms.Required, &stowagev1.PodAffinityTerm{
				TopologyKey: "example.com/key-" + string(rune('a'+i/26)) + string(rune('a'+i%26)), LabelSelector: selector("db"),
			})
		}
		raw, err := proto.Marshal(&stowagev1.FilterRequest{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}}})
		if err != nil {
			t.Fatal(err)
		}
		if !sameAsked(t, raw) {
			t.Errorf("%d terms are unusual", n)
		}
	}
}

func FuzzAsked(f *testing.F) {
	for _, r := range append(usuallyAsked(), &stowagev1.FilterRequest{}, minimal()) {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), []byte{0x0a, 1, 'a'}))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { sameAsked(t, raw) })
}

// sameAsked compares a request whose pod is read straight from the wire with its message, and tells whether the pod was.
func sameAsked(t rapid.TB, raw []byte) bool {
	t.Helper()
	want := new(stowagev1.FilterRequest)
	wantErr := proto.Unmarshal(raw, want)
	asked, rest := decode.ReadAsked(raw)
	got := new(stowagev1.FilterRequest)
	gotErr := proto.Unmarshal(rest, got)
	if (gotErr != nil) != (wantErr != nil) {
		t.Fatalf("error %v, want %v", gotErr, wantErr)
	}
	if wantErr != nil {
		return false
	}
	wantCall, wantErr := decode.AskedFilter(want, nil)
	gotCall, gotErr := decode.AskedFilter(got, asked)
	if diff := cmp.Diff(wantErr, gotErr); diff != "" {
		t.Fatalf("refused differently (-unmarshal +straight):\n%s", diff)
	}
	if diff := cmp.Diff(wantCall, gotCall); wantErr == nil && diff != "" {
		t.Fatalf("decoded differently (-unmarshal +straight):\n%s", diff)
	}
	if a, b := decode.FilterKey(want, nil), decode.FilterKey(got, asked); a != b {
		t.Fatalf("the key is %q, want %q", b, a)
	}
	if asked == nil {
		return false
	}
	if got.Pod == nil || proto.Size(got.Pod) != 0 {
		t.Fatalf("%v stands for the pod", got.Pod)
	}
	got.Pod = want.Pod
	if !proto.Equal(want, got) {
		t.Fatalf("the rest is %v, want %v", got, want)
	}
	return true
}
