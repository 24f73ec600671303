package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// cpuPod returns a pod that requests a number of CPUs.
func cpuPod(name string, priority int32, cpus int64) *stowagev1.Pod {
	return &stowagev1.Pod{Name: name, Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
		Labels: map[string]string{"app": name}, Spec: &stowagev1.PodSpec{
			Priority: priority, Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{CpuMillis: proto.Int64(1000 * cpus)}}},
		},
	}}}
}

func startedAt(pod *stowagev1.Pod, seconds int64) *stowagev1.Pod {
	pod.StartTime = &timestamppb.Timestamp{Seconds: seconds}
	return pod
}

// fullNodes is three nodes of four CPUs: a and b with pods of one priority, the earliest victim of b having started later, c
// with a pod of a high priority.
func fullNodes() *stowagev1.Cluster {
	return &stowagev1.Cluster{Nodes: []*stowagev1.Node{
		fourCPUs("a", startedAt(cpuPod("a-old", 1, 2), 100), startedAt(cpuPod("a-new", 1, 2), 300)),
		fourCPUs("b", startedAt(cpuPod("b-old", 1, 2), 200), startedAt(cpuPod("b-new", 1, 2), 400)),
		fourCPUs("c", startedAt(cpuPod("c", 1000, 4), 100)),
	}}
}

func whole(c *stowagev1.Cluster) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}, IncludeNodeNames: true}
}

// victimsOf returns the node of a candidate and its victims.
func victimsOf(c *stowagev1.PreemptionCandidate) string {
	out := c.GetNodeName()
	for _, v := range c.GetVictims() {
		out += " " + v.Namespace + "/" + v.Name
	}
	return out
}

