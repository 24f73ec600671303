package decode_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// follow changes a cluster.
func follow(t *testing.T, base *decode.Snapshot, d *stowagev1.ClusterDelta) (*decode.Snapshot, error) {
	t.Helper()
	r := decode.On(t.Context(), base)
	r.Delta("delta", d)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.Cluster(), nil
}

func mustWhole(t *testing.T, c *stowagev1.Cluster) *decode.Snapshot {
	t.Helper()
	got, err := decodeWhole(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// asking is a pod that names resources and topology keys.
func asking(resources, topologyKeys []string) *stowagev1.Pod {
	spec := &stowagev1.PodSpec{
		Requests: &stowagev1.Resources{Scalars: map[string]int64{}},
		Affinity: &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{}},
	}
	for _, name := range resources {
		spec.Requests.Scalars[name] = 1
	}
	for _, key := range topologyKeys {
		spec.Affinity.PodAffinity.Required = append(spec.Affinity.PodAffinity.Required, &stowagev1.PodAffinityTerm{TopologyKey: key})
	}
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: spec}}}
}

func numbered(prefix string, from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}

// What a request may name depends on what the cluster has, not on what it had.
func TestLimitsDependOnContentAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of deltas")
	}
	stated := func(i int) *stowagev1.Cluster {
		own := asking(nil, []string{fmt.Sprint("k", i)})
		own.Name = "own"
		return &stowagev1.Cluster{
			Nodes: []*stowagev1.Node{{
				Name: "a", Allocatable: &stowagev1.Resources{Pods: proto.Int64(10), Scalars: map[string]int64{fmt.Sprint("r", i): 1}},
				Pods: []*stowagev1.Pod{own},
			}},
		}
	}
	c := mustWhole(t, stated(0))
	const most, resources = decode.DistinctTopologyKeys, decode.MaxDistinctResources
	for i := 1; i < 3*most; i++ {
		next := stated(i)
		var err error
		if c, err = follow(t, c, &stowagev1.ClusterDelta{Nodes: next.Nodes}); err != nil {
			t.Fatalf("delta %d: %v", i, err)
		}
		if i%most > 2 && i%most < most-2 {
			continue
		}
		whole := mustWhole(t, next)
		if c.Address != whole.Address {
			t.Fatal("another address")
		}
		has, hasKey := fmt.Sprint("r", i), fmt.Sprint("k", i)
		was, wasKey := fmt.Sprint("r", i-1), fmt.Sprint("k", i-1)
		pods := map[string]*stowagev1.Pod{
			"nothing":   asking(nil, nil),
			"one more":  asking([]string{"mine"}, []string{"mine"}),
			"one again": asking([]string{has, was}, []string{hasKey, wasKey}),
			"most keys": asking([]string{has, was}, append(numbered("m", 0, most-2), wasKey)),
			"many keys": asking(nil, append(numbered("m", 0, most-1), wasKey)),
		}
		if i == 3*most-1 {
			pods["most resources"] = asking(append(numbered("m", 0, resources-2), was), nil)
			pods["many resources"] = asking(append(numbered("m", 0, resources-1), was), nil)
		}
		for name, pod := range pods {
			ask := func(c *decode.Snapshot) error {
				r := decode.On(t.Context(), c)
				r.Filter(&stowagev1.FilterRequest{Pod: pod})
				return r.Err()
			}
			for range 2 {
				if got, want := ask(c), ask(whole); (got == nil) != (want == nil) {
					t.Errorf("delta %d, %s: %v, whole %v", i, name, got, want)
				}
			}
			// The same as a difference for one request.
			r := decode.On(t.Context(), c)
			r.Delta("delta", &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{{Name: "b"}}})
			r.Filter(&stowagev1.FilterRequest{Pod: pod})
			if got, want := r.Err(), ask(whole); (got == nil) != (want == nil) {
				t.Errorf("delta %d, %s on a delta: %v, whole %v", i, name, got, want)
			}
		}
	}
}

