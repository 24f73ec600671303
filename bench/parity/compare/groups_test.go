package compare_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Agreement about groups says little where all are placed, or none is.
func TestGroupsMatter(t *testing.T) {
	var tally compare.Tally
	for seed := range uint64(400) {
		r, err := compare.Run(t.Context(), generate.Case("groups", seed), inProcess)
		if err != nil {
			continue // TestStowageDecidesAsKubeScheduler reports it
		}
		tally.Add(r)
	}
	g := tally.Groups
	if g.Complete < 40 || g.BestEffort < 15 || g.Infeasible < 30 || g.Failed < 5 || g.Topology < 60 || g.Several < 30 ||
		g.Ties < 1 || g.Running < 30 || g.Preempting < 10 || g.Whole < 3 || g.Kept < 8 || g.Violating < 1 || g.Fruitless < 30 {
		t.Errorf("what the cases are about: %+v", g)
	}
}

// A comparison that lets anything pass is worth nothing, so each field of a group is altered once.
func TestEveryFieldOfGroupsIsCompared(t *testing.T) {
	for kind, alter := range map[string]func(*stowagev1.PodGroupPlacement){
		"group status": func(g *stowagev1.PodGroupPlacement) { g.Status++ },
		"group domains": func(g *stowagev1.PodGroupPlacement) {
			g.Domains = append(g.Domains, &stowagev1.TopologyDomain{})
		},
		"group placed_count": func(g *stowagev1.PodGroupPlacement) { g.PlacedCount++ },
		"group message":      func(g *stowagev1.PodGroupPlacement) { g.Message += "." },
		"group":              func(g *stowagev1.PodGroupPlacement) { g.InternalError = !g.InternalError },
		"group ": func(g *stowagev1.PodGroupPlacement) {
			g.Preemption = &stowagev1.PodGroupPreemption{Message: g.GetPreemption().GetMessage() + "."}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			a := altered{Service: inProcess, Simulation: inProcess.(conformance.Simulation), place: func(r *stowagev1.PlaceResponse) {
				if len(r.PodGroups) > 0 {
					alter(r.PodGroups[0])
				}
			}}
			for seed := range uint64(20) { // not every case places a queue
				r, err := compare.Run(t.Context(), generate.Case("groups", seed), a)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Differences) > 0 && r.Differences[0].Kind == strings.TrimSpace(kind) {
					return
				}
			}
			t.Error("the altered field is not found")
		})
	}
}

// of puts a pod into the group g.
func of(p *corev1.Pod) {
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("g")}
}

func member(name string, priority int32, cpu int64, options ...podOption) scenario.Pending {
	return scenario.Pending{Pod: on("", name, priority, cpu, append(options, of)...), Count: 1}
}

// in is a node of a zone with milli-CPUs.
func in(zone, name string, cpu int64) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if zone != "" {
		n.Labels[corev1.LabelTopologyZone] = zone
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), corev1.ResourcePods: resource.MustParse("110"),
	}
	return n
}