func TestPreempt(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	ask := func(c *stowagev1.Cluster) *stowagev1.PreemptResponse {
		t.Helper()
		got, err := client.Preempt(t.Context(), &stowagev1.PreemptRequest{
			Context: whole(c), Pod: cpuPod("urgent", 10, 2), IncludeCandidates: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	// Of two victims the one that started later goes.
	c := fullNodes()
	got := ask(c)
	p := got.Preemption
	if best := strings.Join(p.BestNodes.GetNames(), " "); best != "b" || victimsOf(p.Nominated) != "b default/b-new" {
		t.Errorf("nominated to %q, best nodes %q", victimsOf(p.Nominated), best)
	}
	if len(p.Candidates) != 2 || victimsOf(p.Candidates[0]) != "a default/a-new" ||
		victimsOf(p.Candidates[1]) != victimsOf(p.Nominated) {
		t.Errorf("candidates %v", p.Candidates)
	}
	if len(p.Rejections) != 1 || p.Rejections[0].Plugin != stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION ||
		p.Rejections[0].Reasons[0].Type != stowagev1.RejectionReason_REJECTION_REASON_NO_VICTIMS ||
		strings.Join(p.Rejections[0].Nodes.Names, " ") != "c" {
		t.Errorf("rejections %v", p.Rejections)
	}
	const ownText = "0/3 nodes are available: 3 Insufficient cpu. "
	if !strings.HasPrefix(got.Message, ownText) || !strings.HasSuffix(got.Message, p.Message) {
		t.Errorf("the message is %q, about preemption %q", got.Message, p.Message)
	}
	// A budget makes another node the best one, unless it allows the disruption or the pod is disrupted already.
	budget := &stowagev1.PodDisruptionBudget{
		Name: "b", Selector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "b-new"}},
	}
	c.PodDisruptionBudgets = []*stowagev1.PodDisruptionBudget{budget}
	for what, test := range map[string]struct {
		change func()
		want   string
	}{
		"nothing left":          {func() {}, "a default/a-new"},
		"one left":              {func() { budget.DisruptionsAllowed = 1 }, "b default/b-new"},
		"disrupted already":     {func() { budget.DisruptedPods = []string{"z", "b-new", "b-new"} }, "b default/b-new"},
		"of another namespace":  {func() { budget.Namespace = "other" }, "b default/b-new"},
		"an empty selector":     {func() { budget.Selector = &stowagev1.LabelSelector{} }, "b default/b-new"},
		"no selector":           {func() { budget.Selector = nil }, "b default/b-new"},
		"an unparsable one":     {func() { budget.Selector.MatchLabels["x"] = "no value" }, "b default/b-new"},
		"less than nothing":     {func() { budget.DisruptionsAllowed = -5 }, "a default/a-new"},
		"an empty namespace is": {func() { budget.Namespace = "default" }, "a default/a-new"},
	} {
		saved := proto.CloneOf(budget)
		test.change()
		if got := victimsOf(ask(c).Preemption.GetNominated()); got != test.want {
			t.Errorf("%s: nominated to %q, want %q", what, got, test.want)
		}
		proto.Reset(budget)
		proto.Merge(budget, saved)
	}
	// Where a node is feasible, there is no preemption.
	c.Nodes = append(c.Nodes, fourCPUs("free"))
	if got := ask(c); got.Preemption != nil || strings.Join(got.FeasibleNodes.Names, " ") != "free" || got.Message != "" {
		t.Errorf("with room: %v", got)
	}
}

// Filter, Place and PlaceStream include what Preempt returns, and only on request.
func TestIncludedPreemption(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	pod := cpuPod("urgent", 10, 2)
	preempt, err := client.Preempt(t.Context(), &stowagev1.PreemptRequest{Context: whole(fullNodes()), Pod: pod})
	if err != nil || preempt.Preemption == nil {
		t.Fatal(preempt, err)
	}
	for _, include := range []bool{false, true} {
		want, message := preempt.Preemption, preempt.Message
		if !include {
			want, message = nil, strings.TrimSuffix(preempt.Message, " "+preempt.Preemption.Message)
		}
		check := func(call string, got *stowagev1.Preemption, text string, err error) {
			t.Helper()
			if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" || text != message {
				t.Errorf("%s: %v, %q, -want +got:\n%s", call, err, text, diff)
			}
		}
		filter := &stowagev1.FilterRequest{Context: whole(fullNodes()), Pod: pod, IncludePreemption: include}
		f, err := client.Filter(t.Context(), filter)
		check("Filter", f.GetPreemption(), f.GetMessage(), err)
		place := &stowagev1.PlaceRequest{
			Context: whole(fullNodes()), Queue: []*stowagev1.PendingPods{{Pod: pod, Count: new(uint32(3))}}, IncludePreemption: include,
		}
		p, err := client.Place(t.Context(), place)
		check("Place", p.GetPlacements()[0].Preemption, p.GetPlacements()[0].Message, err)
		all, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: place})
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		streamed := all[0].Placements[0].Placement
		check("PlaceStream", streamed.Preemption, streamed.Message, nil)
	}
}

// kube-scheduler's dry run subtracts a terminating victim that topology spread did not count. The request can ask for the
// right count.
func TestRecountTopologySpread(t *testing.T) {
	client := snapshotConfig(t).client()
	of := func(name, app string, priority int32, millis int64) *stowagev1.Pod {
		p := cpuPod(name, priority, 0)
		p.GetTemplate().Labels = map[string]string{"app": app}
		p.GetTemplate().Spec.Containers[0].Requests.CpuMillis = &millis
		return p
	}
	node := func(name, zone string, pods ...*stowagev1.Pod) *stowagev1.Node {
		return &stowagev1.Node{
			Name: name, Labels: map[string]string{"zone": zone}, Pods: pods,
			Allocatable: &stowagev1.Resources{CpuMillis: new(int64(2000)), Pods: new(int64(110))},
		}
	}
	terminating := of("t", "w", 1, 100)
	terminating.Terminating = true
	cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{
		node("n1", "z1", of("w", "w", 100, 100), terminating, of("o", "o", 1, 1500)), node("n2", "z2", of("big", "big", 100, 2000)),
	}}
	incoming := of("x", "w", 10, 1000)
	incoming.GetTemplate().Spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "w"}},
		WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
	}}
	if _, err := put(t, client, part(cluster), end("")); err != nil {
		t.Fatal(err)
	}
	reference := &stowagev1.SnapshotReference{Address: addressOf(t, cluster)}
	for range 3 { // the later ones are remembered
		for recount, want := range map[bool]string{false: "n1 default/o default/t", true: ""} {
			got, err := client.Preempt(t.Context(), &stowagev1.PreemptRequest{
				Context: &stowagev1.DecisionContext{
					Base: &stowagev1.DecisionContext_Snapshot{Snapshot: reference}, IncludeNodeNames: true,
				}, Pod: incoming, RecountTopologySpread: recount,
			})
			if err != nil || victimsOf(got.Preemption.GetNominated()) != want {
				t.Errorf("recounted %t: %q, want %q, %v", recount, victimsOf(got.GetPreemption().GetNominated()), want, err)
			}
		}
	}
}

