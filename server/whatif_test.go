package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// whatIf receives the answers to a WhatIfRequest.
func whatIf(ctx context.Context, r *running, request *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
	stream, err := stowagev1.NewSimulationServiceClient(r.conn).WhatIf(ctx, request)
	if err != nil {
		return nil, err
	}
	var all []*stowagev1.WhatIfResponse
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, m)
	}
}

// busy is a cluster of nodes in three zones with pods of three templates: replicas that keep apart by node, others, and pods of
// a DaemonSet. Node i has the named pod "web-i" and is full with the counted ones.
func busy(nodes int) *stowagev1.Cluster {
	requests := func(millis int64) *stowagev1.PodSpec {
		return &stowagev1.PodSpec{Containers: []*stowagev1.Container{{
			Name: "main", Requests: &stowagev1.Resources{CpuMillis: &millis},
		}}}
	}
	web := requests(1000)
	web.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{{
		LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: "name",
	}}}}
	set := func(kind string) *stowagev1.ControllerReference {
		return &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: kind, Name: "set"}
	}
	c := &stowagev1.Cluster{
		NodeClasses: []*stowagev1.NodeClass{{
			Allocatable:   &stowagev1.Resources{CpuMillis: proto.Int64(4000), MemoryBytes: proto.Int64(32 << 30), Pods: proto.Int64(10)},
			NameLabelKeys: []string{"name"},
		}},
		PodTemplates: []*stowagev1.PodTemplate{
			{Labels: map[string]string{"app": "web"}, Controller: set("ReplicaSet"), Spec: web},
			{Labels: map[string]string{"app": "batch"}, Controller: set("ReplicaSet"), Spec: requests(500)},
			{Labels: map[string]string{"app": "agent"}, Controller: set("DaemonSet"), Spec: requests(100)},
		},
	}
	for i := range nodes {
		n := &stowagev1.Node{
			Name: fmt.Sprint("node-", i), Labels: map[string]string{zone: fmt.Sprint("zone-", i%3)}, ClassIndex: proto.Uint32(0),
			PodCounts: []*stowagev1.PodCount{{TemplateIndex: 1, Count: uint32(1 + i%4)}, {TemplateIndex: 2, Count: 1}},
		}
		if i%2 == 0 {
			n.Pods = []*stowagev1.Pod{{Name: fmt.Sprint("web-", i), Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}}}
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

func inline(c *stowagev1.Cluster) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}}
}

func batch(count uint32) *stowagev1.PendingPods {
	return &stowagev1.PendingPods{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 1}}, Count: &count}
}

