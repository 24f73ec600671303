package bench

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// BenchmarkInline measures calls over loopback that bring the big cluster: a Filter, a put, a put with a Filter after it,
// and to compare them with an echo of the Filter's bytes, and a call that only receives them.
func BenchmarkInline(b *testing.B) {
	ctx := context.Background()
	stowage, echo := serve(b, loopback.ServeStowage), serve(b, loopback.ServeEcho)
	const filter = stowagev1.PlacementService_Filter_FullMethodName
	for _, form := range []struct {
		name  string
		state func(*stowagev1.Cluster) *stowagev1.Cluster
	}{{"compact", bigcluster.Compact}, {"full", bigcluster.StatedInFull}} {
		big := bigcluster.New(5000)
		cluster := form.state(big)
		pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: big.PodTemplates[9]}}
		request, err := proto.Marshal(&stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
		}, Pod: pod})
		if err != nil {
			b.Fatal(err)
		}
		parts := stream(b, cluster)
		var address string
		var feasible []uint32
		// filtered checks that every answer is the same.
		filtered := func(request []byte) error {
			answer, err := stowage.Call(ctx, filter, request)
			if err != nil {
				return err
			}
			var r stowagev1.FilterResponse
			if err := proto.Unmarshal(answer, &r); err != nil {
				return err
			}
			if address != "" && r.SnapshotAddress != address {
				return fmt.Errorf("address %s, want %s", r.SnapshotAddress, address)
			}
			nodes := r.GetFeasibleNodes().GetIndexes()
			if feasible == nil {
				feasible = nodes
			}
			if len(nodes) == 0 || !slices.Equal(nodes, feasible) {
				return fmt.Errorf("%d nodes, %d before", len(nodes), len(feasible))
			}
			return nil
		}
		for _, call := range []struct {
			name string
			do   func() error
		}{
			{"echo", func() error { return echo.Echo(ctx, request) }},
			{"receive", func() error { return echo.Count(ctx, request) }},
			{"put", func() (err error) {
				address, err = sent(stowage, parts)
				return err
			}},
			{"streamed", func() (err error) {
				if address, err = sent(stowage, parts); err != nil {
					return err
				}
				question, err := proto.Marshal(&stowagev1.FilterRequest{
					Context: &stowagev1.DecisionContext{
						Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: address}},
					}, Pod: pod,
				})
				if err != nil {
					return err
				}
				return filtered(question)
			}},
			{"filter", func() error { return filtered(request) }},
		} {
			b.Run("form="+form.name+"/"+call.name, func(b *testing.B) {
				b.SetBytes(int64(len(request)))
				b.ReportAllocs()
				for b.Loop() {
					if err := call.do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkInlinePlace measures a Place and a PlaceStream of one pod that bring the big cluster. They should cost the same.
func BenchmarkInlinePlace(b *testing.B) {
	stowage := serve(b, loopback.ServeStowage)
	big := bigcluster.New(5000)
	place := &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: bigcluster.Compact(big)}},
		Queue:   []*stowagev1.PendingPods{{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: big.PodTemplates[9]}}}},
	}
	for _, call := range []struct {
		name, method string
		request      proto.Message
	}{
		{"place", stowagev1.PlacementService_Place_FullMethodName, place},
		{"stream", stowagev1.PlacementService_PlaceStream_FullMethodName, &stowagev1.PlaceStreamRequest{Place: place}},
	} {
		request, err := proto.Marshal(call.request)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(call.name, func(b *testing.B) {
			b.SetBytes(int64(len(request)))
			b.ReportAllocs()
			for b.Loop() {
				if answer, err := stowage.Call(b.Context(), call.method, request); err != nil || len(answer) == 0 {
					b.Fatalf("%d bytes, %v", len(answer), err)
				}
			}
		})
	}
}