// TestGroups restates what kube-scheduler's own tests of pod groups are about: TestValidatePodGroup,
// TestPodGroupSchedulingAlgorithm, TestPodGroupSchedulingPlacementAlgorithm and TestSubmitPodGroupAlgorithmResult of
// pkg/scheduler/schedule_one_podgroup_test.go, and TestGeneratePlacements of framework/plugins/topologyaware, v1.37. README.md
// lists the impossible ones.
func TestGroups(t *testing.T) { //nolint:funlen // a table of cases
	const zone = corev1.LabelTopologyZone
	unparsable := func(p *corev1.Pod) {
		p.Annotations = map[string]string{scenario.LongLived: "yes"}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: zone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "not valid"}},
		}}
	}
	nodes := []*corev1.Node{in("z1", "a", 1000), in("z2", "b", 2000)}
	for name, test := range map[string]struct {
		minCount int32 // 0 for the basic policy
		key      string
		priority *int32
		nodes    []*corev1.Node
		pods     []*corev1.Pod
		queue    []scenario.Pending
		want     string // the nodes of the queue's pods, or what the group's message contains
	}{
		"the same priority": {
			priority: new(int32(5)), queue: []scenario.Pending{member("p", 5, 100), member("q", 5, 100)}, want: "b a",
		},
		"another priority of one pod": {
			priority: new(int32(5)), queue: []scenario.Pending{member("p", 5, 100), member("q", 6, 100)},
			want: "got 6 and 5",
		},
		"another priority of the group": {
			priority: new(int32(5)), queue: []scenario.Pending{member("p", 6, 100), member("q", 6, 100)}, want: "got 6 and 5",
		},
		"no priority of the group": {queue: []scenario.Pending{member("p", 6, 100)}, want: "got 6 and 0"},
		"priority of running pods": {
			priority: new(int32(5)), pods: []*corev1.Pod{on("a", "r", 5, 100, of)},
			queue: []scenario.Pending{member("p", 5, 100)}, want: "b",
		},
		"another of a running pod": {
			priority: new(int32(5)), pods: []*corev1.Pod{on("a", "r", 4, 100, of)},
			queue: []scenario.Pending{member("p", 5, 100)}, want: "got 4 and 5",
		},
		"the same preemptionPolicy": {
			queue: []scenario.Pending{member("p", 0, 100, policy("Never")), member("q", 0, 100, policy("Never"))},
			want:  "b a",
		},
		"another preemptionPolicy of one pod": {
			queue: []scenario.Pending{member("p", 0, 100, policy("Never")), member("q", 0, 100)},
			want:  "got PreemptLowerPriority and Never",
		},
		"another preemptionPolicy of a running pod": {
			pods: []*corev1.Pod{on("a", "r", 0, 100, of, policy("Never"))}, queue: []scenario.Pending{member("p", 0, 100)},
			want: "got Never and PreemptLowerPriority",
		},

		"all pods feasible": {
			minCount: 3, queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 900), member("r", 0, 900)},
			want: "b a b",
		},
		"the minimum is met before any pod": {
			minCount: 1, pods: []*corev1.Pod{on("a", "r", 0, 500, of)},
			queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 900), member("s", 0, 900)},
			want:  "b b -",
		},
		"the minimum is met and no pod fits": {
			minCount: 1, pods: []*corev1.Pod{on("a", "r", 0, 500, of)},
			queue: []scenario.Pending{member("p", 0, 9000)}, want: "pod group is unschedulable",
		},
		"two of three suffice": {
			minCount: 2, queue: []scenario.Pending{member("p", 0, 9000), member("q", 0, 900), member("r", 0, 900)},
			want: "- b a",
		},
		"unschedulable after the first pod": {
			minCount: 3, queue: []scenario.Pending{member("p", 0, 9000), member("q", 0, 900), member("r", 0, 900)},
			want: "first placement status: minCount (3) cannot be satisfied: 0 scheduled, 2 remaining",
		},
		"unschedulable after the second pod": {
			minCount: 3, queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 9000), member("r", 0, 900)},
			want: "0/1 placements are available, first placement status: minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",
		},
		"running pods count": {
			minCount: 4, pods: []*corev1.Pod{on("a", "r", 0, 100, of)},
			queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 9000), member("s", 0, 900)},
			want:  "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining",
		},
		"all pods unschedulable": {
			queue: []scenario.Pending{member("p", 0, 9000), member("q", 0, 9000)},
			want:  "minCount (1) cannot be satisfied: 0 scheduled, 0 remaining",
		},
		"an error of one pod": {
			queue: []scenario.Pending{member("p", 0, 100), member("q", 0, 100, unparsable)},
			want:  "failed to schedule other pod from a pod group: ",
		},
		"an error behind the end": {
			minCount: 2, queue: []scenario.Pending{member("p", 0, 9000), member("q", 0, 100, unparsable)},
			want: "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining",
		},
		"no nodes": {
			nodes: []*corev1.Node{}, queue: []scenario.Pending{member("p", 0, 100)},
			want: `error in "DynamicResources" PodGroupPostFilter plugins: not found`,
		},

		"the domain that takes more pods": {
			minCount: 1, key: zone, queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 900)}, want: "b b",
		},
		"the domain that is used more": {
			minCount: 1, key: zone, queue: []scenario.Pending{member("p", 0, 900)}, want: "a",
		},
		"the only domain that takes enough": {
			minCount: 2, key: zone, queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 900)}, want: "b b",
		},
		"no domain takes enough": {
			minCount: 3, key: zone, queue: []scenario.Pending{member("p", 0, 900), member("q", 0, 900), member("r", 0, 900)},
			want: "pod group is unschedulable, 0/2 placements are available, first placement status: " +
				"minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
		},
		"no node has the key": {
			key: "rack", queue: []scenario.Pending{member("p", 0, 100)}, want: "no feasible placements found",
		},
		"an error in a domain": {
			key: zone, queue: []scenario.Pending{member("p", 0, 100), member("q", 0, 100, unparsable)},
			want: "failed to schedule other pod from a pod group: ",
		},
		"the domain of running pods": {
			minCount: 2, key: zone, pods: []*corev1.Pod{on("a", "r", 0, 100, of)},
			queue: []scenario.Pending{member("p", 0, 500), member("q", 0, 500)}, want: "a -",
		},
		"the full domain of running pods": {
			minCount: 2, key: zone, pods: []*corev1.Pod{on("a", "r", 0, 900, of)},
			queue: []scenario.Pending{member("p", 0, 500)},
			want:  "0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
		},
		"running pods in two domains": {
			key: zone, pods: []*corev1.Pod{on("a", "r", 0, 100, of), on("b", "s", 0, 100, of)},
			queue: []scenario.Pending{member("p", 0, 100)},
			want:  "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: z1, z2",
		},
		"a running pod in no domain": {
			key: zone, nodes: []*corev1.Node{in("", "a", 1000), in("z2", "b", 1000)},
			pods:  []*corev1.Pod{on("a", "r", 0, 100, of)},
			queue: []scenario.Pending{member("p", 0, 100)},
			want:  "cannot determine domain for already scheduled pods: no topology domain found for pod default/r",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default"}}
			g.Spec.Priority = test.priority
			if test.minCount == 0 {
				g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
			} else {
				g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: test.minCount}
			}
			if test.key != "" {
				g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
					Topology: []schedulingv1beta1.TopologyConstraint{{Key: test.key}},
				}
			}
			c := &scenario.Case{
				Name: name, Nodes: test.nodes, Pods: test.pods, PodGroups: []*schedulingv1beta1.PodGroup{g}, Queue: test.queue,
			}
			if c.Nodes == nil {
				c.Nodes = nodes
			}
			r, err := compare.Run(t.Context(), c, inProcess)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range r.Differences {
				t.Error(d)
			}
			answer := r.Answers.Place
			var got []string
			for _, p := range answer.Placements {
				node := "-"
				if len(p.Nodes.Indexes) > 0 {
					node = c.Nodes[p.Nodes.Indexes[0]].Name
				}
				got = append(got, node)
			}
			placed := strings.Join(got, " ")
			message := answer.PodGroups[0].Message
			if message == "" && placed != test.want || message != "" && !strings.Contains(message, test.want) {
				t.Errorf("%s, %q; not %q", placed, message, test.want)
			}
		})
	}
}
