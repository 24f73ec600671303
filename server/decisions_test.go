package server

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

const zone = "topology.kubernetes.io/zone"

// threeZones is a cluster of three nodes in three zones.
func threeZones() *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	for _, name := range []string{"a", "b", "c"} {
		c.Nodes = append(c.Nodes, &stowagev1.Node{
			Name:        "node-" + name,
			Labels:      map[string]string{zone: "zone-" + name},
			Allocatable: &stowagev1.Resources{CpuMillis: proto.Int64(8000), MemoryBytes: proto.Int64(32 << 30), Pods: proto.Int64(110)},
		})
	}
	return c
}

// apart is a pod that wants to be alone of its kind in its zone.
func apart() *stowagev1.Pod {
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
		Labels: map[string]string{"app": "redash"},
		Spec: &stowagev1.PodSpec{Affinity: &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{
			Required: []*stowagev1.PodAffinityTerm{{
				LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "redash"}}, TopologyKey: zone,
			}},
		}}},
	}}}
}

func placeApart(count uint32) *stowagev1.PlaceRequest {
	return &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}, IncludeNodeNames: true,
		}, Queue: []*stowagev1.PendingPods{{Pod: apart(), Count: new(count)}},
	}
}

func TestPlace(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	got, err := r.client().Place(t.Context(), placeApart(4))
	if err != nil {
		t.Fatal(err)
	}
	everywhere := &stowagev1.NodeList{Indexes: []uint32{0, 1, 2}, Names: []string{"node-a", "node-b", "node-c"}}
	content, err := content.Of(threeZones())
	if err != nil {
		t.Fatal(err)
	}
	want := &stowagev1.PlaceResponse{
		SnapshotAddress: content.Address().String(),
		Placements: []*stowagev1.Placement{{
			Nodes:         everywhere,
			UnplacedCount: 1,
			Message:       "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.",
			Rejections: []*stowagev1.Rejection{{
				Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY,
				Code:   stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE,
				Reasons: []*stowagev1.Reason{{
					Type:    stowagev1.RejectionReason_REJECTION_REASON_POD_ANTI_AFFINITY,
					Message: "node(s) didn't match pod anti-affinity rules",
				}},
				Nodes: everywhere,
			}},
		}},
		PlacedCount:   3,
		UnplacedCount: 1,
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFilterAndScore(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	cluster := threeZones()
	cluster.Nodes[1].Pods = []*stowagev1.Pod{apart()}
	filter, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
	}, Pod: apart(), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	feasible := &stowagev1.NodeList{Indexes: []uint32{0, 2}}
	if diff := cmp.Diff(feasible, filter.GetFeasibleNodes(), protocmp.Transform()); diff != "" {
		t.Errorf("feasible nodes: -want +got:\n%s", diff)
	}
	if len(filter.GetRejections()) != 1 || len(filter.GetExplanation().GetFailingChecks()) == 0 {
		t.Errorf("got rejections %v and explanation %v", filter.GetRejections(), filter.GetExplanation())
	}
	score, err := r.client().Score(t.Context(), &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
	}, Pod: apart(), IncludePluginScores: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(feasible, score.GetNodes(), protocmp.Transform()); diff != "" {
		t.Errorf("scored nodes: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(feasible, score.GetBestNodes(), protocmp.Transform()); diff != "" {
		t.Errorf("best nodes: -want +got:\n%s", diff)
	}
	if len(score.GetTotalScores()) != 2 || len(score.GetPluginScores()) == 0 {
		t.Errorf("got %v", score)
	}
}

func TestMalformedRequests(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	bad := threeZones()
	bad.Nodes[0].Pods = []*stowagev1.Pod{{Name: "of nothing"}}
	bad.Nodes[1].Name = ""
	bad.Nodes[2].Taints = []*stowagev1.Taint{{Key: "k"}}
	for name, call := range map[string]func() error{
		"Filter": func() error {
			_, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: bad},
			}, Pod: apart()})
			return err
		},
		"Score": func() error {
			_, err := r.client().Score(t.Context(), &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: bad},
			}, Pod: apart()})
			return err
		},
		"Place": func() error {
			_, err := r.client().Place(t.Context(), &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: bad},
			}})
			return err
		},
	} {
		code, reason, _, violations := why(call())
		if code != codes.InvalidArgument || reason != "INVALID_REQUEST" {
			t.Errorf("%s: got %v %s", name, code, reason)
		}
		var fields []string
		for _, v := range violations {
			fields = append(fields, v.GetField())
		}
		if diff := cmp.Diff([]string{
			"context.cluster.nodes[0].pods[0].source", "context.cluster.nodes[1].name", "context.cluster.nodes[2].taints[0].effect",
		}, fields); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// long is a small request that takes the engine seconds: a million pods over 200 nodes.
func long() *stowagev1.PlaceRequest {
	r := &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}},
	}}
	for i := range 200 {
		r.GetContext().GetCluster().Nodes = append(r.GetContext().GetCluster().Nodes, &stowagev1.Node{
			Name:   fmt.Sprint("node-", i),
			Labels: map[string]string{zone: fmt.Sprint("zone-", i%50)},
			Allocatable: &stowagev1.Resources{
				CpuMillis: proto.Int64(1 << 40), MemoryBytes: proto.Int64(1 << 50), Pods: proto.Int64(1 << 30),
			},
		})
	}
	pod := apart()
	affinity := pod.GetTemplate().GetSpec().GetAffinity().GetPodAntiAffinity()
	affinity.Preferred = []*stowagev1.WeightedPodAffinityTerm{{Weight: 1, Term: affinity.Required[0]}}
	affinity.Required = nil
	r.Queue = []*stowagev1.PendingPods{{Pod: pod, Count: new(uint32(1_000_000))}}
	return r
}

func TestServerDeadlineEndsAComputation(t *testing.T) {
	c := testConfig()
	c.MaxRequestDuration = 50 * time.Millisecond
	r := run(t, c, t.Output(), nil, nil)
	_, err := r.client().Place(t.Context(), long())
	if code, reason, _, _ := why(err); code != codes.DeadlineExceeded || reason != "CANCELLED" {
		t.Errorf("got %v %s", code, reason)
	}
}

func TestCallerGoingAwayEndsAComputation(t *testing.T) {
	var log bytes.Buffer
	service := &begun{placement.New(0, nil), make(chan struct{})}
	r := run(t, testConfig(), &log, service, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-service.began
		cancel()
	}()
	if _, err := r.client().Place(ctx, long()); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	r.stop()
	if err := <-r.ended; err != nil { // waits for the handler
		t.Error(err)
	}
	if s := log.String(); !strings.Contains(s, `"grpc.method":"Place"`) || !strings.Contains(s, `"grpc.code":"Canceled"`) {
		t.Errorf("the computation was not ended: %s", s)
	}
}

// begun reports a call of Place.
type begun struct {
	stowagev1.PlacementServiceServer
	began chan struct{}
}

func (b *begun) Place(ctx context.Context, r *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	close(b.began)
	return b.PlacementServiceServer.Place(ctx, r)
}
