package server

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// doubtsIn returns the doubts of a message.
func doubtsIn(t *testing.T, m proto.Message) (out []*stowagev1.Doubt) {
	t.Helper()
	err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		if v, ok := p.Index(-1).Value.Interface().(protoreflect.Message); ok {
			if d, ok := v.Interface().(*stowagev1.Doubt); ok {
				out = append(out, d)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replicated gives a pod a controller, so that it is created again once it is evicted.
func replicated(p *stowagev1.Pod) *stowagev1.Pod {
	p.GetTemplate().Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}
	p.GetTemplate().Labels = map[string]string{"app": "web"}
	return p
}

// doubted is requests for each decision, about a pending pod or, where a request has none, about pods on node a.
func doubted(about *stowagev1.DecisionContext, pod *stowagev1.Pod) map[string]proto.Message {
	queue := []*stowagev1.PendingPods{{Pod: pod}}
	place := &stowagev1.PlaceRequest{Context: about, Queue: queue}
	template := &stowagev1.NodeTemplate{Node: fourCPUs("new"), Price: 1}
	evicted := &stowagev1.Scenario{
		Evictions: []*stowagev1.NodeEvictions{{NodeName: "a", Drained: true}}, RequeueEvicted: true,
	}
	only := &stowagev1.CandidateNodes{Names: []string{"a"}}
	return map[string]proto.Message{
		"Filter":      &stowagev1.FilterRequest{Context: about, Pod: pod},
		"Score":       &stowagev1.ScoreRequest{Context: about, Pod: pod},
		"Preempt":     &stowagev1.PreemptRequest{Context: about, Pod: pod},
		"ScaleDown":   &stowagev1.ScaleDownRequest{Context: about, Pod: pod, Replicas: new(uint32(1))},
		"Place":       place,
		"PlaceStream": &stowagev1.PlaceStreamRequest{Place: place},
		"Fit":         &stowagev1.FitRequest{Context: about, Mix: []*stowagev1.FitPod{{Pod: pod}}},
		"Provision":   &stowagev1.ProvisionRequest{Context: about, Queue: queue, Templates: []*stowagev1.NodeTemplate{template}},
		"WhatIf":      &stowagev1.WhatIfRequest{Context: about, Scenarios: []*stowagev1.Scenario{evicted}},
		"Drain":       &stowagev1.DrainRequest{Context: about, Nodes: only},
		"Consolidate": &stowagev1.ConsolidateRequest{
			Context: about, Candidates: []*stowagev1.PricedNodes{{Nodes: only, Price: 5}},
		},
	}
}

// TestDoubts finds a field that no release knows in the answer of every RPC that decides, whether the pod with the field is requested
// about or evicted.
func TestDoubts(t *testing.T) {
	made := &stowagev1.UnreadField{Object: "Pod default/web", Field: "spec.ofThisTest", Consequence: "It is not read."}
	for name, of := range map[string]struct {
		change func(*stowagev1.Pod)
		want   func(*stowagev1.Doubt) bool
	}{
		"unread field": {
			func(p *stowagev1.Pod) { p.Unread = []*stowagev1.UnreadField{made} },
			func(d *stowagev1.Doubt) bool {
				return d.GetKind() == stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD && proto.Equal(d.GetUnread(), made)
			},
		},
		"other scheduler": {
			func(p *stowagev1.Pod) { p.GetTemplate().Spec.SchedulerName = "mine" },
			func(d *stowagev1.Doubt) bool {
				return d.GetKind() == stowagev1.DoubtKind_DOUBT_KIND_OTHER_SCHEDULER && d.GetName() == "mine"
			},
		},
		"none": {func(*stowagev1.Pod) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, testConfig(), t.Output(), nil, nil)
			pod, running := replicated(smallPod()), replicated(smallPod())
			running.Name = "web"
			of.change(pod)
			of.change(running)
			cluster := &stowagev1.Cluster{
				Nodes:        []*stowagev1.Node{fourCPUs("a"), fourCPUs("b")},
				PodTemplates: []*stowagev1.PodTemplate{running.GetTemplate()},
			}
			running.Source = &stowagev1.Pod_TemplateIndex{}
			cluster.Nodes[0].Pods = []*stowagev1.Pod{running}
			requests := doubted(&stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}}, pod)
			for method := range decisions() {
				request, ok := requests[string(method.Name())]
				if !ok {
					t.Errorf("%s: this test has no request", method.Name())
					continue
				}
				got := callAny(t, r, method, request)
				found := of.want != nil && slices.ContainsFunc(got, of.want)
				if found != (of.want != nil) || of.want == nil && len(got) > 0 {
					t.Errorf("%s: doubts %v", method.Name(), got)
				}
			}
		})
	}
}

