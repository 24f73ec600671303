package compare_test

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// groupReplay is a row of kube-scheduler's own test of preemption by pod groups.
type groupReplay struct {
	row        int // line of the row's name in podgrouppreemption_test.go of v1.37.1
	name       string
	nodes      string // name=pods
	pods       string // name/node/priority and then, in any order, a group, s=start, app=foo, leaving
	groups     string // name/priority/mode
	preemptor  string // priority, then the names of the pods, with a nominated node behind @
	minCount   int32  // all pods if 0
	basic      bool   // the basic policy
	budget     bool   // pods with app=foo must stay
	never      bool
	victims    string
	violations uint64
	groupsGone uint32
	message    string
}

// groupReplays are the rows of TestPodGroupEvaluator_SelectVictimsOnDomain and TestPodGroupEvaluator_Preempt
// (pkg/scheduler/framework/preemption/podgrouppreemption_test.go, v1.37) that a whole cycle comes to: with a single node that the
// group can take, or with equal ones. A function of the test places the groups of the others, or there are policies of groups
// that are off by default: unexpressed has them. A node has room for as many pods as is said.
var groupReplays = []groupReplay{
	{
		row: 153, name: "mix of no groups and pod groups",
		nodes: "node1=2", pods: "p1/node1/1 p2/node1/1/pg1", groups: "pg1/1/single", preemptor: "1000 p", victims: "p1",
	},
	{
		row: 178, name: "start time of pods from same group",
		nodes: "node1=2", pods: "p1/node1/1/pg1/s=11 p2/node1/1/pg1/s=10", groups: "pg1/1/single", preemptor: "1000 p",
		victims: "p1", groupsGone: 1,
	},
	{
		row: 204, name: "pod group with disruption mode group not reprieved",
		nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1 p2/node2/1/pg1", groups: "pg1/1/all", preemptor: "1000 p",
		victims: "p1 p2", groupsGone: 1,
	},
	{
		row: 290, name: "PDB: mixed groups",
		nodes: "node1=2", pods: "victim-pdb/node1/1/pg1/app=foo victim-no-pdb/node1/1/pg1", budget: true,
		preemptor: "1000 p", victims: "victim-no-pdb", groupsGone: 1,
	},
	{
		row: 371, name: "eligible if terminating pods are on other nodes",
		nodes: "node1=1 node2=1", pods: "p1/node1/1 p2/node2/2/leaving", preemptor: "1000 p@node1", victims: "p1",
	},
	{
		row: 402, name: "eligible if the terminating pod's group has a higher priority",
		nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1/leaving p2/node2/1", groups: "pg1/2000/all",
		preemptor: "1000 p@node1", victims: "p2",
	},
	{
		row: 435, name: "eligible if the terminating pod's group has a higher priority and no mode",
		nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1/leaving p2/node2/1", groups: "pg1/2000/none",
		preemptor: "1000 p@node1", victims: "p2",
	},
	{
		row: 468, name: "preempt single lower priority pod",
		nodes: "node1=1", pods: "p1/node1/1", preemptor: "1000 p", victims: "p1",
	},
	{
		row: 489, name: "prefer lower priority victim",
		nodes: "node1=2", pods: "p1/node1/1 p2/node1/100 p3/node1/1000", preemptor: "1000 p", victims: "p2 p1",
	},
	{
		row: 512, name: "preempt minimum number of victims",
		nodes: "node1=3", pods: "p1/node1/1/s=1 p2/node1/1/s=2 p3/node1/1/s=3 p4/node1/1/s=4", preemptor: "1000 p",
		victims: "p3 p4",
	},
	{
		row: 536, name: "PDB: prefer non-violating victim",
		nodes: "node1=2", pods: "victim-pdb/node1/1/app=foo victim-no-pdb/node1/1", budget: true, preemptor: "1000 p",
		victims: "victim-no-pdb",
	},
	{
		row: 561, name: "PDB: prefer removing non-violating victim over lower priority",
		nodes: "node1=2", budget: true, pods: "victim-pdb/node1/1/app=foo victim-no-pdb/node1/100", preemptor: "1000 p",
		victims: "victim-no-pdb",
	},
	{
		row: 586, name: "performs preemption with PodGroup victims",
		nodes: "node1=1 node2=1 node3=1", pods: "p1/node1/1 p2/node2/1/pg1 p3/node3/1/pg2",
		groups: "pg1/1/single pg2/1/single", preemptor: "1000 p-1", victims: "p1",
	},
	{
		row: 648, name: "PDB: prefer lower priority pod",
		nodes: "node1=2", pods: "p1/node1/1/app=foo p2/node1/100/app=foo", budget: true, preemptor: "1000 p",
		victims: "p1", violations: 1,
	},
	{
		row: 709, name: "prefer single pod over pod group",
		nodes: "node1=3", pods: "p1/node1/1 g1-1/node1/1/pg1 g1-2/node1/1/pg1", groups: "pg1/1/all", preemptor: "1000 p",
		victims: "p1",
	},
	{
		row: 736, name: "preempt group as a whole on single node",
		nodes: "node1=3", pods: "g1-1/node1/1/pg1 g1-2/node1/1/pg1 p1/node1/100", groups: "pg1/1/all",
		preemptor: "1000 p", victims: "g1-1 g1-2", groupsGone: 1,
	},
	{
		row: 764, name: "PDB: unit violation if any member violates",
		nodes: "node1=3", budget: true, pods: "g1-1/node1/1/pg1/app=foo g1-2/node1/1/pg1 p1/node1/1",
		groups: "pg1/1/all", preemptor: "1000 p", victims: "p1",
	},
	{
		row: 797, name: "cannot preempt the victim with higher priority",
		nodes: "node1=1", pods: "p1/node1/1000", preemptor: "100 p",
		message: "No preemption victims found for incoming preemptor",
	},
	{
		row: 818, name: "cannot preempt the victim with equal priority",
		nodes: "node1=1", pods: "p1/node1/100", preemptor: "100 p",
		message: "No preemption victims found for incoming preemptor",
	},
	{
		row: 839, name: "cannot preempt if node is empty",
		nodes: "node1=0", preemptor: "100 p", message: "No preemption victims found for incoming preemptor",
	},
	{
		row: 860, name: "candidate victim has lower priority than its pods",
		nodes: "node1=1 node2=1", pods: "p1/node1/1000/pg1 p2/node2/1000/pg1", groups: "pg1/100/all",
		preemptor: "1000 p", victims: "p1 p2", groupsGone: 1,
	},
	{
		row: 891, name: "candidate victim has higher priority than its pods",
		nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1 p2/node2/1/pg1", groups: "pg1/100/all", preemptor: "100 p",
		message: "No preemption victims found for incoming preemptor",
	},
	{
		row: 921, name: "more than minCount without higher priorities",
		nodes: "node1=1 node2=1 node3=1 node4=1", pods: "p1/node1/1 p2/node2/1 p3/node3/1000 p4/node4/1000",
		preemptor: "1000 a b c", minCount: 1, victims: "p1 p2",
	},
	{
		row: 966, name: "a group of lower priority is not reprieved",
		nodes: "node1=1 node2=1 node3=1", pods: "v1/node1/100/pg1 v2/node2/100/pg1 v3/node3/1", groups: "pg1/100/all",
		preemptor: "1000 a b c", minCount: 1, victims: "v1 v2 v3", groupsGone: 1,
	},
	{
		row: 1007, name: "a group as victim, and not the whole preemptor",
		nodes:  "node1=1 node2=1 node3=1 node4=1",
		pods:   "v1/node1/100/pg1 v2/node2/100/pg1 v3/node3/1000/pg2 v4/node4/1000/pg2",
		groups: "pg1/100/all pg2/1000/all", preemptor: "1000 a b c", minCount: 1, victims: "v1 v2", groupsGone: 1,
	},
	{
		row: 1055, name: "the basic policy without higher priorities",
		nodes: "node1=1 node2=1 node3=1 node4=1", pods: "p1/node1/1 p2/node2/1 p3/node3/1000 p4/node4/1000",
		preemptor: "1000 a b c", basic: true, victims: "p1 p2",
	},
	{
		row: 1099, name: "the basic policy, a group of lower priority is not reprieved",
		nodes: "node1=1 node2=1 node3=1", pods: "v1/node1/100/pg1 v2/node2/100/pg1 v3/node3/1", groups: "pg1/100/all",
		preemptor: "1000 a b c", basic: true, victims: "v1 v2 v3", groupsGone: 1,
	},
	{
		row: 1140, name: "the basic policy, a group as victim",
		nodes:  "node1=1 node2=1 node3=1 node4=1",
		pods:   "v1/node1/100/pg1 v2/node2/100/pg1 v3/node3/1000/pg2 v4/node4/1000/pg2",
		groups: "pg1/100/all pg2/1000/all", preemptor: "1000 a b c", basic: true, victims: "v1 v2", groupsGone: 1,
	},
	{
		row: 1447, name: "ongoing",
		nodes: "node1=1", pods: "p1/node1/1/leaving", preemptor: "1000 p@node1",
		message: "ongoing preemption on nominated nodes",
	},
	{
		row: 1466, name: "ongoing, of a group",
		nodes: "node1=1", pods: "p1/node1/2000/pg1/leaving", groups: "pg1/1/all", preemptor: "1000 p@node1",
		message: "ongoing preemption on nominated nodes",
	},
	{
		row: 1488, name: "ongoing, of a group whose pods leave one by one",
		nodes: "node1=1", pods: "p1/node1/2000/pg1/leaving", groups: "pg1/1/single", preemptor: "1000 p@node1",
		message: "ongoing preemption on nominated nodes",
	},
	{
		row: 1510, name: "never",
		nodes: "node1=1", pods: "p1/node1/1", preemptor: "1000 p", never: true,
		message: "not eligible due to preemptionPolicy=Never.",
	},
	{
		row: 1529, name: "never, with groups as victims",
		nodes: "node1=1", pods: "p1/node1/1/pg1", groups: "pg1/1/single", preemptor: "1000 p", never: true,
		message: "not eligible due to preemptionPolicy=Never.",
	},
}