// A delta is refused where the whole that it leads to is.
func TestDeltasLeadToNoMoreNamesThanAllowed(t *testing.T) {
	const most, resources = decode.DistinctTopologyKeys, decode.MaxDistinctResources
	node := func(name string, resources ...string) *stowagev1.Node {
		n := &stowagev1.Node{Name: name, Allocatable: &stowagev1.Resources{Scalars: map[string]int64{}}}
		for _, r := range resources {
			n.Allocatable.Scalars[r] = 1
		}
		return n
	}
	base := mustWhole(t, &stowagev1.Cluster{Nodes: []*stowagev1.Node{node("a", numbered("r", 0, resources)...)}})
	if _, err := follow(t, base, &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{node("b", "more")}}); err == nil {
		t.Error("one resource too many was accepted")
	}
	if _, err := follow(t, base, &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{node("a", "r1"), node("b", "more")}}); err != nil {
		t.Error(err)
	}
	if _, err := follow(t, base, &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{node("b", "r5")}}); err != nil {
		t.Error(err)
	}
	keys := func(from, to int) *stowagev1.PodTemplate { return asking(nil, numbered("k", from, to)).GetTemplate() }
	base = mustWhole(t, &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{keys(0, most)}})
	if _, err := follow(t, base, &stowagev1.ClusterDelta{PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: 1, Template: keys(most, most+1)}}}); err == nil {
		t.Error("one topology key too many was accepted")
	}
	if _, err := follow(t, base, &stowagev1.ClusterDelta{PodTemplates: []*stowagev1.IndexedPodTemplate{{Template: keys(1, most+1)}}}); err != nil {
		t.Error(err)
	}
}

// A larger cluster has room for fewer topology keys, whatever comes first, and in which parts.
func TestTopologyKeysAreBoundedByNodes(t *testing.T) {
	defer decode.LimitTopologyCells(100)()
	keys := []*stowagev1.PodTemplate{asking(nil, numbered("k", 0, 20)).GetTemplate()}
	nodes := func(from, to int) []*stowagev1.Node {
		var out []*stowagev1.Node
		for _, name := range numbered("n", from, to) {
			out = append(out, &stowagev1.Node{Name: name})
		}
		return out
	}
	six := nodes(0, 6)
	c := mustWhole(t, &stowagev1.Cluster{PodTemplates: keys, Nodes: six[:5]})
	if _, err := follow(t, c, &stowagev1.ClusterDelta{Nodes: nodes(5, 6)}); err == nil {
		t.Error("a node too many was accepted in a delta")
	}
	for n, want := range map[int]bool{20: true, 21: false} {
		r := decode.On(t.Context(), c)
		r.Filter(&stowagev1.FilterRequest{Pod: asking(nil, numbered("k", 0, n))})
		if got := r.Err() == nil; got != want {
			t.Errorf("with %d keys: %v", n, r.Err())
		}
	}
	for _, parts := range [][]*stowagev1.Cluster{
		{{PodTemplates: keys, Nodes: six}}, {{PodTemplates: keys}, {Nodes: six}}, {{Nodes: six}, {PodTemplates: keys}},
	} {
		r := decode.NewRequest(t.Context())
		for _, p := range parts {
			r.Part("part", wire.Pieces{marshal(t, p)})
		}
		if r.Err() == nil {
			t.Error("20 keys and 6 nodes were accepted in parts")
		}
	}
}

