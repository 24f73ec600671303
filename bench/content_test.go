package bench

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// BenchmarkOf computes the address of the big cluster from its message. BenchmarkMarshal is the baseline.
func BenchmarkOf(b *testing.B) {
	c := bigcluster.New(5_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := content.Of(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	c := bigcluster.New(5_000)
	for b.Loop() {
		if _, err := (proto.MarshalOptions{Deterministic: true}).Marshal(c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBuild is the share of BenchmarkOf that the server adds to decoding.
func BenchmarkBuild(b *testing.B) {
	c, err := content.Of(bigcluster.New(5_000))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var builder content.Builder
		for number, item := range c.Items() {
			builder.Add(number, item, content.DigestOf(item))
		}
		if builder.Build().Address() != c.Address() {
			b.Fatal("another address")
		}
	}
	b.ReportMetric(float64(c.Bytes()), "B/content")
}

// BenchmarkApply changes one node of the big cluster.
func BenchmarkApply(b *testing.B) {
	cluster := bigcluster.New(5_000)
	c, err := content.Of(cluster)
	if err != nil {
		b.Fatal(err)
	}
	n := proto.CloneOf(cluster.Nodes[2_500])
	n.Unschedulable = true
	added := proto.CloneOf(n)
	added.Name = "new"
	for name, d := range map[string]*stowagev1.ClusterDelta{
		"node": {Nodes: []*stowagev1.Node{n}},
		"pods": {NodePods: []*stowagev1.NodePodsDelta{{
			NodeName: n.Name, RemovedPodCounts: n.PodCounts[:1], PodCounts: []*stowagev1.PodCount{{TemplateIndex: 1, Count: 1}},
		}}},
		"added":    {Nodes: []*stowagev1.Node{added}},
		"removed":  {RemovedNodes: []string{n.Name}},
		"template": {PodTemplates: []*stowagev1.IndexedPodTemplate{{Index: bigcluster.Templates, Template: bigcluster.Template(1)}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if next, _, err := c.Apply(context.Background(), d); err != nil || next.Address() == c.Address() {
					b.Fatal(err)
				}
			}
		})
	}
}
