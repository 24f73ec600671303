package decode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// spoiling is a pool of memory that is overwritten when it is given back.
type spoiling struct {
	taken int
	back  atomic.Int64
}

func (s *spoiling) Get(n int) *[]byte {
	s.taken++
	b := make([]byte, n)
	return &b
}

func (s *spoiling) Put(b *[]byte) {
	for i := range *b {
		(*b)[i] = 0xff
	}
	s.back.Add(1)
}

// received is a part as gRPC receives it.
func received(t *testing.T, part []byte, pool mem.BufferPool) *wire.Request {
	t.Helper()
	raw := protowire.AppendTag(nil, 2, protowire.BytesType)
	raw = protowire.AppendBytes(raw, part)
	frames := mem.BufferSlice{mem.Copy(raw[:len(raw)/2], pool), mem.Copy(raw[len(raw)/2:], pool)}
	defer frames.Free()
	in := wire.NewRequest(new(stowagev1.PutSnapshotRequest), 2)
	if err := wire.NewCodec().Unmarshal(frames, in); err != nil {
		t.Fatal(err)
	}
	if err := in.Decode(); err != nil {
		t.Fatal(err)
	}
	return in
}

// partsOf states a cluster in parts, some with templates or nothing among those with nodes.
func partsOf(t *testing.T, c *stowagev1.Cluster, rng *rand.Rand) [][]byte {
	t.Helper()
	all := &stowagev1.Cluster{
		PodTemplates: c.PodTemplates, NodeClasses: c.NodeClasses, Namespaces: c.Namespaces, WorkloadSelectors: c.WorkloadSelectors,
	}
	var parts [][]byte
	add := func(part *stowagev1.Cluster) {
		raw, err := proto.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, raw)
	}
	first := len(all.PodTemplates) / 2
	second := &stowagev1.Cluster{PodTemplates: all.PodTemplates[first:]}
	all.PodTemplates = all.PodTemplates[:first]
	add(all)
	add(second)
	for nodes := c.Nodes; len(nodes) > 0; {
		n := min(1+rng.IntN(150), len(nodes))
		part := &stowagev1.Cluster{Nodes: nodes[:n]}
		if nodes = nodes[n:]; rng.IntN(3) == 0 {
			part.PodTemplates = []*stowagev1.PodTemplate{{Namespace: fmt.Sprint("more-", n)}}
		}
		add(part)
		if rng.IntN(4) == 0 {
			add(&stowagev1.Cluster{})
		}
	}
	return parts
}

func TestPartsWhileTheyComeAreTheSame(t *testing.T) {
	for name, spoiled := range map[string]struct {
		cluster func(*stowagev1.Cluster)
		parts   func([][]byte) [][]byte
	}{
		"nothing": {},
		"names":   {cluster: func(c *stowagev1.Cluster) { c.Nodes[399].Name = c.Nodes[3].Name }},
		"nodes in two parts": {cluster: func(c *stowagev1.Cluster) {
			c.Nodes[200].Name, c.Nodes[201].Name, c.Nodes[399].Name = "", "", ""
		}},
		"a reference ahead": {cluster: func(c *stowagev1.Cluster) { c.Nodes[0].PodCounts[0].TemplateIndex = 502 }},
		"many problems": {cluster: func(c *stowagev1.Cluster) {
			for i := range c.Nodes {
				c.Nodes[i].Allocatable.CpuMillis = proto.Int64(-int64(i))
			}
		}},
		"a template": {cluster: func(c *stowagev1.Cluster) { c.PodTemplates[499].Labels[""] = "x" }},
		"too many pods": {cluster: func(c *stowagev1.Cluster) {
			c.Nodes[7].PodCounts[0].Count = decode.MaxClusterPods
			c.Nodes[399].PodCounts[0].Count = decode.MaxClusterPods
		}},
		"a malformed part": {parts: func(parts [][]byte) [][]byte {
			parts[4] = append(parts[4], 0xff)
			return parts
		}},
		"a malformed part at first": {parts: func(parts [][]byte) [][]byte { return append([][]byte{{0xff}}, parts...) }},
		"a malformed node": {parts: func(parts [][]byte) [][]byte {
			return slices.Insert(parts, 3, []byte{1<<3 | 2, 1, 0xff})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := bigcluster.New(400)
			stated := bigcluster.StatedInFull(bigcluster.New(10))
			for _, n := range stated.Nodes {
				n.Name = "stated-" + n.Name
			}
			c.Nodes = append(c.Nodes, stated.Nodes...)
			if spoiled.cluster != nil {
				spoiled.cluster(c)
			}
			parts := partsOf(t, c, rand.New(rand.NewPCG(1, 2)))
			if spoiled.parts != nil {
				parts = spoiled.parts(parts)
			}
			want, wantErr := decode.InParts(t.Context(), false, coming(t, parts, new(spoiling)))
			if sound := spoiled.cluster == nil && spoiled.parts == nil; (wantErr == nil) != sound {
				t.Fatal(wantErr)
			}
			for _, procs := range []int{1, 2, 8} {
				before := runtime.GOMAXPROCS(procs)
				pool := new(spoiling)
				got, err := decode.InParts(t.Context(), true, coming(t, parts, pool))
				runtime.GOMAXPROCS(before)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("with %d goroutines: %v\nwant %v", procs, err, wantErr)
				}
				if err != nil {
					continue
				}
				if got.Address != want.Address {
					t.Errorf("with %d goroutines: address %s, want %s", procs, got.Address, want.Address)
				}
				if diff := cmp.Diff(want.Cluster.Nodes[390:], got.Cluster.Nodes[390:], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("with %d goroutines:\n%s", procs, diff)
				}
				if back := int(pool.back.Load()); back != pool.taken {
					t.Errorf("%d of %d frames were given back", back, pool.taken)
				}
			}
		})
	}
}

