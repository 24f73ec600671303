package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestAskedAgain asks the same over and over, by the same and by other encodings, and compares with a cluster that
// travels with the request.
func TestAskedAgain(t *testing.T) { askAgain(t, threeZones()) }

// TestAskedAgainOfNominatedPods is TestAskedAgain with a pod nominated to a node that has room for it alone. The pod itself
// is among the pods of the requests.
func TestAskedAgainOfNominatedPods(t *testing.T) {
	whole := threeZones()
	whole.Nodes[0].Allocatable.Pods = proto.Int64(1)
	whole.Nodes[0].NominatedPods = []*stowagev1.Pod{{Name: "x", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}}}
	askAgain(t, whole)
}

func askAgain(t *testing.T, whole *stowagev1.Cluster) {
	t.Helper()
	client := snapshotConfig(t).client()
	if _, err := put(t, client, part(whole), end("")); err != nil {
		t.Fatal(err)
	}
	by := &stowagev1.SnapshotReference{Address: addressOf(t, whole)}
	plain := apart()
	plain.GetTemplate().Spec.Affinity = nil
	pods := map[string]*stowagev1.Pod{"apart": apart(), "plain": plain}
	for i := range 24 {
		for what, pod := range pods {
			pod.Name = strings.Repeat("x", i%3)
			for _, names := range []bool{false, true} {
				filter := &stowagev1.FilterRequest{Pod: pod, Context: &stowagev1.DecisionContext{
					IncludeNodeNames: names,
				}, Explain: i%8 == 0}
				filter.Context.Base = &stowagev1.DecisionContext_Cluster{Cluster: whole}
				want, err := client.Filter(t.Context(), filter)
				if err != nil {
					t.Fatal(err)
				}
				filter.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: by}
				if got, err := client.Filter(t.Context(), filter); err != nil || !proto.Equal(want, got) {
					t.Errorf("%s, Filter number %d: %v, %v, want %v", what, i, got, err, want)
				}
				score := &stowagev1.ScoreRequest{Pod: pod, Context: &stowagev1.DecisionContext{
					IncludeNodeNames: names, Base: &stowagev1.DecisionContext_Cluster{Cluster: whole},
				}, IncludePluginScores: i%2 == 0, IncludeRejections: i%3 == 0}
				wantScore, err := client.Score(t.Context(), score)
				if err != nil {
					t.Fatal(err)
				}
				told := &stowagev1.FilterResponse{Rejections: wantScore.Rejections}
				if said := (&stowagev1.FilterResponse{Rejections: want.Rejections}); score.IncludeRejections != proto.Equal(told, said) &&
					len(want.Rejections) > 0 {
					t.Errorf("%s: Score tells %v, Filter %v", what, told, said)
				}
				score.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: by}
				if got, err := client.Score(t.Context(), score); err != nil || !proto.Equal(wantScore, got) {
					t.Errorf("%s, Score number %d: %v, %v, want %v", what, i, got, err, wantScore)
				}
			}
		}
	}
	bad := map[string]*stowagev1.FilterRequest{
		"a name too long": {Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Snapshot{Snapshot: by},
		}, Pod: apart()},
		"a broken candidate": {Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Snapshot{Snapshot: by},
		}, Pod: apart(), CandidateNodes: &stowagev1.CandidateNodes{Indexes: []uint32{99}}},
		"a broken profile": {Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Snapshot{Snapshot: by}, Profile: &stowagev1.Profile{Name: "none"},
		}, Pod: apart()},
	}
	bad["a name too long"].Pod.Name = strings.Repeat("x", 10_000)
	for what, r := range bad {
		for range 2 {
			if _, err := client.Filter(t.Context(), r); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}
