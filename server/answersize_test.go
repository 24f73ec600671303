package server

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/proto/answersize"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestAnswersBeyondTheLimit has answers larger than 4 MiB, computed and remembered: they are refused with their size and the limit, unless
// the caller declares that it accepts them.
func TestAnswersBeyondTheLimit(t *testing.T) {
	r := run(t, roomy(), t.Output(), nil, nil)
	cluster := &stowagev1.Cluster{}
	for i := range 22_000 {
		cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{
			Name: fmt.Sprintf("%s-%d", strings.Repeat("n", 200), i), Allocatable: &stowagev1.Resources{CpuMillis: new(int64(4000)), Pods: new(int64(9))},
		})
	}
	address := stored(t, r.client(), cluster)
	request := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{
			Base:             &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: address}},
			IncludeNodeNames: true,
		},
		Pod: smallPod(),
	}
	for range 2 { // the second answer is remembered
		_, err := r.client().Filter(t.Context(), request)
		if reasonOf(err) != "ANSWER_TOO_LARGE" || status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "4194304") ||
			!strings.Contains(err.Error(), answersize.Header) {
			t.Errorf("an answer beyond the default limit: %v", err)
		}
		ctx := metadata.AppendToOutgoingContext(t.Context(), answersize.Header, fmt.Sprint(16<<20))
		got, err := r.client().Filter(ctx, request, grpc.MaxCallRecvMsgSize(16<<20))
		if err != nil || len(got.GetFeasibleNodes().GetNames()) != len(cluster.Nodes) {
			t.Errorf("an answer within the declared limit: %d nodes, %v", len(got.GetFeasibleNodes().GetNames()), err)
		}
	}
	for limit, want := range map[string]codes.Code{"1000": codes.ResourceExhausted, "0": codes.InvalidArgument, "much": codes.InvalidArgument} {
		stream, err := r.client().GetSnapshot(metadata.AppendToOutgoingContext(t.Context(), answersize.Header, limit),
			&stowagev1.GetSnapshotRequest{Address: address})
		for err == nil { // small parts may come first
			_, err = stream.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("a stream with the limit %s: %v, want %v", limit, err, want)
		}
	}
	small := &stowagev1.FilterRequest{Context: whole(threeZones()), Pod: smallPod()}
	if _, err := r.client().Filter(t.Context(), small); err != nil {
		t.Error(err)
	}
}
