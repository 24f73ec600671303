package decode_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// cut cuts bytes into pieces, each in memory of its own that ends where it ends.
func cut(raw []byte, rng *rand.Rand) wire.Pieces {
	var pieces wire.Pieces
	for len(raw) > 0 {
		n := 1 + rng.IntN(len(raw))
		if rng.IntN(2) == 0 {
			n = min(n, 40)
		}
		pieces = append(pieces, append(make([]byte, 0, n), raw[:n]...))
		raw = raw[n:]
	}
	return pieces
}

// sameDecoding decodes a cluster from the wire and from the message that the wire has, and compares. Where it is
// refused, both refuse it, except for numbers that do not fit and unknown fields in entries of maps, which the message does
// not show any more. The address is the message's, which other code computes.
func sameDecoding(t fataler, raw []byte, pieces wire.Pieces) (sound bool) {
	t.Helper()
	m := new(stowagev1.Cluster)
	malformed := proto.Unmarshal(raw, m)
	want, wantErr := decode.Message(m)
	of, ofErr := content.Of(m)
	for _, way := range []struct {
		pieces wire.Pieces
		keep   bool
	}{{pieces, true}, {pieces, false}, {wire.Pieces{raw}, true}} {
		got, err := decode.Wire(way.pieces, way.keep)
		if malformed != nil {
			if err == nil {
				t.Fatalf("taken, though malformed: %v", malformed)
			}
			continue
		}
		if err != nil && (strings.Contains(err.Error(), misfit) || strings.Contains(err.Error(), `"]: unknown field`)) {
			continue
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		if err != nil {
			continue
		}
		sound = true
		if ofErr != nil || got.Address != of.Address() {
			t.Fatalf("the address is %v, that of the content %v, %v", got.Address, of.Address(), ofErr)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("decoded differently (-message +wire):\n%s", diff)
		}
	}
	return sound
}

func TestWireIsMessage(t *testing.T) {
	nodes := 40
	if testing.Short() {
		nodes = 8
	}
	for name, c := range map[string]*stowagev1.Cluster{
		"every field": request().GetContext().GetCluster(),
		"big":         bigcluster.New(nodes),
		"in full":     bigcluster.StatedInFull(bigcluster.New(nodes / 2)),
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, deterministic := range []bool{true, false} {
			raw, err := proto.MarshalOptions{Deterministic: deterministic}.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if !sameDecoding(t, raw, cut(raw, rng)) {
				t.Errorf("%s is refused", name)
			}
		}
	}
}

func TestWireOfRandomClusters(t *testing.T) {
	sound := 0
	rapid.Check(t, func(t *rapid.T) {
		c := request().GetContext().GetCluster()
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			part := rapid.SampledFrom([]proto.Message{
				c, c.Nodes[0], c.Nodes[1], c.Nodes[2], c.NodeClasses[0], c.Namespaces[0], c.PodTemplates[0],
				c.Nodes[0].Pods[0], c.Nodes[0].Pods[1], c.PodDisruptionBudgets[0], c.PodTemplates[0].Spec,
			}).Draw(t, "part")
			fill(t, part.ProtoReflect(), rapid.IntRange(0, 2).Draw(t, "depth"))
		}
		raw, err := proto.Marshal(c)
		if err != nil {
			return
		}
		seed := rapid.Uint64().Draw(t, "cut")
		if sameDecoding(t, raw, cut(raw, rand.New(rand.NewPCG(seed, 0)))) {
			sound++
		}
	})
	if sound == 0 {
		t.Error("no cluster was let through")
	}
}

