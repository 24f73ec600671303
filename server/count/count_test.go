package count_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/wire"
)

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// terms is a pod with n anti-affinity terms, behind two others in a queue.
func terms(n int) *stowagev1.PlaceRequest {
	pod := func(n int) *stowagev1.PendingPods {
		t := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{}}}}
		for range n {
			a := t.Spec.Affinity.PodAntiAffinity
			a.Required = append(a.Required, &stowagev1.PodAffinityTerm{})
		}
		return &stowagev1.PendingPods{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: t}}}
	}
	return &stowagev1.PlaceRequest{Queue: []*stowagev1.PendingPods{{}, pod(3), pod(n)}}
}

func TestExcess(t *testing.T) {
	place := count.Of(&stowagev1.PlaceRequest{})
	if _, err := place.Count(context.Background(), wire.Pieces{encoded(t, terms(1000))}); err != nil {
		t.Errorf("as many as are allowed: %v", err)
	}
	labels := map[string]string{}
	for i := range 10_001 {
		labels[strings.Repeat("a", i%50)+string(rune('0'+i))] = ""
	}
	filters := make([]stowagev1.Plugin, 65)
	for field, m := range map[string]*stowagev1.PlaceRequest{
		"queue[2].pod.template.spec.affinity.pod_anti_affinity.required: has 1207 entries, at most 1000 are allowed": terms(1207),
		"queue[0].pod.labels: has 10001 entries, at most 10000 are allowed": {
			Queue: []*stowagev1.PendingPods{{Pod: &stowagev1.Pod{Labels: labels}}},
		},
		"context.profile.disabled_filters: has 65 entries, at most 64 are allowed": { // packed
			Context: &stowagev1.DecisionContext{Profile: &stowagev1.Profile{DisabledFilters: filters}},
		},
		"context.cluster.nodes[1].taints: has 1001 entries, at most 1000 are allowed": {
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{
				Nodes: []*stowagev1.Node{{Name: "a"}, {Name: "b", Taints: make([]*stowagev1.Taint, 1001)}},
			}}},
		},
	} {
		raw := encoded(t, m)
		_, err := place.Count(context.Background(), wire.Pieces{raw})
		var excess *count.Excess
		if !errors.As(err, &excess) || err.Error() != field {
			t.Errorf("%v, want %s", err, field)
		}
		size, err := place.CountWhole(context.Background(), wire.Pieces{raw})
		inPieces, errs := place.CountWhole(context.Background(), wire.Pieces{raw[:1], raw[1:]})
		if err != nil || errs != nil || size != inPieces || size.Items <= int64(excess.Limit) {
			t.Errorf("%s: %+v, %v, and in pieces %+v, %v", field, size, err, inPieces, errs)
		}
	}
}

// TestPieces counts requests that are cut anywhere, whole and with their ends cut off.
func TestPieces(t *testing.T) {
	whole := encoded(t, terms(5))
	place := count.Of(&stowagev1.PlaceRequest{})
	want, err := place.Count(context.Background(), wire.Pieces{whole})
	if err != nil || want.Items != 3+2*5+3+5 {
		t.Fatalf("%v, %v", want, err)
	}
	for i := range whole {
		for j := i; j < len(whole); j += 7 {
			got, err := place.Count(context.Background(), wire.Pieces{whole[:i], nil, whole[i:j], whole[j:]})
			if err != nil || got != want {
				t.Fatalf("cut at %d and %d: %v, %v, want %v", i, j, got, err, want)
			}
		}
		if got, err := place.Count(context.Background(), wire.Pieces{whole[:i]}); err != nil || got.Bytes > want.Bytes || got.Items > want.Items {
			t.Fatalf("the first %d bytes: %v, %v", i, got, err)
		}
	}
}

// TestLargest finds the largest element of a cluster, wherever it is cut.
func TestLargest(t *testing.T) {
	small, large := &stowagev1.Node{Name: "a"}, &stowagev1.Node{Name: "b", PodCounts: make([]*stowagev1.PodCount, 500)}
	raw := encoded(t, &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{
			Nodes: []*stowagev1.Node{small, large, small},
		}}},
		Queue: make([]*stowagev1.PendingPods, 1000),
	})
	place := count.Of(&stowagev1.PlaceRequest{})
	for i := range raw[:600] {
		size, err := place.Count(context.Background(), wire.Pieces{raw[:i], raw[i:]})
		if err != nil || size.Largest != 501 || size.Beside < 1000 || size.Beside > 1010 {
			t.Fatalf("cut at %d: %+v, %v", i, size, err)
		}
	}
}

