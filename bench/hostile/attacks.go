package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// everything is the window of a caller that reads its answers, nothing the window of a caller that does not.
const everything, nothing = 1 << 30, 0

// attack uses up memory or time of a server.
type attack struct {
	name string
	// prepare makes the requests, so that this is not measured. The function that it returns attacks until the context ends.
	prepare func(a *arena) func(ctx context.Context)
	lasts   time.Duration
}

// with is the preparation of an attack that needs none.
func with(attack func(a *arena, ctx context.Context)) func(a *arena) func(ctx context.Context) {
	return func(a *arena) func(ctx context.Context) {
		return func(ctx context.Context) { attack(a, ctx) }
	}
}

var attacks = []attack{
	{"uploads that never end, on one connection", with(func(a *arena, ctx context.Context) { a.unfinished(ctx, 1) }), 0},
	{"uploads that never end, on 20 connections", with(func(a *arena, ctx context.Context) { a.unfinished(ctx, 20) }), 0},
	{"messages compressed to a thousandth", with((*arena).compressed), 0},
	{"answers that are not read", with((*arena).unread), 0},
	{"10,000 open puts on 100 connections", with(func(a *arena, ctx context.Context) { a.open(ctx, 100, 100) }), 0},
	{"connections that do nothing", with(func(a *arena, ctx context.Context) { a.open(ctx, 4000, 0) }), 0},
	{"small deltas on a wide snapshot", with((*arena).deltas), 0},
	{"1,000 clients that put snapshots", with((*arena).puts), 0},
	{"headers of megabytes", with((*arena).headers), 0},
	{"large clusters in requests", with((*arena).clusters), 0},
	{"1,000 callers who place a million pods", with((*arena).million), 0},
}

// each calls f at the same time on a number of connections, again and again until it fails or the context ends.
func (a *arena) each(ctx context.Context, connections int, window uint32, f func(i int, c *caller) error) {
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			c, err := a.dial(ctx, window)
			if err != nil {
				a.refused.Add(1)
				return
			}
			defer func() { _ = c.conn.Close() }()
			gone := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
			defer gone()
			var ended error // the server may end the connection
			for ended == nil {
				if ended = a.calls.Wait(ctx); ended == nil {
					ended = f(i, c)
				}
			}
			<-ctx.Done()
			a.count(c.answers())
		})
	}
	all.Wait()
}

func (a *arena) unfinished(ctx context.Context, connections int) {
	const size = 48 << 20
	message := make([]byte, 64<<10)
	a.each(ctx, connections, everything, func(_ int, c *caller) error {
		stream, err := c.open(stowagev1.PlacementService_Filter_FullMethodName)
		if err == nil {
			err = c.send(stream, prefix(false, size), false)
		}
		for sent := 0; err == nil && sent < size-len(message); sent += len(message) {
			err = c.send(stream, message, false)
		}
		return err
	})
}

func (a *arena) compressed(ctx context.Context) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	// One unknown field of 40 MB.
	_, _ = w.Write(append([]byte{0xfa, 0x3f, 0x80, 0xd0, 0x89, 0x13}, make([]byte, 40_003_584)...))
	_ = w.Close()
	gzipped := hpack.HeaderField{Name: "grpc-encoding", Value: "gzip"}
	a.each(ctx, 60, everything, func(_ int, c *caller) error {
		return c.unary(stowagev1.PlacementService_Filter_FullMethodName, packed.Bytes(), true, gzipped)
	})
}

func (a *arena) unread(ctx context.Context) {
	var n atomic.Int64
	a.each(ctx, 60, nothing, func(_ int, c *caller) error {
		i := int(n.Add(1))
		pod := &stowagev1.Pod{Name: fmt.Sprint("pod-", i), Source: &stowagev1.Pod_Template{Template: bigcluster.Template(i % bigcluster.Templates)}}
		request := &stowagev1.FilterRequest{Context: a.snapshot(), Pod: pod, Explain: true}
		return c.unary(stowagev1.PlacementService_Filter_FullMethodName, encoded(request), false)
	})
}

