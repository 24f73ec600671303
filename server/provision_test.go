package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func nodeTemplate(name, inZone string, cpus int64, price uint64) *stowagev1.NodeTemplate {
	n := fourCPUs(name)
	n.Labels, n.Allocatable.CpuMillis = map[string]string{zone: inZone}, new(1000*cpus)
	return &stowagev1.NodeTemplate{Node: n, Price: price}
}

// TestProvision adds nodes for pods of one and of three CPUs, and for one that fits on none.
func TestProvision(t *testing.T) {
	r := snapshotConfig(t)
	cluster := twoZones()
	cluster.Nodes = append(cluster.Nodes, &stowagev1.Node{Name: "small-1"})
	cluster.PodTemplates = []*stowagev1.PodTemplate{cpuPod("agent", 1, 1).GetTemplate()}
	cluster.NodeClasses = []*stowagev1.NodeClass{{
		Labels: map[string]string{zone: "z-1"}, Allocatable: &stowagev1.Resources{CpuMillis: new(int64(16000)), Pods: new(int64(9))},
	}}
	stored, err := put(t, r.client(), part(cluster), end(""))
	if err != nil {
		t.Fatal(err)
	}
	small, large := nodeTemplate("small", "z-0", 4, 10), nodeTemplate("large", "z-1", 0, 38)
	small.MaxCount = new(uint32(50))
	large.Node = &stowagev1.Node{ // with a pod of a DaemonSet, which takes a CPU
		Name: "large", ClassIndex: new(uint32(0)), PodCounts: []*stowagev1.PodCount{{TemplateIndex: 0, Count: 1}},
	}
	three, huge := cpuPod("three", 1, 3), cpuPod("huge", 1, 17)
	three.Unread = []*stowagev1.UnreadField{{Object: "Pod default/three", Field: "spec.x", Consequence: "It needs x."}}
	ask := func(on *stowagev1.DecisionContext) *stowagev1.ProvisionResponse {
		t.Helper()
		got, err := r.simulations().Provision(t.Context(), &stowagev1.ProvisionRequest{
			Context: on, Queue: []*stowagev1.PendingPods{{Pod: three, Count: new(uint32(9))}, {Pod: huge}},
			Templates: []*stowagev1.NodeTemplate{small, large},
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask(whole(cluster))
	// The cluster has room for four of three CPUs. A large node has room for five.
	want := &stowagev1.ProvisionResponse{
		Counts: []uint32{0, 1}, NodeNames: []string{"large-0"}, Cost: 38, LowerBound: 38, Steps: got.Steps, // not optimal: there is a doubt
		Place:           got.Place,
		SnapshotAddress: addressOf(t, cluster),
		Unplaced: []*stowagev1.UnprovisionedPods{{QueueIndex: 1, Impossible: true, Refusals: []*stowagev1.TemplateRefusal{
			{TemplateIndex: 0, Message: "0/1 nodes are available: 1 Insufficient cpu."},
			{TemplateIndex: 1, Message: "0/1 nodes are available: 1 Insufficient cpu."},
		}}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	p := got.Place.Placements[0]
	onLarge := slices.Contains(p.Nodes.Names, "large-0")
	if got.Place.PlacedCount != 9 || got.Place.UnplacedCount != 1 || len(got.Place.Doubts) != 1 || !onLarge {
		t.Errorf("placements %v", got.Place)
	}
	again, stated := ask(&stowagev1.DecisionContext{
		Base:             &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: stored.Address}},
		IncludeNodeNames: true,
	}), ask(whole(cluster))
	if diff := cmp.Diff(stated, again, protocmp.Transform()); diff != "" {
		t.Errorf("by the snapshot, -want +got:\n%s", diff)
	}
}

// TestMalformedProvision expects that the decoder and the annotations refuse the same fields.
func TestMalformedProvision(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	sound := func() *stowagev1.ProvisionRequest {
		return &stowagev1.ProvisionRequest{
			Context: whole(twoZones()), Queue: []*stowagev1.PendingPods{{Pod: smallPod(), PodGroup: "g"}},
			PodGroups: []*stowagev1.PodGroup{{Name: "g"}},
			Templates: []*stowagev1.NodeTemplate{nodeTemplate("a-0", "z", 1, 1), nodeTemplate("b", "z", 1, 1e12)},
		}
	}
	if err := v.Validate(sound()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.simulations().Provision(t.Context(), sound()); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("k", 318)
	for _, test := range []struct {
		field  string
		change func(*stowagev1.ProvisionRequest)
		// only is set for what annotations cannot say.
		only bool
	}{
		{"context", func(r *stowagev1.ProvisionRequest) { r.Context = nil }, false},
		{"context.base", func(r *stowagev1.ProvisionRequest) { r.Context.Base = nil }, false},
		{"queue[0].pod", func(r *stowagev1.ProvisionRequest) { r.Queue[0].Pod = nil }, false},
		{"queue[0].pod_group", func(r *stowagev1.ProvisionRequest) { r.Queue[0].PodGroup = "h" }, true},
		{"queue", func(r *stowagev1.ProvisionRequest) { r.Queue[0].Count = new(uint32(1_000_001)) }, true},
		{"pod_groups[0].mode", func(r *stowagev1.ProvisionRequest) {
			r.PodGroups[0].Mode = stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT
		}, true},
		{"pod_groups[0].name", func(r *stowagev1.ProvisionRequest) { r.PodGroups[0].Name = "" }, false},
		{"candidate_nodes.indexes[0]", func(r *stowagev1.ProvisionRequest) {
			r.CandidateNodes = &stowagev1.CandidateNodes{Indexes: []uint32{3}}
		}, true},
		{"max_nodes", func(r *stowagev1.ProvisionRequest) { r.MaxNodes = new(uint32(0)) }, false},
		{"max_nodes", func(r *stowagev1.ProvisionRequest) { r.MaxNodes = new(uint32(100_001)) }, false},
		{"max_steps", func(r *stowagev1.ProvisionRequest) { r.MaxSteps = new(uint32(0)) }, false},
		{"queue_mode", func(r *stowagev1.ProvisionRequest) { r.QueueMode = 9 }, false},
		{"max_steps", func(r *stowagev1.ProvisionRequest) { r.MaxSteps = new(uint32(1<<26 + 1)) }, false},
		{"templates", func(r *stowagev1.ProvisionRequest) { r.Templates = nil }, false},
		{"templates", func(r *stowagev1.ProvisionRequest) { r.Templates = slices.Repeat(r.Templates, 5001) }, false},
		{"templates[1].node", func(r *stowagev1.ProvisionRequest) { r.Templates[1].Node = nil }, false},
		{"templates[1].node.name", func(r *stowagev1.ProvisionRequest) { r.Templates[1].Node.Name = "" }, false},
		{"templates[1].node.name", func(r *stowagev1.ProvisionRequest) { r.Templates[1].Node.Name = "a-0" }, true},
		{"templates[1].node.name", func(r *stowagev1.ProvisionRequest) { r.Templates[1].Node.Name = long[:53] }, true},
		{"templates[1].node.labels", func(r *stowagev1.ProvisionRequest) {
			r.Templates[1].Node.Labels = map[string]string{long: ""}
		}, false},
		{"templates[1].node.taints[0].effect", func(r *stowagev1.ProvisionRequest) {
			r.Templates[1].Node.Taints = []*stowagev1.Taint{{Key: "k"}}
		}, false},
		{"templates[0].node.class_index", func(r *stowagev1.ProvisionRequest) {
			r.Templates[0].Node.ClassIndex = new(uint32(0))
		}, true},
		{"templates[0].node.pod_counts[0].template_index", func(r *stowagev1.ProvisionRequest) {
			r.Templates[0].Node.PodCounts = []*stowagev1.PodCount{{TemplateIndex: 9, Count: 1}}
		}, true},
		{"templates[0].node.pods[0].name", func(r *stowagev1.ProvisionRequest) {
			r.Templates[0].Node.Pods = []*stowagev1.Pod{{Name: long, Source: smallPod().Source}}
		}, false},
		{"templates[0].node", func(r *stowagev1.ProvisionRequest) {
			r.Context.GetCluster().PodTemplates = []*stowagev1.PodTemplate{{}}
			r.Templates[0].Node.PodCounts = []*stowagev1.PodCount{{Count: 1001}}
		}, true},
		{"templates", func(r *stowagev1.ProvisionRequest) { // with 10,000 nodes
			r.Context.GetCluster().PodTemplates = []*stowagev1.PodTemplate{{}}
			r.Templates[0].Node.PodCounts = []*stowagev1.PodCount{{Count: 401}}
		}, true},
		{"templates[0].node.nominated_pods", func(r *stowagev1.ProvisionRequest) {
			r.Templates[0].Node.NominatedPods = []*stowagev1.Pod{{Name: "n", Source: smallPod().Source}}
		}, true},
		{"templates[1].price", func(r *stowagev1.ProvisionRequest) { r.Templates[1].Price++ }, false},
		{"templates[1].name_label_keys[0]", func(r *stowagev1.ProvisionRequest) { r.Templates[1].NameLabelKeys = []string{""} }, false},
		{"templates[1].name_label_keys[0]", func(r *stowagev1.ProvisionRequest) {
			r.Templates[1].NameLabelKeys = []string{long}
		}, false},
		{"templates[1].name_label_keys", func(r *stowagev1.ProvisionRequest) {
			r.Templates[1].NameLabelKeys = slices.Repeat([]string{"k"}, 10_001)
		}, false},
		{"templates[1].resource_slices[0].name", func(r *stowagev1.ProvisionRequest) { ofNewNode(r).Name = "" }, false},
		{"templates[1].resource_slices[0]", func(r *stowagev1.ProvisionRequest) { ofNewNode(r).AllNodes = true }, true},
		{"templates[1].resource_slices[0]", func(r *stowagev1.ProvisionRequest) { ofNewNode(r).NodeName = "a" }, true},
		{"templates[1].resource_slices[1].name", func(r *stowagev1.ProvisionRequest) {
			r.Templates[1].ResourceSlices = []*stowagev1.ResourceSlice{ofNewNode(r), ofNewNode(r)}
		}, true},
		{"templates", func(r *stowagev1.ProvisionRequest) { // with 10,000 nodes
			ofNewNode(r).Devices = slices.Repeat([]*stowagev1.Device{{Name: "d"}}, 400)
		}, true},
	} {
		request := sound()
		test.change(request)
		_, err := r.simulations().Provision(t.Context(), request)
		code, reason, _, violations := why(err)
		named := slices.ContainsFunc(violations, func(v *errdetails.BadRequest_FieldViolation) bool {
			return strings.HasPrefix(v.GetField(), test.field)
		})
		if code != codes.InvalidArgument || reason != "INVALID_REQUEST" || !named {
			t.Errorf("%s: %v", test.field, err)
		}
		if refused := v.Validate(request) != nil; refused == test.only {
			t.Errorf("%s: the annotations refuse it: %t", test.field, refused)
		}
	}
}

// TestProvisionReserves asks for nodes beside another request, where the limit of bytes in flight is less than what the pods of
// new nodes, or the trials, count for.
func TestProvisionReserves(t *testing.T) {
	c := testConfig()
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 400<<10, 400<<10
	r := run(t, c, t.Output(), nil, nil)
	ask := func(count uint32, pods, maxNodes int) error {
		request := &stowagev1.ProvisionRequest{
			Context: whole(&stowagev1.Cluster{}), Queue: []*stowagev1.PendingPods{{Pod: smallPod(), Count: &count}},
			Templates: []*stowagev1.NodeTemplate{nodeTemplate("t", "z", 1, 1)},
			MaxNodes:  new(uint32(maxNodes)), MaxSteps: new(uint32(1)),
		}
		for i := range pods {
			request.Templates[0].Node.Pods = append(request.Templates[0].Node.Pods, cpuPod(fmt.Sprint("d", i), 0, 0))
		}
		_, err := r.simulations().Provision(t.Context(), request)
		return err
	}
	for _, test := range []struct {
		what     string
		count    uint32
		pods     int
		maxNodes int
		refused  bool
	}{
		{"few", 1, 1, 100, false},
		{"pods of new nodes", 1, 100, 100, true},
		{"trials", 100_000, 1, 100, true},
		{"new nodes", 1, 1, 2000, true},
	} {
		if err := ask(test.count, test.pods, test.maxNodes); err != nil {
			t.Errorf("%s alone: %v", test.what, err)
		}
		beside := func() error {
			return besideHalfAPut(t, r, func() error { return ask(test.count, test.pods, test.maxNodes) })
		}
		if test.refused {
			eventually(t, test.what+" beside another request: refused", func() bool { return overloaded(beside()) })
		} else if err := beside(); err != nil {
			t.Errorf("%s beside another request: %v", test.what, err)
		}
	}
}

// TestProvisionDeadline ends a search that would take much longer.
func TestProvisionDeadline(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	request := &stowagev1.ProvisionRequest{Context: whole(&stowagev1.Cluster{}), MaxSteps: new(uint32(1 << 26))}
	for i := range int64(30) {
		request.Templates = append(request.Templates, nodeTemplate(fmt.Sprint("t", i), "z", 3+i, uint64(1000+331*i)))
		pod := cpuPod(fmt.Sprint("p", i), 1, 1+i%7)
		request.Queue = append(request.Queue, &stowagev1.PendingPods{Pod: pod, Count: new(uint32(500))})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got, err := r.simulations().Provision(ctx, request); err == nil {
		t.Errorf("an answer with %d steps", got.Steps)
	} else if code, _, _, _ := why(err); code != codes.DeadlineExceeded {
		t.Error(err)
	}
}

// ofNewNode returns a resource slice of the second template.
func ofNewNode(r *stowagev1.ProvisionRequest) *stowagev1.ResourceSlice {
	s := &stowagev1.ResourceSlice{Name: "s", Driver: "d", Pool: r.Templates[1].Node.Name, NodeName: r.Templates[1].Node.Name}
	r.Templates[1].ResourceSlices = []*stowagev1.ResourceSlice{s}
	return s
}

// TestProvisionBuysDevices: the new node that has a device takes the pod that claims one.
func TestProvisionBuysDevices(t *testing.T) {
	r := snapshotConfig(t)
	pod := smallPod()
	pod.GetTemplate().Spec.ResourceClaims = []*stowagev1.PodResourceClaim{{Name: "c", Template: &stowagev1.ResourceClaimSpec{
		Requests: []*stowagev1.DeviceRequest{{Name: "r", Exactly: &stowagev1.ExactDeviceRequest{DeviceClassName: "gpu"}}},
	}}}
	request := &stowagev1.ProvisionRequest{
		Context:   whole(&stowagev1.Cluster{DeviceClasses: []*stowagev1.DeviceClass{{Name: "gpu"}}}),
		Queue:     []*stowagev1.PendingPods{{Pod: pod}},
		Templates: []*stowagev1.NodeTemplate{nodeTemplate("a", "z", 1, 1), nodeTemplate("b", "z", 1, 2)},
	}
	ofNewNode(request).Devices = []*stowagev1.Device{{Name: "gpu-0"}}
	out, err := r.simulations().Provision(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	given := out.GetPlace().GetClaimDevices()
	if !slices.Equal(out.GetCounts(), []uint32{0, 1}) || !out.GetOptimal() || len(given) != 1 || given[0].GetDevices()[0].GetPool() != "b-0" {
		t.Errorf("%v", out)
	}
}