// TestFieldsThatAreNoItems counts fields that protobuf merges into one, which are work to decode all the same, and asks meanwhile.
func TestFieldsThatAreNoItems(t *testing.T) {
	scalars := func(tag protowire.Number) (raw []byte) {
		for range 2 * 100_000 {
			raw = protowire.AppendVarint(protowire.AppendTag(raw, tag, protowire.VarintType), 1)
		}
		return raw
	}
	wrapped := func(raw []byte, tags ...protowire.Number) []byte {
		for _, tag := range tags {
			raw = protowire.AppendBytes(protowire.AppendTag(nil, tag, protowire.BytesType), raw)
		}
		return raw
	}
	place := count.Of(&stowagev1.PlaceRequest{})
	for what, raw := range map[string][]byte{
		"of the request": scalars(4), "unknown": scalars(900),
		"of a node": wrapped(scalars(4), 1, 1, 1),
	} {
		for _, in := range []wire.Pieces{{raw}, {raw[:len(raw)/2], raw[len(raw)/2:]}} {
			size, err := place.Count(context.Background(), in)
			if err != nil || max(size.Beside, size.Largest) < 200_000 {
				t.Errorf("%s: %+v, %v", what, size, err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := place.Count(ended, in); err == nil {
				t.Errorf("%s: it does not ask", what)
			}
		}
	}
}

// TestMalformed counts what is no message, and what a decoder would skip.
func TestMalformed(t *testing.T) {
	place := count.Of(&stowagev1.PlaceRequest{})
	group := protowire.AppendTag(nil, 500, protowire.StartGroupType)
	for what, raw := range map[string][]byte{
		"a length beyond the end":  {0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"an inner one":             {0x12, 2, 0x0a, 0x7f, 0x12, 0},
		"a varint without an end":  bytes.Repeat([]byte{0xff}, 40),
		"a wire type that is none": {0x17, 0x12, 0},
		"groups":                   bytes.Repeat(group, 10_000),
		"a fixed one at the end":   {0x11, 1, 2},
		"a varint cut off":         {0x08, 0x80},
		"one of more than 64 bits": {0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0x12, 0},
		"one beyond its message":   {0x12, 2, 0x08, 0x80, 1, 0x12, 0},
	} {
		size, err := place.Count(context.Background(), wire.Pieces{raw})
		if err != nil || size.Items > 1+int64(len(raw))/2 {
			t.Errorf("%s: %v, %v", what, size, err)
		}
		for i := range raw[:min(len(raw), 50)] {
			if got, err := place.Count(context.Background(), wire.Pieces{raw[:i], raw[i:]}); err != nil || got != size {
				t.Errorf("%s, cut at %d: %v, %v, want %v", what, i, got, err, size)
			}
		}
	}
}

func FuzzCount(f *testing.F) {
	f.Add(encoded(f, terms(3)), uint16(4))
	f.Add(encoded(f, &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: bigcluster.New(3)},
	}}), uint16(100))
	place := count.Of(&stowagev1.PlaceRequest{})
	f.Fuzz(func(t *testing.T, raw []byte, at uint16) {
		cut := min(int(at), len(raw))
		a, errA := place.Count(context.Background(), wire.Pieces{raw})
		b, errB := place.Count(context.Background(), wire.Pieces{raw[:cut], raw[cut:]})
		if a != b || (errA == nil) != (errB == nil) {
			t.Errorf("%v, %v in one piece, %v, %v in two", a, errA, b, errB)
		}
		if a.Items > int64(len(raw)) {
			t.Errorf("%d items in %d bytes", a.Items, len(raw))
		}
	})
}

// TestCountAllocates nothing.
func TestCountAllocates(t *testing.T) {
	raw := encoded(t, terms(500))
	place := count.Of(&stowagev1.PlaceRequest{})
	in := wire.Pieces{raw}
	if n := testing.AllocsPerRun(100, func() { _, _ = place.Count(context.Background(), in) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestOrdinaryRequests: clusters as they are count as their bytes. Otherwise fewer of them would be admitted than fit.
func TestOrdinaryRequests(t *testing.T) {
	for what, c := range map[string]*stowagev1.Cluster{"as it is": bigcluster.New(500), "compact": bigcluster.Compact(bigcluster.New(500))} {
		raw := encoded(t, &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}}})
		size, err := count.Of(&stowagev1.FilterRequest{}).Count(context.Background(), wire.Pieces{raw})
		if ratio := float64(size.Bytes) / float64(len(raw)); err != nil || ratio > 13 {
			t.Errorf("%s: %.1f bytes for each byte, %v", what, ratio, err)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	for what, m := range map[string]proto.Message{
		"cluster": &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: bigcluster.Compact(bigcluster.New(5000))},
		}},
		"pod": &stowagev1.FilterRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: strings.Repeat("a", 64)}}},
			Pod:     &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: bigcluster.Template(1)}},
		},
	} {
		b.Run(what, func(b *testing.B) {
			raw := wire.Pieces{encoded(b, m)}
			table := count.Of(m)
			b.SetBytes(int64(raw.Len()))
			for b.Loop() {
				if _, err := table.Count(context.Background(), raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