func FuzzWire(f *testing.F) {
	for _, c := range []*stowagev1.Cluster{{}, request().GetContext().GetCluster(), bigcluster.New(2), bigcluster.StatedInFull(bigcluster.New(1))} {
		c.PodTemplates = c.PodTemplates[:min(len(c.PodTemplates), 3)]
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, uint64(1))
	}
	for _, w := range widenedCluster(f) {
		f.Add(w.raw, uint64(1))
	}
	// Field numbers that protobuf does not have. Their low 32 bits may be a valid number.
	for _, number := range []uint64{0, 1<<29 + 1, 1 << 31, 1<<32 + 1, 1<<32 + 2, 1<<32 + 8} {
		field := func(b []byte, number uint64, value []byte) []byte {
			return protowire.AppendBytes(protowire.AppendVarint(b, number<<3|uint64(protowire.BytesType)), value)
		}
		named := field(nil, 1, []byte("node"))
		for _, node := range [][]byte{
			field(nil, number, []byte("node")),
			field(named, 2, field(field(nil, number, []byte("zone")), 2, []byte("a"))),
			field(named, 2, field(field(nil, 1, []byte("zone")), number, []byte("a"))),
			field(named, 8, field(nil, number, []byte("pod"))),
		} {
			f.Add(field(nil, 1, node), uint64(1))
		}
		f.Add(field(nil, number, named), uint64(1))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		if len(raw) < 1<<16 {
			sameDecoding(t, raw, cut(raw, rand.New(rand.NewPCG(seed, 0))))
		}
	})
}

// TestNamesInUnusualEncoding has nodes with their pods before their names, whose topology keys count all the same.
func TestNamesInUnusualEncoding(t *testing.T) {
	for _, n := range []int{decode.DistinctTopologyKeys, decode.DistinctTopologyKeys + 1} {
		node := marshal(t, &stowagev1.Node{Pods: []*stowagev1.Pod{asking(nil, numbered("k", 0, n))}})
		node = append(node, marshal(t, &stowagev1.Node{Name: "a"})...)
		raw := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), node)
		if sound := sameDecoding(t, raw, cut(raw, rand.New(rand.NewPCG(1, 2)))); sound != (n == decode.DistinctTopologyKeys) {
			t.Errorf("with %d topology keys the cluster is sound: %t", n, sound)
		}
	}
}

// TestProblemsOfWire says that what is wrong does not depend on how many goroutines look for it.
func TestProblemsOfWire(t *testing.T) {
	gpu := func(name string) *stowagev1.Resources {
		return &stowagev1.Resources{Scalars: map[string]int64{name: 1}}
	}
	for name, spoil := range map[string]func(*stowagev1.Cluster){
		"nothing": func(*stowagev1.Cluster) {},
		"names": func(c *stowagev1.Cluster) {
			c.Nodes[399].Name = c.Nodes[3].Name
			c.Nodes[200].Name = ""
			c.Nodes[7].Name = c.Nodes[301].Name
		},
		"references": func(c *stowagev1.Cluster) {
			c.Nodes[300].PodCounts[3].TemplateIndex = 5_000
			c.PodTemplates[400].Spec.NodeName = "one"
			c.PodTemplates[77].Labels[""] = "x"
		},
		"more problems than are told": func(c *stowagev1.Cluster) {
			for i := range c.Nodes {
				c.Nodes[i].Allocatable.CpuMillis = proto.Int64(-int64(i))
			}
		},
		"too many resources": func(c *stowagev1.Cluster) {
			for i := range c.Nodes {
				c.Nodes[i].Allocatable = gpu(fmt.Sprintf("example.com/device-%d", i))
			}
		},
		"too many topology keys": func(c *stowagev1.Cluster) {
			for i, t := range c.PodTemplates {
				t.Spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: fmt.Sprintf("example.com/key-%d", i), LabelSelector: &stowagev1.LabelSelector{},
					WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
				}}
			}
		},
		"too many resources of stated templates": func(c *stowagev1.Cluster) {
			for i, n := range c.Nodes {
				template := proto.CloneOf(bigcluster.Template(0))
				template.Spec.Containers[0].Requests = gpu(fmt.Sprintf("example.com/device-%d", i))
				n.Pods = []*stowagev1.Pod{{Name: "own", Source: &stowagev1.Pod_Template{Template: template}}}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := bigcluster.New(400)
			spoil(c)
			raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			_, want := decode.Message(c)
			for _, procs := range []int{1, 2, 8} {
				before := runtime.GOMAXPROCS(procs)
				_, err := decode.Wire(cut(raw, rand.New(rand.NewPCG(1, 2))), false)
				runtime.GOMAXPROCS(before)
				if fmt.Sprint(err) != fmt.Sprint(want) {
					t.Errorf("with %d goroutines: %v\nwant %v", procs, err, want)
				}
			}
		})
	}
}