// A pod waits for the pods that kube-scheduler preempted on its nominated node, and one with the policy Never for a node.
func TestPodsThatMayNotPreempt(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	c := fullNodes()
	nominated := cpuPod("urgent", 10, 2)
	nominated.NominatedNodeName = "a"
	never := cpuPod("never", 10, 2)
	never.GetTemplate().Spec.PreemptionPolicy = stowagev1.PreemptionPolicy_PREEMPTION_POLICY_NEVER
	ask := func(pod *stowagev1.Pod) *stowagev1.Preemption {
		t.Helper()
		got, err := client.Preempt(t.Context(), &stowagev1.PreemptRequest{Context: whole(c), Pod: pod})
		if err != nil {
			t.Fatal(err)
		}
		return got.Preemption
	}
	if p := ask(nominated); p.Nominated == nil {
		t.Errorf("before the preemption: %v", p)
	}
	victim := c.Nodes[0].Pods[1]
	victim.Terminating, victim.Preempted = true, true
	for what, pod := range map[string]*stowagev1.Pod{
		"a terminating pod on the nominated node": nominated, "preemptionPolicy=Never": never,
	} {
		if p := ask(pod); p.Nominated != nil || len(p.Rejections) > 0 || !strings.Contains(p.Message, what) {
			t.Errorf("%s: %v", what, p)
		}
	}
	victim.Preempted = false
	if p := ask(nominated); p.Nominated == nil {
		t.Errorf("a pod that terminates for another reason: %v", p)
	}
}

// A malformed budget and a malformed pod are refused with their paths, by each call and on the way by a delta.
func TestMalformedPreemptRequests(t *testing.T) {
	client := snapshotConfig(t).client()
	if _, err := put(t, client, part(fullNodes()), end("")); err != nil {
		t.Fatal(err)
	}
	on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{
		Address: addressOf(t, fullNodes()),
		Delta:   &stowagev1.ClusterDelta{PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{{}}},
	}}}
	running := startedAt(cpuPod("x", 1, 1), 5)
	bad := fullNodes()
	bad.Nodes[1].Pods[0].StartTime.Seconds = 1 << 40
	for field, r := range map[string]*stowagev1.PreemptRequest{
		"context.snapshot.delta.pod_disruption_budgets[0].name": {Context: on, Pod: smallPod()},
		"pod.start_time": {Context: whole(fullNodes()), Pod: running},
		"context.cluster.nodes[1].pods[0].start_time": {Context: whole(bad), Pod: smallPod()},
		"pod":     {Context: whole(fullNodes())},
		"context": {Pod: smallPod()},
	} {
		_, err := client.Preempt(t.Context(), r)
		code, _, _, violations := why(err)
		if code != codes.InvalidArgument || len(violations) != 1 || violations[0].GetField() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Victims that nothing distinguishes leave in the order of the request, however the cluster came to be.
func TestOrderOfVictimsByDelta(t *testing.T) {
	client := snapshotConfig(t).client()
	templates := []*stowagev1.PodTemplate{cpuPod("x", 1, 2).GetTemplate(), cpuPod("y", 1, 2).GetTemplate()}
	of := func(template uint32) *stowagev1.PodCount {
		return &stowagev1.PodCount{TemplateIndex: template, Count: 1}
	}
	cluster := func(counts ...*stowagev1.PodCount) *stowagev1.Cluster {
		a := fourCPUs("a")
		a.PodCounts = counts
		return &stowagev1.Cluster{PodTemplates: templates, Nodes: []*stowagev1.Node{a}}
	}
	request := &stowagev1.PreemptRequest{Context: whole(cluster(of(1), of(0))), Pod: cpuPod("urgent", 10, 2)}
	want, err := client.Preempt(t.Context(), request)
	victims := want.GetPreemption().GetNominated().GetVictims()
	if err != nil || len(victims) != 1 || victims[0].GetTemplateIndex() != 1 {
		t.Fatalf("%v, %v", victims, err)
	}
	base := cluster(of(1))
	if _, err := put(t, client, part(base), end("")); err != nil {
		t.Fatal(err)
	}
	for what, d := range map[string]*stowagev1.ClusterDelta{
		"pods":   {NodePods: []*stowagev1.NodePodsDelta{{NodeName: "a", PodCounts: []*stowagev1.PodCount{of(0)}}}},
		"a node": {Nodes: cluster(of(1), of(0)).Nodes},
	} {
		reference := &stowagev1.SnapshotReference{Address: addressOf(t, base), Delta: d}
		request.Context.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: reference}
		got, err := client.Preempt(t.Context(), request)
		if diff := cmp.Diff(want, got, protocmp.Transform()); err != nil || diff != "" {
			t.Errorf("by a delta of %s: %v, -inline +by address:\n%s", what, err, diff)
		}
	}
}