func TestGroupPreemption(t *testing.T) {
	for _, r := range groupReplays {
		t.Run(r.name, func(t *testing.T) { r.replay(t) })
	}
}

func (r *groupReplay) replay(t *testing.T) {
	c := r.scenario()
	result, err := compare.Run(t.Context(), c, inProcess)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range result.Differences {
		t.Error(d)
	}
	answer := result.Answers.Place.PodGroups[0]
	var got []string
	for _, v := range answer.Preemption.GetVictims() {
		got = append(got, v.Name)
	}
	p := answer.Preemption
	if victims := strings.Join(got, " "); victims != r.victims || p.GetPdbViolations() != r.violations ||
		r.groupsGone > 0 && p.GetGroupDisruptionCount() != r.groupsGone || !strings.HasSuffix(answer.Message, r.message) {
		t.Errorf("victims %q, %d violations, %d groups, %q",
			victims, p.GetPdbViolations(), p.GetGroupDisruptionCount(), answer.Message)
	}
}

func (r *groupReplay) scenario() *scenario.Case {
	c := &scenario.Case{Name: r.name}
	for _, n := range strings.Fields(r.nodes) {
		of, room, _ := strings.Cut(n, "=")
		node := in("", of, 64000)
		node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(room)
		c.Nodes = append(c.Nodes, node)
	}
	for i, text := range strings.Fields(r.pods) {
		c.Pods = append(c.Pods, groupReplayPod(i, strings.Split(text, "/")))
	}
	group := func(name, priority string) *schedulingv1beta1.PodGroup {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		g.Spec.Priority = new(int32(number(priority)))
		g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1}
		c.PodGroups = append(c.PodGroups, g)
		return g
	}
	preemptor := strings.Fields(r.preemptor)
	g := group("g", preemptor[0])
	for _, name := range preemptor[1:] {
		name, node, _ := strings.Cut(name, "@")
		m := member(name, *g.Spec.Priority, 0, nominatedTo(node))
		if r.never {
			policy(corev1.PreemptNever)(m.Pod)
		}
		c.Queue = append(c.Queue, m)
	}
	g.Spec.SchedulingPolicy.Gang.MinCount = max(r.minCount, 1)
	if r.minCount == 0 {
		g.Spec.SchedulingPolicy.Gang.MinCount = int32(len(c.Queue))
	}
	if r.basic {
		g.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}
	}
	for _, text := range strings.Fields(r.groups) {
		parts := strings.Split(text, "/")
		of := group(parts[0], parts[1])
		switch parts[2] {
		case "all":
			of.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		case "single":
			of.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
		}
	}
	if r.budget {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foo"}}
		c.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{{
			ObjectMeta: metav1.ObjectMeta{Name: "budget", Namespace: "default"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector},
		}}
	}
	return c
}

func groupReplayPod(i int, parts []string) *corev1.Pod {
	pod := on(parts[1], parts[0], int32(number(parts[2])), 0, started(20+i))
	for _, more := range parts[3:] {
		key, value, _ := strings.Cut(more, "=")
		switch key {
		case "s":
			started(number(value))(pod)
		case "app":
			pod.Labels["app"] = value
		case "leaving":
			pod.DeletionTimestamp = &metav1.Time{Time: pod.Status.StartTime.Time}
			pod.DeletionGracePeriodSeconds = new(int64(30))
			disrupted(corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)(pod)
		default:
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &key}
		}
	}
	return pod
}

// number reads a literal.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
