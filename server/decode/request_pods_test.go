package decode_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// soundlyAsked is requests with sound pods.
func soundlyAsked() []*stowagev1.FilterRequest {
	template := request().GetContext().GetCluster().PodTemplates[0]
	return []*stowagev1.FilterRequest{
		{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}}},
		{Pod: &stowagev1.Pod{
			Name: "web-0", Labels: map[string]string{"b": "1", "a": "", "c": "2"}, Terminating: true,
			Source: &stowagev1.Pod_Template{Template: template},
		}, Context: &stowagev1.DecisionContext{Profile: request().GetContext().GetProfile(), IncludeNodeNames: true}},
	}
}

func TestAskedInAnyEncoding(t *testing.T) {
	for _, r := range soundlyAsked() {
		raw, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !sameAsked(t, raw) {
			t.Errorf("the pod is not sound: %v", r)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := proto.CloneOf(rapid.SampledFrom(soundlyAsked()).Draw(t, "request"))
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
	for _, n := range []int{decode.DistinctTopologyKeys, decode.DistinctTopologyKeys + 1} {
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
		if sound := sameAsked(t, raw); sound != (n == decode.DistinctTopologyKeys) {
			t.Errorf("with %d terms the pod is sound: %t", n, sound)
		}
	}
}

func FuzzAsked(f *testing.F) {
	for _, r := range append(soundlyAsked(), &stowagev1.FilterRequest{}, minimal()) {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		// The pod in two parts, and one whose tag takes more bytes than it needs.
		f.Add(protowire.AppendBytes(protowire.AppendTag(slices.Clip(raw), 2, protowire.BytesType), []byte{0x0a, 1, 'a'}))
		f.Add(append(slices.Clip(raw), 0x92, 0, 3, 0x0a, 1, 'a'))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { sameAsked(t, raw) })
}

// sameAsked compares a request with the usual encoding of what protobuf decodes it to, and reports whether its pod is sound.
func sameAsked(t rapid.TB, raw []byte) bool {
	t.Helper()
	want, got := new(stowagev1.FilterRequest), new(stowagev1.FilterRequest)
	malformed := proto.Unmarshal(raw, want)
	asked, err := decode.ReadRequestPods(raw, got)
	var lost *decode.Error
	if malformed != nil && err == nil || malformed == nil && err != nil && !errors.As(err, &lost) {
		t.Fatalf("error %v, that of protobuf is %v", err, malformed)
	}
	if err != nil {
		return false
	}
	again := new(stowagev1.FilterRequest)
	usual, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	askedAgain, err := decode.ReadRequestPods(usual, again)
	if err != nil {
		t.Fatal(err)
	}
	wantCall, wantErr := decode.AskedFilter(again, askedAgain)
	gotCall, gotErr := decode.AskedFilter(got, asked)
	if diff := cmp.Diff(wantErr, gotErr); diff != "" {
		t.Fatalf("refused differently (-usual +raw):\n%s", diff)
	}
	if diff := cmp.Diff(wantCall, gotCall); wantErr == nil && diff != "" {
		t.Fatalf("decoded differently (-usual +raw):\n%s", diff)
	}
	key := decode.FilterKey(got, asked)
	if other := decode.FilterKey(again, askedAgain); other != key {
		t.Fatalf("the key is %q, of the usual encoding %q", key, other)
	}
	if (asked == nil) != (want.Pod == nil) {
		t.Fatalf("the pod is %v, read as %v", want.Pod, asked)
	}
	if want.Pod != nil {
		want.Pod = &stowagev1.Pod{}
	}
	if !proto.Equal(want, got) {
		t.Fatalf("the rest is %v, want %v", got, want)
	}
	return key != "" && gotErr == nil
}
