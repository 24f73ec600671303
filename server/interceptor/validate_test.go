package interceptor

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestEnvelope exceeds a limit and omits a field, and expects errors about both.
func TestEnvelope(t *testing.T) {
	weight := int32(101)
	r := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{
			Base:    &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{{}}}},
			Profile: &stowagev1.Profile{HardPodAffinityWeight: &weight},
		},
	}
	err := Envelope(r)
	fields := map[string]bool{}
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				fields[v.GetField()] = true
			}
		}
	}
	if !fields["context.profile.hard_pod_affinity_weight"] || !fields["pod"] || status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v: told of %v", err, fields)
	}
}

// BenchmarkEnvelope shows that validation does not walk the cluster: compare nodes=1 and nodes=5000.
func BenchmarkEnvelope(b *testing.B) {
	for name, nodes := range map[string]int{"nodes=1": 1, "nodes=5000": 5000} {
		r := &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: bigcluster.New(nodes)},
		}}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := Envelope(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
