package encode_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/encode"
)

var nodes = encode.Names{"a", "b", "c"}

func rejection() verdict.Rejection {
	return verdict.Rejection{
		Plugin:  verdict.NodeResourcesFit,
		Code:    verdict.UnschedulableAndUnresolvable,
		Reasons: []verdict.Reason{verdict.InsufficientResource("cpu"), verdict.ReasonOf(verdict.ReasonTooManyPods)},
		Nodes:   []uint32{0, 2},
	}
}

func wantRejection(names ...string) *stowagev1.Rejection {
	return &stowagev1.Rejection{
		Plugin: stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT,
		Code:   stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
		Reasons: []*stowagev1.Reason{
			{
				Type:     stowagev1.RejectionReason_REJECTION_REASON_INSUFFICIENT_RESOURCE,
				Message:  "Insufficient cpu",
				Resource: "cpu",
			},
			{Type: stowagev1.RejectionReason_REJECTION_REASON_TOO_MANY_PODS, Message: "Too many pods"},
		},
		Nodes: &stowagev1.NodeList{Indexes: []uint32{0, 2}, Names: names},
	}
}

// decoded returns a function that decodes a response.
func decoded[M any, P interface {
	*M
	proto.Message
}](t *testing.T) func([]byte, error) P {
	return func(b []byte, err error) P {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		m := P(new(M))
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// TestColumns covers columns and lists whose lengths, and values, take every number of bytes.
func TestColumns(t *testing.T) {
	for _, length := range []int{0, 1, 63, 64, 127, 128, 129, 16383, 16384, 16385, 1 << 20, 1<<21 + 1} {
		s := &verdict.Score{Nodes: make([]uint32, length), Totals: make([]int64, length)}
		for i := range length {
			s.Nodes[i] = math.MaxUint32 >> (i % 32)
			s.Totals[i] = math.MaxInt64 >> (i % 63)
		}
		if length > 0 {
			s.Totals[length/2] = -1
		}
		want := &stowagev1.ScoreResponse{
			Nodes: &stowagev1.NodeList{Indexes: s.Nodes}, TotalScores: s.Totals, BestNodes: &stowagev1.NodeList{},
		}
		if got := decoded[stowagev1.ScoreResponse](t)(encode.Score(nil, s, nil, "")); !proto.Equal(want, got) {
			t.Errorf("a list of %d is not what was encoded", length)
		}
	}
}

// TestEdges covers the numbers at which a varint gets longer, at every position of a group of four.
func TestEdges(t *testing.T) {
	s := &verdict.Score{}
	for _, edge := range []int64{0, 1 << 7, 1 << 14, 1 << 21, 1 << 63 >> 1} {
		for place := range 8 {
			for v := range int64(11) {
				n := edge + v - 5
				if v < int64(place) {
					n = 200
				}
				s.Totals = append(s.Totals, n, 1<<7, 1<<14-1)
			}
		}
	}
	want := &stowagev1.ScoreResponse{Nodes: &stowagev1.NodeList{}, TotalScores: s.Totals, BestNodes: &stowagev1.NodeList{}}
	if got := decoded[stowagev1.ScoreResponse](t)(encode.Score(nil, s, nil, "")); !proto.Equal(want, got) {
		t.Errorf("got %v\nwant %v", got.TotalScores, s.Totals)
	}
}

func TestFilter(t *testing.T) {
	result := &verdict.Filter{Feasible: []uint32{1}, Rejections: []verdict.Rejection{rejection()}, Message: "text", Failed: true}
	for name, test := range map[string]struct {
		names         encode.Names
		feasible, out []string
	}{
		"indexes": {},
		"names":   {nodes, []string{"b"}, []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := &stowagev1.FilterResponse{
				FeasibleNodes: &stowagev1.NodeList{Indexes: []uint32{1}, Names: test.feasible},
				Rejections:    []*stowagev1.Rejection{wantRejection(test.out...)},
				Message:       "text", InternalError: true, SnapshotAddress: "address",
			}
			if diff := cmp.Diff(want, decoded[stowagev1.FilterResponse](t)(encode.Filter(nil, result, test.names, "address")),
				protocmp.Transform()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestScore(t *testing.T) {
	got := decoded[stowagev1.ScoreResponse](t)(encode.Score(nil, &verdict.Score{
		Nodes:   []uint32{0, 2},
		Plugins: []verdict.PluginScores{{Plugin: verdict.NodeAffinity, Weight: 2, Scores: []int64{0, 200}}},
		Totals:  []int64{0, 200},
		Best:    []uint32{2},
		Message: "text", Failed: true, Rejections: []verdict.Rejection{rejection()},
	}, nodes, "address"))
	want := &stowagev1.ScoreResponse{
		Nodes: &stowagev1.NodeList{Indexes: []uint32{0, 2}, Names: []string{"a", "c"}},
		PluginScores: []*stowagev1.PluginScores{
			{Plugin: stowagev1.Plugin_PLUGIN_NODE_AFFINITY, Weight: 2, WeightedScores: []int64{0, 200}},
		},
		TotalScores: []int64{0, 200},
		BestNodes:   &stowagev1.NodeList{Indexes: []uint32{2}, Names: []string{"c"}},
		Message:     "text", InternalError: true, SnapshotAddress: "address",
		Rejections: []*stowagev1.Rejection{wantRejection("a", "c")},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlace(t *testing.T) {
	got := decoded[stowagev1.PlaceResponse](t)(encode.Place(nil, &verdict.Place{
		Doubts: []verdict.Doubt{
			{
				Kind: verdict.UnreadField, Unread: api.UnreadField{Object: "Pod default/web", Field: "spec.resourceClaims[0]", Consequence: "c"},
				Pod: verdict.PodReference{Namespace: "default", Name: "web", Node: verdict.NoNode, Count: 1, Template: -1},
			},
			{Kind: verdict.OtherScheduler, Name: "other", Pod: verdict.PodReference{Namespace: "n", Node: 2, Count: 3, Template: 4, Queue: -1}},
		},
		Placements: []verdict.Placement{
			{Nodes: []uint32{1, 0, 1}, Scanned: 2, Scores: []int64{7, 8, 300}},
			{Nodes: []uint32{2}, Unplaced: 4, Message: "text", Rejections: []verdict.Rejection{rejection()}, Unattempted: 3},
		},
		Groups: []verdict.PodGroupPlacement{
			{
				Name: "g", Status: verdict.GroupComplete, Placed: 3, Domains: []verdict.Domain{{Key: "zone", Value: "a"}}, First: -1,
				Sum: 315, LocallyOptimal: true, Most: true, Steps: 9,
			},
			{
				Name: "h", Status: verdict.GroupInfeasible, Unplaced: 2, First: 0, Message: "why", Minimal: true,
				Conflict: []verdict.PodRule{{
					Entry: 1, Plugin: verdict.InterPodAffinity, Rule: verdict.PodAffinity, Index: 2, TopologyKey: "zone",
				}},
			},
		},
		Evictions: []verdict.Eviction{{Entry: 1, Candidate: verdict.Candidate{Node: 2, Violations: 1}}},
		Partial:   true,
	}, nodes, "address"))
	want := &stowagev1.PlaceResponse{
		Doubts: []*stowagev1.Doubt{
			{
				Kind:   stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD,
				Unread: &stowagev1.UnreadField{Object: "Pod default/web", Field: "spec.resourceClaims[0]", Consequence: "c"},
				Pod: &stowagev1.PodReference{
					Namespace: "default", Name: "web", Count: 1, Origin: &stowagev1.PodReference_QueueIndex{},
				},
			},
			{
				Kind: stowagev1.DoubtKind_DOUBT_KIND_OTHER_SCHEDULER, Name: "other",
				Pod: &stowagev1.PodReference{
					Namespace: "n", NodeIndex: new(uint32(2)), Count: 3, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 4},
				},
			},
		},
		Evictions: []*stowagev1.Eviction{{QueueIndex: 1, NodeIndex: new(uint32(2)), NodeName: "c", PdbViolations: 1}},
		Placements: []*stowagev1.Placement{
			{
				Nodes: &stowagev1.NodeList{Indexes: []uint32{1, 0, 1}, Names: []string{"b", "a", "b"}}, TotalScores: []int64{7, 8, 300},
			},
			{
				Nodes:         &stowagev1.NodeList{Indexes: []uint32{2}, Names: []string{"c"}},
				UnplacedCount: 4,
				Message:       "text",
				Rejections:    []*stowagev1.Rejection{wantRejection("a", "c")}, UnattemptedCount: 3,
			},
		},
		PodGroups: []*stowagev1.PodGroupPlacement{
			{
				Name: "g", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE, PlacedCount: 3,
				Domains:  []*stowagev1.TopologyDomain{{TopologyKey: "zone", Value: "a"}},
				ScoreSum: 315, LocallyOptimal: true, MostPlaced: true, Steps: 9,
			},
			{
				Name: "h", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE, UnplacedCount: 2,
				FirstUnplacedQueueIndex: new(uint32), Message: "why", ConflictMinimal: true,
				Conflict: []*stowagev1.PodRule{{
					QueueIndex: new(uint32(1)), Plugin: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY,
					Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY, Index: 2, TopologyKey: "zone",
				}},
			},
		},
		PlacedCount:   4,
		UnplacedCount: 4, SnapshotAddress: "address", Partial: true,
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestEvictionsAreStreamedFirst: a stream that is cut has no placement without the evictions that it rests on.
func TestEvictionsAreStreamedFirst(t *testing.T) {
	type part struct {
		Evictions []string
		Placed    int
		Evicted   uint32
	}
	var got []part
	send := func(m *stowagev1.PlaceStreamResponse) error {
		p := part{Placed: len(m.Placements), Evicted: m.EvictedCount}
		for _, e := range m.Evictions {
			p.Evictions = append(p.Evictions, e.NodeName)
		}
		got = append(got, p)
		return nil
	}
	in := &stowagev1.PlaceStreamRequest{
		Place: &stowagev1.PlaceRequest{Queue: []*stowagev1.PendingPods{{}}}, PodsPerMessage: new(uint32(1)),
	}
	s := encode.NewPlaceStream(in, []engine.Pending{{Count: 1}}, nil, nodes, send)
	victim := []verdict.PodReference{{Name: "victim", Count: 1}}
	p := &verdict.Place{
		Placements: []verdict.Placement{{Nodes: []uint32{2}, Attempts: 3}},
		Evictions: []verdict.Eviction{
			{Candidate: verdict.Candidate{Node: 1, Victims: victim}}, {Candidate: verdict.Candidate{Node: 2, Victims: victim}},
		},
	}
	for _, err := range []error{s.Evicted(p.Evictions, 2), s.Placed(0, 2), s.Entry(0, &p.Placements[0]), s.End(p, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []part{{[]string{"b"}, 0, 2}, {[]string{"c"}, 0, 2}, {nil, 1, 2}, {nil, 1, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestExplanation(t *testing.T) {
	got := decoded[stowagev1.FilterResponse](t)(encode.Filter(nil, &verdict.Filter{Explanation: &verdict.Explanation{
		Failing: []verdict.Rejection{rejection()},
		Topology: []verdict.TopologyCounts{{
			Rule: verdict.HardSpread, Index: 1, TopologyKey: "zone", Selector: "app=web",
			Domains: []verdict.DomainCount{{
				Value: "z1", Matching: 3, Skew: 2, Feasible: true, Nodes: []uint32{0, 1},
				Conflicting: []verdict.PodReference{
					{Namespace: "default", Name: "p", Node: 1, Count: 1, Template: -1, Queue: -1},
					{Namespace: "default", Node: 1, Count: 2, Template: 0, Queue: -1},
					{Namespace: "default", Node: 0, Count: 1, Template: 0, Queue: 0},
				},
			}},
			Minimum: 1, MaxSkew: 5, MinDomains: 6, SelfMatch: true,
			Uncounted: []verdict.UncountedNodes{{Reason: verdict.NodeTaintsPolicy, Nodes: []uint32{2}}},
		}},
		UntoleratedTaints: []verdict.UntoleratedTaint{
			{Taint: api.Taint{Key: "k", Value: "v", Effect: api.NoExecute}, Nodes: []uint32{2}},
		},
		Undeclared: []verdict.UndeclaredFeature{{Feature: "F", Nodes: []uint32{1}}},
		Shortages: []verdict.ResourceShortage{
			{Node: 1, Resource: "cpu", Requested: 2, Used: 3, Allocatable: 4},
		},
		PortConflicts: []verdict.HostPortConflict{
			{Node: 2, Port: 80, Holder: verdict.PodReference{Name: "q", Node: 2, Count: 1, Template: -1, Queue: -1}},
		},
		ClaimConflicts: []verdict.ClaimConflict{{
			Namespace: "n", Name: "c", Class: "k", Volume: "v", SelectedNode: "s", Reason: verdict.ReasonVolumeZone, Nodes: []uint32{1},
		}},
		AttachShortages: []verdict.AttachShortage{{Node: 1, Driver: "d", Attached: 2, Adds: 3, Limit: 4}},
		VolumeUsers:     []verdict.PodReference{{Name: "u", Node: 2, Count: 1, Template: -1, Queue: -1}},
		Devices:         deviceExplanation(),

		Truncated: true,
	}}, nil, "")).GetExplanation()
	want := &stowagev1.Explanation{
		Truncated:     true,
		FailingChecks: []*stowagev1.Rejection{wantRejection()},
		TopologyCounts: []*stowagev1.TopologyCounts{{
			Rule: stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, Index: 1, TopologyKey: "zone", Selector: "app=web",
			Domains: []*stowagev1.DomainCount{{
				Value: "z1", MatchingPods: 3, Skew: 2, Feasible: true,
				Nodes: &stowagev1.NodeList{Indexes: []uint32{0, 1}},
				ConflictingPods: []*stowagev1.PodReference{
					{Namespace: "default", Name: "p", NodeIndex: new(uint32(1)), Count: 1},
					{
						Namespace: "default", NodeIndex: new(uint32(1)), Count: 2,
						Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 0},
					},
					{
						Namespace: "default", NodeIndex: new(uint32(0)), Count: 1,
						Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: 0},
					},
				},
			}},
			Minimum: 1, MaxSkew: 5, MinDomains: 6, SelfMatch: true,
			UncountedNodes: []*stowagev1.UncountedNodes{{
				Reason: stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_TAINTS_POLICY,
				Nodes:  &stowagev1.NodeList{Indexes: []uint32{2}},
			}},
		}},
		UntoleratedTaints: []*stowagev1.UntoleratedTaint{{
			Taint: &stowagev1.Taint{Key: "k", Value: "v", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE},
			Nodes: &stowagev1.NodeList{Indexes: []uint32{2}},
		}},
		UndeclaredFeatures: []*stowagev1.UndeclaredFeature{{Feature: "F", Nodes: &stowagev1.NodeList{Indexes: []uint32{1}}}},
		ResourceShortages: []*stowagev1.ResourceShortage{
			{NodeIndex: 1, Resource: "cpu", Requested: 2, Used: 3, Allocatable: 4},
		},
		HostPortConflicts: []*stowagev1.HostPortConflict{
			{NodeIndex: 2, Port: 80, Holder: &stowagev1.PodReference{Name: "q", NodeIndex: new(uint32(2)), Count: 1}},
		},
		ClaimConflicts: []*stowagev1.ClaimConflict{{
			Namespace: "n", Name: "c", StorageClassName: "k", VolumeName: "v", SelectedNode: "s",
			Reason: stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE, Nodes: &stowagev1.NodeList{Indexes: []uint32{1}},
		}},
		AttachShortages: []*stowagev1.AttachShortage{{NodeIndex: 1, CsiDriver: "d", Attached: 2, Added: 3, Limit: 4}},
		VolumeUsers:     []*stowagev1.PodReference{{Name: "u", NodeIndex: new(uint32(2)), Count: 1}},
		DeviceRequests:  wantDeviceRequests(),
		DeviceShortages: []*stowagev1.DeviceShortage{{
			Nodes: &stowagev1.NodeList{Indexes: []uint32{1}}, Requests: wantDeviceRequests(), IncompletePools: 1, InvalidPools: 2,
			Constraints: []*stowagev1.UnmetDeviceConstraint{{PodClaim: "gpu", Index: 1, Attribute: "a/b", Distinct: true}},
		}},
		TakenDevices: []*stowagev1.TakenDevice{
			{
				Driver: "d", Pool: "p", Device: "g", NodeIndex: new(uint32(1)), ClaimNamespace: "n", ClaimName: "c",
				Pods: []*stowagev1.PodReference{{Name: "u", NodeIndex: new(uint32(1)), Count: 1}},
			},
			{Device: "shared"},
		},
		UnusableDeviceClaims: []*stowagev1.UnusableDeviceClaim{{
			Namespace: "n", Name: "c", Nodes: &stowagev1.NodeList{Indexes: []uint32{2}},
			Devices: []*stowagev1.DeviceAllocation{{Request: "r", Driver: "d", Pool: "p", Device: "g"}},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The victims of a group may be on any nodes: its eviction has no node, where a pod's on the first node has index 0.
func TestEvictionByGroup(t *testing.T) {
	for _, group := range []string{"", "crew"} {
		got := decoded[stowagev1.PlaceResponse](t)(encode.Place(nil, &verdict.Place{Evictions: []verdict.Eviction{{Group: group}}}, nodes, ""))
		if e := got.Evictions[0]; (e.NodeIndex == nil) != (group != "") || (e.NodeName == "") != (group != "") {
			t.Errorf("group %q: %v", group, e)
		}
	}
}
