package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// oddPod has a preferred node affinity that kube-scheduler cannot parse.
func oddPod() *stowagev1.Pod {
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{CpuMillis: new(int64(4000))}}},
		Affinity: &stowagev1.Affinity{NodeAffinity: &stowagev1.NodeAffinity{Preferred: []*stowagev1.PreferredSchedulingTerm{{
			Weight: 1,
			Preference: &stowagev1.NodeSelectorTerm{MatchExpressions: []*stowagev1.NodeSelectorRequirement{{
				Key: "disk", Operator: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN, Values: []string{"ssd,hdd"},
			}}},
		}}}},
	}}}}
}

func smallPod() *stowagev1.Pod {
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{CpuMillis: new(int64(1000))}}},
	}}}}
}

func fourCPUs(name string, pods ...*stowagev1.Pod) *stowagev1.Node {
	return &stowagev1.Node{
		Name: name, Pods: pods, Allocatable: &stowagev1.Resources{CpuMillis: new(int64(4000)), Pods: new(int64(110))},
	}
}

// TestOddPods says that one pod that kube-scheduler cannot parse costs only itself, on a node and in a queue.
func TestOddPods(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{fourCPUs("a", oddPod()), fourCPUs("b"), fourCPUs("c")}}
	f, err := client.Filter(t.Context(), &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
	}, Pod: smallPod()})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.FeasibleNodes.Indexes; len(got) != 2 || got[0] != 1 {
		t.Errorf("feasible %v, want all but the full node", got)
	}
	p, err := client.Place(t.Context(), &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
	}, Queue: []*stowagev1.PendingPods{
		{Pod: smallPod()}, {Pod: oddPod()}, {Pod: smallPod(), Count: new(uint32(3))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	// With the first pod on one of two nodes, one is left for the odd pod, which is not scored.
	if p.PlacedCount != 5 {
		t.Errorf("placed %v", p)
	}
	cluster.Nodes = append(cluster.Nodes, fourCPUs("d"))
	p, err = client.Place(t.Context(), &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster},
	}, Queue: []*stowagev1.PendingPods{
		{Pod: smallPod()}, {Pod: oddPod()}, {Pod: smallPod(), Count: new(uint32(3))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	odd := p.Placements[1]
	if p.PlacedCount != 4 || !strings.HasPrefix(odd.Message, `running PreScore plugin "NodeAffinity": `) ||
		len(odd.Rejections) != 2 ||
		odd.Rejections[0].Code != stowagev1.StatusCode_STATUS_CODE_ERROR {
		t.Errorf("placed %v", p)
	}
}

// TestSpreadKeysOfAnySyntax has a topology key that the API server accepts and no node can have. kube-scheduler never reads
// it on a pod on a node, and finds no node with it for a pending pod.
func TestSpreadKeysOfAnySyntax(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	spread := func(action stowagev1.UnsatisfiableAction) *stowagev1.Pod {
		pod := smallPod()
		pod.GetTemplate().Spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone ", WhenUnsatisfiable: action, LabelSelector: &stowagev1.LabelSelector{},
		}}
		return pod
	}
	soft := spread(stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY)
	hard := spread(stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE)
	node := fourCPUs("a")
	node.Pods = []*stowagev1.Pod{hard}
	for name, c := range map[string]struct {
		pod      *stowagev1.Pod
		feasible int
		message  string
	}{
		"a pod without constraints": {smallPod(), 1, ""},
		"ScheduleAnyway":            {soft, 1, ""},
		"DoNotSchedule": {hard, 0, "0/1 nodes are available: " +
			"1 node(s) didn't match pod topology spread constraints (missing required label)."},
	} {
		a, err := client.Filter(t.Context(), &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{node}}},
		}, Pod: c.pod})
		if err != nil || len(a.GetFeasibleNodes().GetIndexes()) != c.feasible || a.GetMessage() != c.message {
			t.Errorf("%s: %v %v", name, a, err)
		}
	}
}

// TestOnePodOfManyTopologyKeys has a pod on a node with as many topology keys as a pod can have, which no node has.
func TestOnePodOfManyTopologyKeys(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	terms := func(list string) (required []*stowagev1.PodAffinityTerm, preferred []*stowagev1.WeightedPodAffinityTerm) {
		for i := range 1000 {
			of := func(kind string) *stowagev1.PodAffinityTerm {
				return &stowagev1.PodAffinityTerm{TopologyKey: fmt.Sprint(list, kind, i), LabelSelector: &stowagev1.LabelSelector{}}
			}
			required = append(required, of("r"))
			preferred = append(preferred, &stowagev1.WeightedPodAffinityTerm{Weight: 1, Term: of("p")})
		}
		return required, preferred
	}
	to, from := &stowagev1.PodAffinity{}, &stowagev1.PodAffinity{}
	to.Required, to.Preferred = terms("to")
	from.Required, from.Preferred = terms("from")
	many := smallPod()
	many.GetTemplate().Spec.Affinity = &stowagev1.Affinity{PodAffinity: to, PodAntiAffinity: from}
	apart := smallPod()
	apart.GetTemplate().Spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{
		Required: []*stowagev1.PodAffinityTerm{{
			TopologyKey: "zone", LabelSelector: &stowagev1.LabelSelector{},
		}}}}
	a, b := fourCPUs("a"), fourCPUs("b")
	a.Pods, a.Labels, b.Labels = []*stowagev1.Pod{many}, map[string]string{"zone": "1"}, map[string]string{"zone": "2"}
	answer, err := client.Score(t.Context(), &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{a, b}}},
	}, Pod: apart})
	if err != nil || !slices.Equal(answer.GetNodes().GetIndexes(), []uint32{1}) {
		t.Errorf("%v %v", answer, err)
	}
}