// controlled makes a pod one of a template of the cluster, with a controller of a kind.
func controlled(c *stowagev1.Cluster, kind string, pod *stowagev1.Pod) *stowagev1.Pod {
	template := pod.GetTemplate()
	template.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: kind, Name: "of-" + pod.Name}
	pod.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(len(c.PodTemplates))}
	c.PodTemplates = append(c.PodTemplates, template)
	return pod
}

// Of two victims the one that started later is tied to its node by its controller: safe preemption evicts the other one.
func TestSafePreemption(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	c := &stowagev1.Cluster{}
	c.Nodes = []*stowagev1.Node{
		fourCPUs("a", startedAt(controlled(c, "ReplicaSet", cpuPod("web", 1, 2)), 100),
			startedAt(controlled(c, "DaemonSet", cpuPod("agent", 1, 2)), 300)),
		fourCPUs("b", cpuPod("important", 1000, 2)),
	}
	pod := cpuPod("urgent", 10, 2)
	pod.GetTemplate().Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "a"}
	c.Nodes[0].Labels = map[string]string{"kubernetes.io/hostname": "a"}
	got, err := client.Preempt(t.Context(), &stowagev1.PreemptRequest{
		Context: whole(c), Pod: pod, Safe: &stowagev1.SafePreemptionOptions{}, AcrossNodes: &stowagev1.AcrossNodesOptions{},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := got.Safe
	if victimsOf(got.Preemption.Nominated) != "a default/agent" || victimsOf(s.GetCandidate()) != "a default/web" ||
		s.ExaminedCount != 2 || s.Truncated {
		t.Errorf("nominated to %q, safe is %v", victimsOf(got.Preemption.Nominated), s)
	}
	if len(s.Replacements) != 1 || strings.Join(s.Replacements[0].Nodes.Names, " ") != "b" || s.Replacements[0].Pod.Name != "web" {
		t.Errorf("replacements %v", s.Replacements)
	}
	if len(s.Unsafe) != 1 || s.Unsafe[0].Pod.Name != "agent" || s.Unsafe[0].UnplacedCount != 1 ||
		s.Unsafe[0].Message != "0/1 nodes are available: 1 Insufficient cpu." {
		t.Errorf("unsafe %v", s.Unsafe)
	}
	if a := got.AcrossNodes; victimsOf(a.GetCandidate()) != "a default/agent" || !a.Proven || a.Steps == 0 {
		t.Errorf("across nodes %v", a)
	}
	// Without a request, neither.
	got, err = client.Preempt(t.Context(), &stowagev1.PreemptRequest{Context: whole(c), Pod: pod})
	if err != nil || got.Safe != nil || got.AcrossNodes != nil {
		t.Errorf("%v, %v", got, err)
	}
}
