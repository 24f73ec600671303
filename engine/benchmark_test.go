package engine_test

import (
	"context"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

func BenchmarkCompile(b *testing.B) {
	ctx := context.Background()
	for name, stated := range map[string]*api.Cluster{"classes=60": enginetest.Big(5000, true), "classes=0": enginetest.Big(5000, false)} {
		b.Run("nodes=5000/pods=150000/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := engine.Compile(ctx, stated); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWith(b *testing.B) {
	ctx := context.Background()
	stated := enginetest.Big(5000, true)
	base := compiled(b, stated)
	other := stated.Nodes[2500]
	other.PodCounts = append([]api.PodCount{{Template: 3, Count: 1}}, other.PodCounts[1:]...)
	added := stated.Nodes[17]
	added.Name = "added"
	for name, change := range map[string]*api.Change{
		"replaced": {Replaced: []api.Replacement{{Index: 2500, Node: other}}},
		"removed":  {Removed: []uint32{2500}},
		"added":    {Added: []api.Node{added}},
	} {
		b.Run("nodes=5000/pods=150000/node="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := base.With(ctx, change); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