// What nodes inherit from their classes is bounded with and without deltas.
func TestInheritedIsBoundedByDelta(t *testing.T) {
	class := &stowagev1.NodeClass{NameLabelKeys: numbered("k", 0, 10_000)}
	const fit = decode.MaxInherited / 10_000
	nodes := func(from, to int) []*stowagev1.Node {
		var out []*stowagev1.Node
		for i := from; i < to; i++ {
			out = append(out, &stowagev1.Node{Name: fmt.Sprint("n", i), ClassIndex: proto.Uint32(0)})
		}
		return out
	}
	c := mustWhole(t, &stowagev1.Cluster{NodeClasses: []*stowagev1.NodeClass{class}, Nodes: nodes(0, fit-10)})
	if _, err := follow(t, c, &stowagev1.ClusterDelta{Nodes: nodes(fit-10, fit+1)}); err == nil {
		t.Error("a node too many was accepted")
	}
	full, err := follow(t, c, &stowagev1.ClusterDelta{Nodes: nodes(fit-10, fit)})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*stowagev1.ClusterDelta{
		"the same again":    {Nodes: nodes(0, 20)},
		"one for another":   {RemovedNodes: []string{"n3"}, Nodes: nodes(fit, fit+1)},
		"one without class": {Nodes: append(nodes(fit, fit+1), &stowagev1.Node{Name: "n7"})},
		"an unused class":   {NodeClasses: []*stowagev1.IndexedNodeClass{{Index: 1, NodeClass: class}}},
	} {
		next, err := follow(t, full, d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := follow(t, next, &stowagev1.ClusterDelta{Nodes: nodes(fit+1, fit+2)}); err == nil {
			t.Errorf("%s: a node too many was accepted after it", name)
		}
	}
	if _, err := follow(t, full, &stowagev1.ClusterDelta{Nodes: nodes(fit, fit+1)}); err == nil {
		t.Error("a node too many was accepted")
	}
}

// Whoever asks does not wait for names to be counted when it is gone.
func TestCountingNamesEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := mustWhole(t, &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}}})
	for i := range decode.DistinctTopologyKeys {
		own := asking(nil, []string{fmt.Sprint("k", i)})
		own.Name = "own"
		var err error
		if c, err = follow(t, c, &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{{Name: "a", Pods: []*stowagev1.Pod{own}}}}); err != nil {
			t.Fatal(err)
		}
	}
	r := decode.On(ctx, c)
	cancel()
	r.Filter(&stowagev1.FilterRequest{Pod: asking(nil, []string{"mine"})})
	if err := r.Err(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What a chain of deltas leaves behind is bounded, and answers do not show the difference.
func TestChainsAreCompacted(t *testing.T) {
	stated := func(i int) *stowagev1.Cluster {
		name := fmt.Sprintf("node-%d", i)
		return &stowagev1.Cluster{Nodes: []*stowagev1.Node{{
			Name: name, Labels: map[string]string{"kubernetes.io/hostname": name},
			Allocatable: &stowagev1.Resources{Pods: proto.Int64(10)},
			Taints:      []*stowagev1.Taint{{Key: "k", Value: fmt.Sprint(i), Effect: stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE}},
		}}}
	}
	pod := asking(nil, []string{"kubernetes.io/hostname"})
	c := mustWhole(t, stated(0))
	anew := 0
	for i := 1; i <= 2000; i++ {
		next, err := follow(t, c, &stowagev1.ClusterDelta{RemovedNodes: []string{fmt.Sprintf("node-%d", i-1)}, Nodes: stated(i).Nodes})
		if err != nil {
			t.Fatal(err)
		}
		if c, err = next.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.Interned() > 1100 {
			t.Fatalf("after %d deltas, %d are interned", i, c.Interned())
		}
		if c == next {
			continue
		}
		anew++
		whole := mustWhole(t, stated(i))
		if c.Address != whole.Address || c.Content.Address() != whole.Content.Address() || c.Memory() > whole.Memory()+1024 {
			t.Errorf("%s of %d bytes, whole %s of %d", c.Address, c.Memory(), whole.Address, whole.Memory())
		}
		for _, of := range []*decode.Snapshot{whole, next} {
			if diff := cmp.Diff(answers(t.Context(), of, pod), answers(t.Context(), c, pod)); diff != "" {
				t.Error(diff)
			}
		}
	}
	if anew == 0 || anew > 10 {
		t.Errorf("compiled anew %d times", anew)
	}
}