// coming receives parts.
func coming(t *testing.T, parts [][]byte, pool *spoiling) func() *wire.Request {
	return func() *wire.Request {
		if len(parts) == 0 {
			return nil
		}
		part := parts[0]
		parts = parts[1:]
		return received(t, part, pool)
	}
}

func TestPartsEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	parts := partsOf(t, bigcluster.New(1000), rand.New(rand.NewPCG(1, 2)))
	next := coming(t, parts, new(spoiling))
	came := 0
	_, err := decode.InParts(ctx, true, func() *wire.Request {
		if came++; came == len(parts)-1 {
			cancel()
		}
		return next()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPanicOfWhoReceives(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "of who receives\n") {
			t.Errorf("recovered %v", got)
		}
	}()
	next := coming(t, partsOf(t, bigcluster.New(300), rand.New(rand.NewPCG(1, 2))), new(spoiling))
	came := 0
	got, err := decode.InParts(t.Context(), true, func() *wire.Request {
		if came++; came == 4 {
			panic("of who receives")
		}
		return next()
	})
	t.Error(got, err)
}

// TestPartsAhead says that what was received and is not taken over is bounded, however much there is.
func TestPartsAhead(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster of tens of megabytes")
	}
	const count, most = 30, 8 << 20
	nodes := bigcluster.StatedInFull(bigcluster.New(96)).Nodes
	var parts [][]byte
	for i := range count {
		for j, n := range nodes {
			n.Name = fmt.Sprint(i, "-", j)
		}
		raw, err := proto.Marshal(&stowagev1.Cluster{Nodes: nodes})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, raw)
	}
	pool := new(spoiling)
	next := coming(t, parts, pool)
	waiting, largest := 0, 0
	got, err := decode.InParts(t.Context(), true, func() *wire.Request {
		waiting = pool.taken - int(pool.back.Load())
		largest = max(largest, waiting*len(parts[0])/2)
		return next()
	})
	if err != nil || len(got.Cluster.Nodes) != 96*count {
		t.Fatal(err)
	}
	if all := count * len(parts[0]); largest > most || all < 2*most {
		t.Errorf("%d bytes of %d waited", largest, all)
	}
}

// TestTemplatesBehindNodes has templates after nodes, and nodes after them, whose labels must not lie where theirs do.
func TestTemplatesBehindNodes(t *testing.T) {
	labels := func(value string) map[string]string { return map[string]string{"a": value, "b": value, "c": value} }
	node := func(name string) *stowagev1.Cluster {
		return &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: name, Labels: labels(name)}}}
	}
	pool := &spoiling{}
	next := coming(t, [][]byte{
		marshal(t, node("first")),
		marshal(t, &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{Labels: labels("template")}}}),
		marshal(t, node("second")),
	}, pool)
	got, err := decode.InParts(t.Context(), false, next)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range got.Cluster.Templates[0].Labels {
		if l.Value != "template" {
			t.Errorf("the template has the label %v", l)
		}
	}
}
