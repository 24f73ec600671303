package bench

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// BenchmarkDelta measures what a delta of one pod costs: to put it on a snapshot, and a Filter about the result. The snapshots state
// their pods as counts, by name, by name with a label for each pod, and by name with a template for each pod.
func BenchmarkDelta(b *testing.B) {
	for _, of := range []struct {
		name    string
		cluster func() *stowagev1.Cluster
	}{
		{"nodes=5000/pods=counted", func() *stowagev1.Cluster { return bigcluster.Compact(bigcluster.New(5000)) }},
		{"nodes=5000/pods=named", func() *stowagev1.Cluster {
			return compacted(b, bigcluster.StatedInFull(bigcluster.New(5000)))
		}},
		{"nodes=5000/pods=labels", func() *stowagev1.Cluster {
			return labelled(compacted(b, bigcluster.StatedInFull(bigcluster.New(5000))))
		}},
		{"nodes=5000/pods=templates", func() *stowagev1.Cluster { return bigcluster.StatedInFull(bigcluster.New(5000)) }},
		{"nodes=500000/pods=counted", func() *stowagev1.Cluster { return bigcluster.Compact(bigcluster.New(500_000)) }},
	} {
		b.Run(of.name, func(b *testing.B) { benchmarkDelta(b, of.cluster()) })
	}
}

// labelled gives each pod a label of its own, as a StatefulSet does.
func labelled(c *stowagev1.Cluster) *stowagev1.Cluster {
	for _, n := range c.Nodes {
		for i, p := range n.Pods {
			p.Labels = map[string]string{"statefulset.kubernetes.io/pod-name": fmt.Sprint(n.Name, "-", i)}
		}
	}
	return c
}

func compacted(b *testing.B, c *stowagev1.Cluster) *stowagev1.Cluster {
	b.Helper()
	out, err := compact.Cluster(c, compact.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func benchmarkDelta(b *testing.B, cluster *stowagev1.Cluster) {
	stowage := serve(b, func() (*loopback.Server, error) { return loopback.ServeStowageWith(16 << 30) })
	d := &deltas{cluster: cluster}
	var err error
	if d.content, err = content.Of(cluster); err != nil {
		b.Fatal(err)
	}
	base, err := sent(stowage, stream(b, cluster))
	if err != nil {
		b.Fatal(err)
	}
	filter := func(request []byte) {
		if _, err := stowage.Call(context.Background(), stowagev1.PlacementService_Filter_FullMethodName, request); err != nil {
			b.Fatal(err)
		}
	}
	// measure measures one of the calls that prepare returns, each of which is another.
	measure := func(name string, prepare func() func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				call := prepare()
				b.StartTimer()
				call()
			}
		})
	}
	measure("put", func() func() {
		messages := d.put(b)
		return func() {
			if _, err := sent(stowage, messages); err != nil {
				b.Fatal(err)
			}
		}
	})
	remembered := d.filter(b, base, nil)
	measure("filter", func() func() { return func() { filter(remembered) } })
	measure("filter-after-put", func() func() {
		address, err := sent(stowage, d.put(b))
		if err != nil {
			b.Fatal(err)
		}
		request := d.filter(b, address, nil)
		return func() { filter(request) }
	})
	measure("filter-with-delta", func() func() {
		request := d.filter(b, base, d.next())
		return func() { filter(request) }
	})
}

// deltas is deltas of one pod to a snapshot, each to another node.
type deltas struct {
	cluster *stowagev1.Cluster
	content *content.Content
	number  int
}

func (d *deltas) next() *stowagev1.ClusterDelta {
	d.number++
	return &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{
		NodeName: d.cluster.Nodes[d.number*7919%len(d.cluster.Nodes)].Name,
		Pods: []*stowagev1.Pod{{
			Name: fmt.Sprint("new-", d.number), Source: &stowagev1.Pod_Template{Template: bigcluster.Template(2)},
		}},
	}}}
}

// put returns the messages that put the next delta.
func (d *deltas) put(b *testing.B) (messages [][]byte) {
	delta := d.next()
	after, _, err := d.content.Apply(context.Background(), delta)
	if err != nil {
		b.Fatal(err)
	}
	for _, step := range []*stowagev1.PutSnapshotRequest{
		{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: d.content.Address().String()}},
		{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: delta}},
		{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{Address: proto.String(after.Address().String())}}},
	} {
		messages = append(messages, encoded(b, step))
	}
	return messages
}

// filter returns a Filter about a snapshot with a delta.
func (d *deltas) filter(b *testing.B, address string, delta *stowagev1.ClusterDelta) []byte {
	return encoded(b, &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
			Snapshot: &stowagev1.SnapshotReference{Address: address, Delta: delta},
		}},
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(9)}},
	})
}

func encoded(b *testing.B, m proto.Message) []byte {
	b.Helper()
	bytes, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