// TestWhatIf has one scenario of each kind, and compares with Place on the cluster rebuilt in its later state.
func TestWhatIf(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	r := run(t, c, t.Output(), nil, nil)
	queue := []*stowagev1.PendingPods{batch(3)}
	removed := busy(6)
	removed.Nodes = removed.Nodes[2:]
	added := busy(6)
	one := proto.CloneOf(added.Nodes[5])
	one.Name, one.PodCounts = "added", nil
	added.Nodes = append(added.Nodes, one)
	cordoned := busy(6)
	for _, n := range cordoned.Nodes[:5] {
		n.Unschedulable = true
		n.Taints = []*stowagev1.Taint{
			{Key: "node.kubernetes.io/unschedulable", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE},
		}
	}
	drained, terminating := busy(6), busy(6)
	drained.Nodes[2].Pods, drained.Nodes[2].PodCounts = nil, drained.Nodes[2].PodCounts[1:]
	terminating.Nodes[2].Pods[0].Terminating, terminating.Nodes[2].PodCounts[0].Terminating = true, true
	web := &stowagev1.PendingPods{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}}, Count: new(uint32(1))}
	some := busy(6)
	some.Nodes[0].Pods, some.Nodes[3].PodCounts[0].Count = nil, 1
	drain := []*stowagev1.NodeEvictions{{NodeName: "node-2", Drained: true}}
	back := []*stowagev1.RequeuedPod{
		{Pod: &stowagev1.PodReference{
			Namespace: "default", NodeIndex: new(uint32(2)), Count: 3, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 1},
		}, NodeName: "node-2"},
		{Pod: &stowagev1.PodReference{
			Namespace: "default", Name: "web-2", NodeIndex: new(uint32(2)), Count: 1, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 0},
		}, NodeName: "node-2"},
	}
	tests := []struct {
		scenario *stowagev1.Scenario
		after    *stowagev1.Cluster
		queue    []*stowagev1.PendingPods
		first    uint32 // index of the first node that is left
		back     []*stowagev1.RequeuedPod
	}{
		{&stowagev1.Scenario{Name: "nothing", Queue: queue}, busy(6), queue, 0, nil},
		{
			&stowagev1.Scenario{Name: "delta", Delta: &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{one}}, Queue: queue}, added,
			queue, 0, nil,
		},
		{&stowagev1.Scenario{
			CordonedNodes: []string{"node-0", "node-1", "node-2", "node-3", "node-4"}, Queue: queue,
		}, cordoned, queue, 0, nil},
		{&stowagev1.Scenario{RemovedNodes: []string{"node-1", "node-0"}, Queue: queue}, removed, queue, 2, nil},
		{
			&stowagev1.Scenario{Evictions: drain, RequeueEvicted: true, Queue: queue}, drained,
			[]*stowagev1.PendingPods{queue[0], batch(3), web}, 0, back,
		},
		{
			&stowagev1.Scenario{
				Evictions: drain, RequeueEvicted: true, EvictedPods: stowagev1.EvictedPods_EVICTED_PODS_TERMINATING,
			}, terminating, []*stowagev1.PendingPods{batch(3), web}, 0, back,
		},
		{&stowagev1.Scenario{
			Name: "some",
			Evictions: []*stowagev1.NodeEvictions{
				{NodeName: "node-3", PodCounts: []*stowagev1.PodCount{{TemplateIndex: 1, Count: 1}, {TemplateIndex: 1, Count: 2}}},
				{NodeName: "node-0", Pods: []*stowagev1.NamespacedName{{Name: "web-0"}}},
			},
			Queue: queue,
		}, some, queue, 0, nil},
	}
	request := &stowagev1.WhatIfRequest{Context: inline(busy(6))}
	request.Context.IncludeNodeNames = true
	for _, test := range tests {
		request.Scenarios = append(request.Scenarios, test.scenario)
	}
	bySnapshot := proto.CloneOf(request)
	stored, err := put(t, r.client(), part(busy(6)), end(""))
	if err != nil {
		t.Fatal(err)
	}
	bySnapshot.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: stored.Address}}
	for how, request := range map[string]*stowagev1.WhatIfRequest{"inline": request, "snapshot": bySnapshot} {
		for _, mode := range []stowagev1.QueueMode{0, stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER} {
			request.QueueMode, request.TieBreakSeed, request.TieBreak = mode, uint64(mode), stowagev1.TieBreak(mode)
			got, err := whatIf(t.Context(), r, request)
			if err != nil || len(got) != len(tests) {
				t.Fatalf("%s: %d answers, %v", how, len(got), err)
			}
			for i, test := range tests {
				place := &stowagev1.PlaceRequest{
					Context: inline(test.after), Queue: test.queue, QueueMode: mode, TieBreakSeed: uint64(mode), TieBreak: stowagev1.TieBreak(mode),
				}
				place.Context.IncludeNodeNames = true
				placement, err := r.client().Place(t.Context(), place)
				if err != nil {
					t.Fatal(err)
				}
				placement.SnapshotAddress = ""
				renumber(placement, test.first)
				want := &stowagev1.WhatIfResponse{
					ScenarioIndex: uint32(i), Name: test.scenario.Name, Placement: placement, Requeued: test.back,
				}
				if diff := cmp.Diff(want, got[i], protocmp.Transform()); diff != "" {
					t.Errorf("%s, scenario %d (-want +got):\n%s", how, i, diff)
				}
			}
		}
	}
}

// renumber gives nodes the indexes that they have if some nodes are before them.
func renumber(placement *stowagev1.PlaceResponse, before uint32) {
	for _, p := range placement.Placements {
		for j := range p.Nodes.Indexes {
			p.Nodes.Indexes[j] += before
		}
		for _, rejected := range p.Rejections {
			for j := range rejected.Nodes.Indexes {
				rejected.Nodes.Indexes[j] += before
			}
		}
	}
}