// TestDoubtsAreNotOptimal says that no answer with doubts claims to be optimal or safe.
func TestDoubtsAreNotOptimal(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	running := replicated(smallPod())
	running.Name = "web"
	cluster := &stowagev1.Cluster{
		Nodes: []*stowagev1.Node{fourCPUs("a"), fourCPUs("b")}, PodTemplates: []*stowagev1.PodTemplate{running.GetTemplate()},
	}
	running.Source = &stowagev1.Pod_TemplateIndex{}
	cluster.Nodes[0].Pods = []*stowagev1.Pod{running}
	about := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}}
	high := smallPod()
	high.GetTemplate().Spec.Containers[0].Requests.CpuMillis = new(int64(4000))
	high.GetTemplate().Spec.Priority = 10
	high.GetTemplate().Spec.NodeSelector = map[string]string{"here": "yes"}
	cluster.Nodes[0].Labels = map[string]string{"here": "yes"}
	for _, doubtful := range []bool{false, true} {
		running.Unread = nil
		if doubtful {
			running.Unread = []*stowagev1.UnreadField{{Object: "Pod default/web", Field: "spec.ofThisTest"}}
		}
		c, err := r.simulations().Consolidate(t.Context(), &stowagev1.ConsolidateRequest{
			Context: about, Candidates: []*stowagev1.PricedNodes{{Price: 5, Nodes: &stowagev1.CandidateNodes{Names: []string{"a"}}}},
		})
		if err != nil || len(c.GetActions()) != 1 || c.GetOptimal() == doubtful {
			t.Errorf("doubtful %v: %v %v", doubtful, c, err)
		}
		p, err := r.client().Preempt(t.Context(), &stowagev1.PreemptRequest{
			Context: about, Pod: high, Safe: &stowagev1.SafePreemptionOptions{},
		})
		if err != nil || (p.GetSafe().GetCandidate() == nil) != doubtful {
			t.Errorf("doubtful %v: %v %v", doubtful, p, err)
		}
	}
}

// TestPodsOfOtherSchedulers says that an evicted pod of another scheduler is not placed.
func TestPodsOfOtherSchedulers(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	running := replicated(smallPod())
	running.GetTemplate().Spec.SchedulerName = "mine"
	cluster := &stowagev1.Cluster{
		Nodes:        []*stowagev1.Node{fourCPUs("a"), fourCPUs("b")},
		PodTemplates: []*stowagev1.PodTemplate{running.GetTemplate()},
	}
	cluster.Nodes[0].PodCounts = []*stowagev1.PodCount{{Count: 2}}
	for scheduler, placed := range map[string]uint32{"": 0, "mine": 2, "*": 2} {
		about := &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}, Profile: &stowagev1.Profile{SchedulerName: scheduler},
		}
		requests := doubted(about, smallPod())
		for _, method := range []string{"Drain", "WhatIf"} {
			d := stowagev1.File_stowage_v1_simulation_service_proto.Services().Get(0).Methods().ByName(protoreflect.Name(method))
			var got uint32
			for _, m := range responsesOf(t, r, d, requests[method]) {
				switch m := m.(type) {
				case *stowagev1.DrainResponse:
					got += m.GetDrain().GetPlacedCount()
				case *stowagev1.WhatIfResponse:
					got += m.GetPlacement().GetPlacedCount()
				}
			}
			if got != placed {
				t.Errorf("%s with the scheduler %q places %d, want %d", method, scheduler, got, placed)
			}
		}
	}
}

// decisions are the RPCs whose requests have a cluster.
func decisions() func(func(protoreflect.MethodDescriptor) bool) {
	return func(yield func(protoreflect.MethodDescriptor) bool) {
		for _, name := range []string{stowagev1.PlacementService_ServiceDesc.ServiceName, stowagev1.SimulationService_ServiceDesc.ServiceName} {
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
			if err != nil {
				panic(err)
			}
			methods := d.(protoreflect.ServiceDescriptor).Methods()
			for i := range methods.Len() {
				m := methods.Get(i)
				info := strings.HasSuffix(string(m.Name()), "Snapshot") || m.Name() == "GetServerInfo"
				if !info && !yield(m) {
					return
				}
			}
		}
	}
}

func callAny(t *testing.T, r *running, method protoreflect.MethodDescriptor, request proto.Message) (out []*stowagev1.Doubt) {
	t.Helper()
	for _, m := range responsesOf(t, r, method, request) {
		out = append(out, doubtsIn(t, m)...)
	}
	return out
}

// responsesOf calls a method and returns all responses.
func responsesOf(t *testing.T, r *running, method protoreflect.MethodDescriptor, request proto.Message) (out []proto.Message) {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err != nil {
		t.Fatal(err)
	}
	name := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	if !method.IsStreamingServer() {
		response := kind.New().Interface()
		if err := r.conn.Invoke(t.Context(), name, request, response); err != nil {
			t.Fatalf("%s: %v", method.Name(), err)
		}
		return []proto.Message{response}
	}
	stream := begin(t.Context(), t, r.conn, name, request)
	for {
		response := kind.New().Interface()
		err := stream.RecvMsg(response)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", method.Name(), err)
		}
		out = append(out, response)
	}
}
