package decode_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// inFull is a cluster whose pods all state their templates, and what was kept of it when it came in two parts.
func inFull(t *testing.T, nodes int) (*stowagev1.Cluster, *decode.Snapshot) {
	t.Helper()
	c := bigcluster.StatedInFull(bigcluster.New(nodes))
	c.Nodes[0].Pods[3].Labels = map[string]string{"own": "label", "a": "b"}
	c.Nodes[0].Pods[4].Terminating = true
	c.Nodes[1].Pods[5].Name = ""
	for i, node := range c.Nodes[1:] {
		node.NominatedPods = c.Nodes[i].Pods[:3]
	}
	r := decode.NewRequest(context.Background())
	half := len(c.Nodes) / 2
	for _, part := range []*stowagev1.Cluster{
		{Namespaces: c.Namespaces, Nodes: c.Nodes[:half]}, {Nodes: c.Nodes[half:]},
	} {
		raw, err := proto.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		pieces := cut(raw, rand.New(rand.NewPCG(1, 2)))
		r.Part("context.cluster", pieces)
		for _, p := range pieces { // nothing lies in the frames any more
			clear(p)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return c, r.Cluster()
}

func TestTemplatesOfPodsAreKeptOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2)) // each goroutine that reads keeps its own
	stated, kept := inFull(t, 400)
	want, err := content.Of(stated)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Address != want.Address().String() {
		t.Errorf("address %s, want %s", kept.Address, want.Address())
	}
	for i, node := range want.Nodes().All {
		if got := kept.Content.Nodes().At(i); !bytes.Equal(got, node) {
			t.Fatalf("node %d is kept as %x, want %x", i, got, node)
		}
	}
	if got, all := kept.Content.Bytes(), want.Bytes(); got > all/3 {
		t.Errorf("%d bytes are kept of %d", got, all)
	}
	got, err := kept.Content.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := want.Cluster()
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, whole) {
		t.Error("another cluster is kept")
	}
}

func TestDeltasOfNodesWithSharedTemplates(t *testing.T) {
	stated, kept := inFull(t, 60)
	last, gone := stated.Nodes[59], stated.Nodes[0].Pods[2]
	d := &stowagev1.ClusterDelta{
		RemovedNodes: []string{stated.Nodes[7].Name},
		NodePods: []*stowagev1.NodePodsDelta{
			{
				NodeName:    stated.Nodes[0].Name,
				RemovedPods: []*stowagev1.NamespacedName{{Namespace: gone.GetTemplate().Namespace, Name: gone.Name}},
			},
			{
				NodeName: last.Name, Pods: []*stowagev1.Pod{{Name: "more", Source: last.Pods[0].Source}},
				NominatedPods: []*stowagev1.Pod{{Name: "more", Source: last.Pods[0].Source}},
			},
		},
	}
	next, err := follow(t, kept, d)
	if err != nil {
		t.Fatal(err)
	}
	stated = proto.CloneOf(stated)
	stated.Nodes[0].Pods = slices.Delete(stated.Nodes[0].Pods, 2, 3)
	stated.Nodes[59].Pods = append(stated.Nodes[59].Pods, d.NodePods[1].Pods[0])
	stated.Nodes[59].NominatedPods = append(stated.Nodes[59].NominatedPods, d.NodePods[1].NominatedPods[0])
	stated.Nodes = slices.Delete(stated.Nodes, 7, 8)
	if want := mustWhole(t, stated); next.Address != want.Address {
		t.Errorf("address %s, want %s", next.Address, want.Address)
	}
}

// TestOrderOfLabelsOfStatedTemplates is about templates that differ in no more than what a label's place may mean.
func TestOrderOfLabelsOfStatedTemplates(t *testing.T) {
	label := func(key, value string) []byte {
		raw, err := proto.Marshal(&stowagev1.PodTemplate{Labels: map[string]string{key: value}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	a, b, c := label("key", "12345678"), label("key", "22345678"), label("kez", "12345678")
	own := func(fields ...[]byte) []byte { return bytes.Join(fields, nil) }
	raw := nodesOf(
		own(a, c), own(c, a), own(a, a), own(a, b), own(b, a), own(a, b, c), own(c, b, a), own(b, c), own(a), own(c),
	)
	if !sameDecoding(t, raw, cut(raw, rand.New(rand.NewPCG(3, 4)))) {
		t.Error("refused")
	}
}

// nodesOf encodes a cluster of nodes, each with a pod of every one of these templates.
func nodesOf(templates ...[]byte) (raw []byte) {
	sized := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		node := sized(1, []byte(name))
		for _, t := range templates {
			node = append(node, sized(8, sized(3, t))...)
		}
		raw = append(raw, sized(1, node)...)
	}
	return raw
}
