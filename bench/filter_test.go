// Run all with: go test -run - -bench . ./bench
package bench

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/wire"
)

func request(nodes, template int) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: bigcluster.New(nodes)}},
		Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(template)}},
	}
}

// BenchmarkFilter measures the parts of a Filter with the big cluster inline.
func BenchmarkFilter(b *testing.B) {
	req := request(5000, 9)
	ctx := context.Background()
	var compiled *decode.Snapshot
	for _, form := range []struct {
		name    string
		cluster *stowagev1.Cluster
	}{
		{"full", bigcluster.StatedInFull(req.GetContext().GetCluster())},
		{"whole-nodes", req.GetContext().GetCluster()},
		{"compact", bigcluster.Compact(req.GetContext().GetCluster())},
	} {
		in, err := proto.MarshalOptions{Deterministic: true}.Marshal(form.cluster)
		if err != nil {
			b.Fatal(err)
		}
		decoded := func() *decode.Snapshot {
			r := decode.NewRequest(ctx)
			r.Part("cluster", wire.Pieces{in})
			if err := r.Err(); err != nil {
				b.Fatal(err)
			}
			return r.Cluster()
		}
		compiled = decoded()
		b.Run("part=decode/form="+form.name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				if c := decoded(); c.Address != compiled.Address {
					b.Fatal(c.Address)
				}
			}
		})
	}
	for _, c := range []struct {
		name     string
		template int
	}{
		{"plain", 2}, {"hostname-anti-affinity", 5}, {"zone-anti-affinity", 7}, {"hard-spread", 12}, {"soft-spread", 6},
		{"anti-affinity-and-spread", 9},
	} {
		pod := &api.Pod{TemplateIndex: c.template, Template: compiled.Templates()[c.template]}
		b.Run("part=filter/case="+c.name, func(b *testing.B) {
			for b.Loop() {
				r, err := compiled.Filter(ctx, pod, engine.FilterOptions{Profile: api.Kube137()})
				if err != nil || len(r.Feasible) == 0 || len(r.Feasible) == 5000 {
					b.Fatalf("%v: %d feasible", err, len(r.Feasible))
				}
			}
		})
		b.Run("part=score/case="+c.name, func(b *testing.B) {
			for b.Loop() {
				r, err := compiled.Score(ctx, pod, engine.ScoreOptions{Profile: api.Kube137()})
				if err != nil || len(r.Best) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("part=place/pods=1000", func(b *testing.B) {
		var queue []engine.Pending
		for i := range 100 {
			queue = append(queue, engine.Pending{Pod: api.Pod{TemplateIndex: i, Template: compiled.Templates()[i]}, Count: 10})
		}
		for b.Loop() {
			r, err := compiled.Place(ctx, queue, engine.PlaceOptions{Profile: api.Kube137()})
			if err != nil || len(r.Placements[0].Nodes) != 10 {
				b.Fatal(err)
			}
		}
	})
}