func (a *arena) open(ctx context.Context, connections, calls int) {
	a.each(ctx, connections, everything, func(_ int, c *caller) error {
		for range calls {
			if _, err := c.open(stowagev1.PlacementService_PutSnapshot_FullMethodName); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	})
}

// steps makes a put of encoded steps, and leaves its end out if it is to hold what it has.
func (c *caller) steps(end bool, steps ...[]byte) error {
	stream, err := c.open(stowagev1.PlacementService_PutSnapshot_FullMethodName)
	for i, m := range steps {
		if err != nil {
			return err
		}
		err = c.send(stream, append(prefix(false, len(m)), m...), end && i == len(steps)-1)
	}
	return err
}

func (a *arena) deltas(ctx context.Context) {
	base := encoded(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: a.stored}})
	// Each changes one node of 25, so that every page is copied.
	var deltas [][]byte
	for i := range 64 {
		delta := &stowagev1.ClusterDelta{}
		for n := i % 25; n < len(a.cluster.Nodes); n += 25 {
			delta.Nodes = append(delta.Nodes, &stowagev1.Node{Name: a.cluster.Nodes[n].Name, Labels: map[string]string{"i": fmt.Sprint(i)}})
		}
		deltas = append(deltas, encoded(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: delta}}))
	}
	a.each(ctx, len(deltas), everything, func(i int, c *caller) error { return c.steps(false, base, deltas[i]) })
}

func (a *arena) puts(ctx context.Context) {
	end := encoded(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}})
	var parts [][]byte
	for i := range 1000 {
		cluster := &stowagev1.Cluster{}
		for n := range 500 {
			labels := map[string]string{"rack": fmt.Sprint(n % 40)}
			cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{Name: fmt.Sprintf("%d-%d", i, n), Labels: labels})
		}
		parts = append(parts, encoded(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: cluster}}))
	}
	a.each(ctx, len(parts), everything, func(i int, c *caller) error { return c.steps(true, parts[i], end) })
}

func (a *arena) headers(ctx context.Context) {
	long := hpack.HeaderField{Name: "x-long", Value: strings.Repeat("a", 4<<20)}
	a.each(ctx, 50, everything, func(_ int, c *caller) error {
		return c.unary(stowagev1.PlacementService_Filter_FullMethodName, nil, false, long)
	})
}

func (a *arena) clusters(ctx context.Context) {
	request := encoded(&stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: a.cluster}},
		Pod:     &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: bigcluster.Template(1)}},
	})
	a.each(ctx, 60, everything, func(_ int, c *caller) error {
		return c.unary(stowagev1.PlacementService_Filter_FullMethodName, request, false)
	})
}

func (a *arena) million(ctx context.Context) {
	t := &stowagev1.PodTemplate{Labels: map[string]string{"app": "web"}, Spec: &stowagev1.PodSpec{}}
	for _, key := range []string{"kubernetes.io/hostname", "example.com/rack", "topology.kubernetes.io/zone"} {
		t.Spec.TopologySpreadConstraints = append(t.Spec.TopologySpreadConstraints, &stowagev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
			LabelSelector: &stowagev1.LabelSelector{MatchLabels: t.Labels},
		})
	}
	request := encoded(&stowagev1.PlaceRequest{Context: a.snapshot(), Queue: []*stowagev1.PendingPods{{
		Pod: &stowagev1.Pod{Name: "web", Source: &stowagev1.Pod_Template{Template: t}}, Count: proto.Uint32(1_000_000),
	}}})
	a.each(ctx, 1000, everything, func(_ int, c *caller) error {
		return c.unary(stowagev1.PlacementService_Place_FullMethodName, request, false)
	})
}

func encoded(m proto.Message) []byte {
	out, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return out
}