// TestWhatIfUnknownPods evicts pods whose templates are their own: what comes back is unknown. Pods of a DaemonSet stay.
func TestWhatIfUnknownPods(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	c := busy(3)
	own := func(name, kind string) *stowagev1.Pod {
		template := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{}}
		if kind != "" {
			template.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: kind, Name: "own"}
		}
		return &stowagev1.Pod{Name: name, Source: &stowagev1.Pod_Template{Template: template}}
	}
	c.Nodes[1].Pods = []*stowagev1.Pod{own("agent", "DaemonSet"), own("alone", ""), own("web", "ReplicaSet")}
	got, err := whatIf(t.Context(), r, &stowagev1.WhatIfRequest{Context: inline(c), Scenarios: []*stowagev1.Scenario{{
		Evictions: []*stowagev1.NodeEvictions{{NodeName: "node-1", Drained: true}}, RequeueEvicted: true,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	a := got[0]
	if len(a.Requeued) != 2 || a.Requeued[0].Unknown || !a.Requeued[1].Unknown || a.Requeued[1].Pod.Name != "web" ||
		len(a.Placement.Placements) != 2 || a.Placement.Placements[1].UnplacedCount != 1 || a.Placement.UnplacedCount != 1 {
		t.Errorf("got %v", a)
	}
}

// TestWhatIfStops ends a queue at the first unplaced pod, and at the first group.
func TestWhatIfStops(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	never := batch(2)
	never.Pod = &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
		Spec: &stowagev1.PodSpec{NodeSelector: map[string]string{"no": "node"}},
	}}}
	grouped := proto.CloneOf(never)
	grouped.PodGroup = "g"
	got, err := whatIf(t.Context(), r, &stowagev1.WhatIfRequest{Context: inline(busy(3)), Scenarios: []*stowagev1.Scenario{
		{Queue: []*stowagev1.PendingPods{batch(1), never, batch(1)}, StopAtFirstUnplaced: true},
		{Queue: []*stowagev1.PendingPods{batch(1), never, batch(1)}},
		{
			Queue: []*stowagev1.PendingPods{batch(1), grouped, batch(1)}, StopAtFirstUnplaced: true,
			PodGroups: []*stowagev1.PodGroup{{Name: "g"}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		stops := i != 1
		last := a.Placement.Placements[2]
		if a.Stopped != stops || (last.UnattemptedCount == 1) != stops || a.Placement.Placements[1].UnattemptedCount > 0 ||
			a.Placement.Placements[1].UnplacedCount != 2 {
			t.Errorf("scenario %d: %v", i, a)
		}
	}
}

// manyScenarios returns random scenarios of the cluster of busy(nodes).
func manyScenarios(rng *rand.Rand, nodes, scenarios int) []*stowagev1.Scenario {
	var all []*stowagev1.Scenario
	for i := range scenarios {
		s := &stowagev1.Scenario{
			Name: fmt.Sprint("scenario-", i), RequeueEvicted: true, Queue: []*stowagev1.PendingPods{batch(rng.Uint32N(4))},
		}
		node := fmt.Sprint("node-", rng.IntN(nodes))
		switch rng.IntN(4) {
		case 0:
			s.Evictions = []*stowagev1.NodeEvictions{{NodeName: node, Drained: true}}
			s.CordonedNodes = []string{node}
			s.EvictedPods = stowagev1.EvictedPods(rng.Int32N(3))
		case 1:
			s.RemovedNodes = []string{node}
		case 2:
			s.Delta = &stowagev1.ClusterDelta{NodePods: []*stowagev1.NodePodsDelta{{
				NodeName: node, RemovedPodCounts: []*stowagev1.PodCount{{TemplateIndex: 2, Count: 1}},
			}}}
		}
		all = append(all, s)
	}
	return all
}

// TestWhatIfIsDeterministic answers many scenarios with several numbers of processors, and out of order.
func TestWhatIfIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	r := run(t, testConfig(), t.Output(), nil, nil)
	request := &stowagev1.WhatIfRequest{
		Context: inline(busy(20)), Scenarios: manyScenarios(rand.New(rand.NewPCG(1, 163)), 20, 300),
	}
	encoded := func(request *stowagev1.WhatIfRequest) (all [][]byte) {
		got, err := whatIf(t.Context(), r, request)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got {
			raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, raw)
		}
		return all
	}
	want := encoded(request)
	if len(want) != len(request.Scenarios) {
		t.Fatalf("%d answers", len(want))
	}
	for _, processors := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(processors)
		if got := encoded(request); !slices.EqualFunc(want, got, bytes.Equal) {
			t.Errorf("other answers with %d processors", processors)
		}
	}
	request.Unordered = true
	got := encoded(request)
	slices.SortFunc(want, bytes.Compare)
	slices.SortFunc(got, bytes.Compare)
	if !slices.EqualFunc(want, got, bytes.Equal) {
		t.Error("other answers out of order")
	}
}

// TestWhatIfNamesAddedNodes places pods on the nodes that a delta adds to an empty cluster.
func TestWhatIfNamesAddedNodes(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	c := busy(1)
	added := c.Nodes
	c.Nodes = nil
	for _, include := range []bool{true, false} {
		in := inline(c)
		in.IncludeNodeNames = include
		got, err := whatIf(t.Context(), r, &stowagev1.WhatIfRequest{Context: in, Scenarios: []*stowagev1.Scenario{
			{Delta: &stowagev1.ClusterDelta{Nodes: added}, Queue: []*stowagev1.PendingPods{batch(1)}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		p := got[0].GetPlacement().GetPlacements()[0]
		if names := p.GetNodes().GetNames(); len(p.GetNodes().GetIndexes()) != 1 || include != slices.Equal(names, []string{"node-0"}) {
			t.Errorf("names included: %t: %v", include, p)
		}
	}
}

// TestWhatIfMembers evicts pods beside pods of a group, which stay and count, and pods of the group, which do not.
func TestWhatIfMembers(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	c := busy(3)
	daemon := &stowagev1.PodTemplate{Controller: &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}}
	daemon.Spec = &stowagev1.PodSpec{SchedulingGroup: "g"}
	c.Nodes[0].Pods = append(c.Nodes[0].Pods, &stowagev1.Pod{Name: "stays", Source: &stowagev1.Pod_Template{Template: daemon}})
	member := &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{SchedulingGroup: "g"}}
	c.Nodes[2].Pods = append(c.Nodes[2].Pods, &stowagev1.Pod{Name: "member", Source: &stowagev1.Pod_Template{Template: member}})
	c.PodGroups = []*stowagev1.PodGroup{{Name: "default/g", MinCount: proto.Uint32(3)}}
	scenario := func(evicted string) *stowagev1.Scenario {
		return &stowagev1.Scenario{
			Evictions: []*stowagev1.NodeEvictions{{NodeName: "node-0", Drained: true}, {NodeName: "node-2", Pods: names(evicted)}},
			Queue:     grouped(),
		}
	}
	got, err := whatIf(t.Context(), r, &stowagev1.WhatIfRequest{
		Context: inline(c), Scenarios: []*stowagev1.Scenario{scenario("web-2"), scenario("member")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []stowagev1.PodGroupStatus{
		stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE, stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE,
	} {
		g := got[i].GetPlacement().GetPodGroups()[0]
		if g.GetStatus() != want || g.GetName() != "default/g" {
			t.Errorf("scenario %d: %v", i, g)
		}
	}
}

// malformedScenarios are scenarios of the cluster of busy(4) that are refused, by the field.
var malformedScenarios = map[string]*stowagev1.Scenario{
	"name":                                      {Name: strings.Repeat("n", 254)},
	"delta.removed_nodes[0]":                    {Delta: &stowagev1.ClusterDelta{RemovedNodes: []string{"gone"}}},
	"cordoned_nodes[1]":                         {CordonedNodes: []string{"node-0", "node-9"}},
	"cordoned_nodes[0]":                         {CordonedNodes: []string{""}},
	"cordoned_nodes[2]":                         {CordonedNodes: []string{"node-0", "node-1", "node-0"}},
	"removed_nodes[0]":                          {RemovedNodes: []string{strings.Repeat("n", 254)}},
	"removed_nodes[1]":                          {RemovedNodes: []string{"node-0", "node-0"}},
	"evictions[0].node_name":                    {Evictions: []*stowagev1.NodeEvictions{{}}},
	"evictions[1].node_name":                    {Evictions: []*stowagev1.NodeEvictions{{NodeName: "node-0"}, {NodeName: "node-0"}}},
	"evictions[0].pods[1]":                      evicting(&stowagev1.NodeEvictions{Pods: names("web-0", "web-0")}),
	"evictions[0].pods[0]":                      evicting(&stowagev1.NodeEvictions{Pods: inNamespace("other")}),
	"evictions[0].pods[0].name":                 evicting(&stowagev1.NodeEvictions{Pods: names("")}),
	"evictions[0].pods[0].namespace":            evicting(&stowagev1.NodeEvictions{Pods: inNamespace(strings.Repeat("n", 64))}),
	"evictions[0].pods":                         evicting(&stowagev1.NodeEvictions{Drained: true, Pods: names("web-0")}),
	"evictions[0].pod_counts":                   evicting(&stowagev1.NodeEvictions{Drained: true, PodCounts: counts(1, 1)}),
	"evictions[0].pod_counts[0].count":          evicting(&stowagev1.NodeEvictions{PodCounts: counts(1, 0)}),
	"evictions[0].pod_counts[1].count":          evicting(&stowagev1.NodeEvictions{PodCounts: append(counts(1, 1), counts(1, 1)...)}),
	"evictions[0].pod_counts[0].template_index": evicting(&stowagev1.NodeEvictions{PodCounts: counts(3, 1)}),
	"evicted_pods":                              {EvictedPods: 3},
	"queue[0].pod":                              {Queue: []*stowagev1.PendingPods{{}}},
	"queue[1].pod.template_index": {Queue: []*stowagev1.PendingPods{batch(1), {
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 7}},
	}}},
	"queue":              {Queue: []*stowagev1.PendingPods{batch(1_000_001)}},
	"queue[0].pod_group": {Queue: []*stowagev1.PendingPods{{Pod: batch(1).Pod, PodGroup: "none"}}},
	"pod_groups[0].name": {PodGroups: []*stowagev1.PodGroup{{}}},
	"requeue_evicted": {
		RequeueEvicted: true, Queue: []*stowagev1.PendingPods{batch(1_000_000)},
		Evictions: []*stowagev1.NodeEvictions{{NodeName: "node-0", Drained: true}},
	},
}

// grouped returns a pod of a group.
func grouped() []*stowagev1.PendingPods {
	of := batch(1)
	of.PodGroup = "default/g"
	return []*stowagev1.PendingPods{of}
}

func evicting(e *stowagev1.NodeEvictions) *stowagev1.Scenario {
	e.NodeName = "node-0"
	return &stowagev1.Scenario{Evictions: []*stowagev1.NodeEvictions{e}}
}

func names(of ...string) (out []*stowagev1.NamespacedName) {
	for _, name := range of {
		out = append(out, &stowagev1.NamespacedName{Name: name})
	}
	return out
}

func inNamespace(namespace string) []*stowagev1.NamespacedName {
	return []*stowagev1.NamespacedName{{Namespace: namespace, Name: "web-0"}}
}

func counts(template, count uint32) []*stowagev1.PodCount {
	return []*stowagev1.PodCount{{TemplateIndex: template, Count: count}}
}

// limitsOfFields are the fields of malformedScenarios whose annotations refuse them, too.
var limitsOfFields = []string{
	"name", "cordoned_nodes[0]", "removed_nodes[0]", "evictions[0].node_name", "evictions[0].pods[0].name",
	"evictions[0].pods[0].namespace", "evictions[0].pod_counts[0].count", "evicted_pods", "queue[0].pod", "pod_groups[0].name",
}

// TestMalformedScenarios sends each malformed scenario behind sound ones, and before others.
func TestMalformedScenarios(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	for field, scenario := range malformedScenarios {
		request := &stowagev1.WhatIfRequest{Context: inline(busy(4)), Scenarios: []*stowagev1.Scenario{
			{}, {Queue: []*stowagev1.PendingPods{batch(1)}}, scenario, {Name: strings.Repeat("n", 300)},
		}}
		got, err := whatIf(t.Context(), r, request)
		code, _, _, violations := why(err)
		if code != codes.InvalidArgument || len(got) > 0 || len(violations) == 0 || violations[0].Field != "scenarios[2]."+field {
			t.Errorf("%s: %d answers, %v, %v", field, len(got), err, violations)
		}
		for _, v := range violations {
			if !strings.HasPrefix(v.Field, "scenarios[2]") {
				t.Errorf("%s: also %v", field, v)
			}
		}
		request.Scenarios = request.Scenarios[:3]
		var refused *protovalidate.ValidationError
		if err := v.Validate(request); errors.As(err, &refused) != slices.Contains(limitsOfFields, field) {
			t.Errorf("%s: the annotations: %v", field, err)
		} else if refused != nil {
			if at := protovalidate.FieldPathString(refused.Violations[0].Proto.GetField()); at != "scenarios[2]."+field {
				t.Errorf("%s: the annotations refuse %s", field, at)
			}
		}
	}
	for field, request := range map[string]*stowagev1.WhatIfRequest{
		"context":                       {},
		"queue_mode":                    {Context: inline(busy(1)), QueueMode: 3},
		"tie_break":                     {Context: inline(busy(1)), TieBreak: -1},
		"scenarios":                     {Context: inline(busy(1)), Scenarios: slices.Repeat([]*stowagev1.Scenario{{}}, 100_001)},
		"context.cluster.nodes[0].name": {Context: inline(&stowagev1.Cluster{Nodes: []*stowagev1.Node{{}}})},
		"scenarios[0].pod_groups[0].mode": {
			Context: inline(busy(1)), QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER,
			Scenarios: []*stowagev1.Scenario{{
				PodGroups: []*stowagev1.PodGroup{{Name: "g", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}},
			}},
		},
		"scenarios[0].stop_at_first_unplaced": {
			Context: inline(busy(1)), QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER,
			Scenarios: []*stowagev1.Scenario{{StopAtFirstUnplaced: true}},
		},
	} {
		_, err := whatIf(t.Context(), r, request)
		if code, _, _, violations := why(err); code != codes.InvalidArgument || len(violations) != 1 || violations[0].Field != field {
			t.Errorf("%s: %v, %v", field, err, violations)
		}
	}
}

// endless returns a request whose scenarios take longer than any test.
func endless() *stowagev1.WhatIfRequest {
	place := long()
	request := &stowagev1.WhatIfRequest{Context: place.Context, Scenarios: []*stowagev1.Scenario{{}}}
	for range 1000 {
		request.Scenarios = append(request.Scenarios, &stowagev1.Scenario{Queue: place.Queue})
	}
	return request
}

// TestWhatIfIsCancelled cancels a call after its first answer. The server must stop.
func TestWhatIfIsCancelled(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := stowagev1.NewSimulationServiceClient(r.conn).WhatIf(ctx, endless())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = stream.Recv()
	}
	if code, _, _, _ := why(err); code != codes.Canceled {
		t.Errorf("got %v", err)
	}
	r.stop() // which waits for calls that go on
	select {
	case err := <-r.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("the server goes on")
	}
}

// TestWhatIfDeadline gives a call too little time. The answers so far arrive.
func TestWhatIfDeadline(t *testing.T) {
	c := testConfig()
	c.MaxRequestDuration = time.Second
	r := run(t, c, t.Output(), nil, nil)
	got, err := whatIf(t.Context(), r, endless())
	if code, _, _, _ := why(err); code != codes.DeadlineExceeded {
		t.Errorf("%d answers, %v", len(got), err)
	}
}

// TestWhatIfReserves asks for a scenario that copies a part of the cluster beside another request, where the limit of bytes in
// flight is less than what the scenario counts for.
func TestWhatIfReserves(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 4 << 20
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 20<<10, 20<<10
	r := run(t, c, t.Output(), nil, nil)
	// Nodes without anything count for more than their bytes: not all of them fit into one call.
	stored, err := put(t, r.client(), part(&stowagev1.Cluster{}), end(""))
	bare := &stowagev1.Cluster{}
	for i := 0; i < 2000 && err == nil; i += 250 {
		delta := &stowagev1.ClusterDelta{}
		for n := range 250 {
			delta.Nodes = append(delta.Nodes, &stowagev1.Node{Name: fmt.Sprint(i + n)})
		}
		bare.Nodes = append(bare.Nodes, delta.Nodes...)
		var next *content.Content
		if next, err = content.Of(bare); err != nil {
			break
		}
		stored, err = put(t, r.client(),
			&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: stored.GetAddress()}},
			&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Delta{Delta: delta}}, end(next.Address().String()))
	}
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s *stowagev1.Scenario) error {
		on := &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: stored.Address}}
		_, err := whatIf(t.Context(), r, &stowagev1.WhatIfRequest{
			Context: &stowagev1.DecisionContext{Base: on}, Scenarios: []*stowagev1.Scenario{{}, s},
		})
		return err
	}
	var evictions []*stowagev1.NodeEvictions
	for i := 0; i < 2000; i += 64 { // each copies another part of the columns
		evictions = append(evictions, &stowagev1.NodeEvictions{NodeName: fmt.Sprint(i), Drained: true})
	}
	for what, copies := range map[string]*stowagev1.Scenario{
		"a delta":       {Delta: &stowagev1.ClusterDelta{RemovedNodes: []string{"7"}}},
		"removed nodes": {RemovedNodes: []string{"7"}},
		"evictions":     {Evictions: evictions},
	} {
		if err := ask(copies); err != nil {
			t.Errorf("%s alone: %v", what, err)
		}
		eventually(t, what+" beside another request: refused", func() bool {
			refused := false
			_ = besideHalfAPut(t, r, func() error {
				refused = overloaded(ask(copies))
				if err := ask(&stowagev1.Scenario{CordonedNodes: []string{"7"}}); err != nil {
					t.Errorf("without a copy: %v", err)
				}
				return nil
			})
			return refused
		})
	}
}
