package compare_test

import (
	"fmt"
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

// TestGroupPreemption has the rows of TestPodGroupEvaluator_SelectVictimsOnDomain and TestPodGroupEvaluator_Preempt
// (pkg/scheduler/framework/preemption/podgrouppreemption_test.go, v1.37) that a whole cycle comes to: with a single node that the
// group can take, or with equal ones. A function of the test places the groups of the others; there are gates and policies of groups
// that are off by default. A node has room for as many pods as is said.
func TestGroupPreemption(t *testing.T) { //nolint:funlen // a table of cases
	for name, test := range map[string]struct {
		nodes      string // name=pods
		pods       string // name/node/priority and then, in any order, a group, s=start, app=foo, leaving
		groups     string // name/priority/mode
		preemptor  string // priority, then the names of the pods, with a nominated node behind @
		minCount   int32  // all pods if 0
		budget     bool   // pods with app=foo must stay
		never      bool
		want       string // victims
		violations uint32
		groupsGone uint32
		message    string
	}{
		"mix of no groups and pod groups": {nodes: "node1=2", pods: "p1/node1/1 p2/node1/1/pg1", groups: "pg1/1/single",
			preemptor: "1000 p", want: "p1"},
		"start time of pods from same group": {nodes: "node1=2", pods: "p1/node1/1/pg1/s=11 p2/node1/1/pg1/s=10", groups: "pg1/1/single",
			preemptor: "1000 p", want: "p1", groupsGone: 1},
		"pod group with disruption mode group not reprieved": {nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1 p2/node2/1/pg1",
			groups: "pg1/1/all", preemptor: "1000 p", want: "p1 p2", groupsGone: 1},
		"PDB: mixed groups": {nodes: "node1=2", pods: "victim-pdb/node1/1/pg1/app=foo victim-no-pdb/node1/1/pg1", budget: true,
			preemptor: "1000 p", want: "victim-no-pdb", groupsGone: 1},
		"preempt single lower priority pod": {nodes: "node1=1", pods: "p1/node1/1", preemptor: "1000 p", want: "p1"},
		"prefer lower priority victim":      {nodes: "node1=2", pods: "p1/node1/1 p2/node1/100 p3/node1/1000", preemptor: "1000 p", want: "p2 p1"},
		"preempt minimum number of victims": {nodes: "node1=3", pods: "p1/node1/1/s=1 p2/node1/1/s=2 p3/node1/1/s=3 p4/node1/1/s=4",
			preemptor: "1000 p", want: "p3 p4"},
		"PDB: prefer non-violating victim": {nodes: "node1=2", pods: "victim-pdb/node1/1/app=foo victim-no-pdb/node1/1", budget: true,
			preemptor: "1000 p", want: "victim-no-pdb"},
		"PDB: prefer removing non-violating victim over lower priority": {nodes: "node1=2", budget: true,
			pods: "victim-pdb/node1/1/app=foo victim-no-pdb/node1/100", preemptor: "1000 p", want: "victim-no-pdb"},
		"performs preemption with PodGroup victims": {nodes: "node1=1 node2=1 node3=1", pods: "p1/node1/1 p2/node2/1/pg1 p3/node3/1/pg2",
			groups: "pg1/1/single pg2/1/single", preemptor: "1000 p-1", want: "p1"},
		"PDB: prefer lower priority pod": {nodes: "node1=2", pods: "p1/node1/1/app=foo p2/node1/100/app=foo", budget: true,
			preemptor: "1000 p", want: "p1", violations: 1},
		"prefer single pod over pod group": {nodes: "node1=3", pods: "p1/node1/1 g1-1/node1/1/pg1 g1-2/node1/1/pg1", groups: "pg1/1/all",
			preemptor: "1000 p", want: "p1"},
		"preempt group as a whole on single node": {nodes: "node1=3", pods: "g1-1/node1/1/pg1 g1-2/node1/1/pg1 p1/node1/100",
			groups: "pg1/1/all", preemptor: "1000 p", want: "g1-1 g1-2", groupsGone: 1},
		"PDB: unit violation if any member violates": {nodes: "node1=3", budget: true,
			pods: "g1-1/node1/1/pg1/app=foo g1-2/node1/1/pg1 p1/node1/1", groups: "pg1/1/all", preemptor: "1000 p", want: "p1"},
		"cannot preempt the victim with higher priority": {nodes: "node1=1", pods: "p1/node1/1000", preemptor: "100 p",
			message: "No preemption victims found for incoming preemptor"},
		"cannot preempt the victim with equal priority": {nodes: "node1=1", pods: "p1/node1/100", preemptor: "100 p",
			message: "No preemption victims found for incoming preemptor"},
		"cannot preempt if node is empty": {nodes: "node1=0", preemptor: "100 p", message: "No preemption victims found for incoming preemptor"},
		"candidate victim has lower priority than its pods": {nodes: "node1=1 node2=1", pods: "p1/node1/1000/pg1 p2/node2/1000/pg1",
			groups: "pg1/100/all", preemptor: "1000 p", want: "p1 p2", groupsGone: 1},
		"candidate victim has higher priority than its pods": {nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1 p2/node2/1/pg1",
			groups: "pg1/100/all", preemptor: "100 p", message: "No preemption victims found for incoming preemptor"},
		"eligible if terminating pods are on other nodes": {nodes: "node1=1 node2=1", pods: "p1/node1/1 p2/node2/2/leaving",
			preemptor: "1000 p@node1", want: "p1"},
		"eligible if the terminating pod's group has a higher priority": {nodes: "node1=1 node2=1", pods: "p1/node1/1/pg1/leaving p2/node2/1",
			groups: "pg1/2000/all", preemptor: "1000 p@node1", want: "p2"},
		"ongoing": {nodes: "node1=1", pods: "p1/node1/1/leaving", preemptor: "1000 p@node1", message: "ongoing preemption on nominated nodes"},
		"ongoing, of a group": {nodes: "node1=1", pods: "p1/node1/2000/pg1/leaving", groups: "pg1/1/all", preemptor: "1000 p@node1",
			message: "ongoing preemption on nominated nodes"},
		"never": {nodes: "node1=1", pods: "p1/node1/1", preemptor: "1000 p", never: true, message: "not eligible due to preemptionPolicy=Never."},
		"more than minCount without higher priorities": {nodes: "node1=1 node2=1 node3=1", pods: "p1/node1/1 p2/node2/1 p3/node3/2000",
			preemptor: "1000 q r s", minCount: 2, want: "p1 p2"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &scenario.Case{Name: name}
			for _, n := range strings.Fields(test.nodes) {
				of, room, _ := strings.Cut(n, "=")
				node := in("", of, 64000)
				node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(room)
				c.Nodes = append(c.Nodes, node)
			}
			for i, text := range strings.Fields(test.pods) {
				parts := strings.Split(text, "/")
				var priority int32
				fmt.Sscan(parts[2], &priority) //nolint:errcheck // a literal
				pod := on(parts[1], parts[0], priority, 0, started(20+i))
				for _, more := range parts[3:] {
					key, value, _ := strings.Cut(more, "=")
					switch key {
					case "s":
						seconds := 0
						fmt.Sscan(value, &seconds) //nolint:errcheck // a literal
						started(seconds)(pod)
					case "app":
						pod.Labels["app"] = value
					case "leaving":
						pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: pod.Status.StartTime.Time}, new(int64(30))
						disrupted(corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)(pod)
					default:
						pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &key}
					}
				}
				c.Pods = append(c.Pods, pod)
			}
			group := func(name string, priority int32) *schedulingv1beta1.PodGroup {
				g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
				g.Spec.Priority = &priority
				g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 1}
				c.PodGroups = append(c.PodGroups, g)
				return g
			}
			preemptor := strings.Fields(test.preemptor)
			var priority int32
			fmt.Sscan(preemptor[0], &priority) //nolint:errcheck // a literal
			g := group("g", priority)
			for _, name := range preemptor[1:] {
				name, node, _ := strings.Cut(name, "@")
				m := member(name, priority, 0, nominatedTo(node))
				if test.never {
					policy(corev1.PreemptNever)(m.Pod)
				}
				c.Queue = append(c.Queue, m)
			}
			g.Spec.SchedulingPolicy.Gang.MinCount = max(test.minCount, 1)
			if test.minCount == 0 {
				g.Spec.SchedulingPolicy.Gang.MinCount = int32(len(c.Queue))
			}
			for _, text := range strings.Fields(test.groups) {
				parts := strings.Split(text, "/")
				fmt.Sscan(parts[1], &priority) //nolint:errcheck // a literal
				of := group(parts[0], priority)
				if of.Spec.DisruptionMode = (&schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}); parts[2] == "all" {
					of.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
				}
			}
			if test.budget {
				c.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{{
					ObjectMeta: metav1.ObjectMeta{Name: "budget", Namespace: "default"},
					Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "foo"}}},
				}}
			}
			r, err := compare.Run(t.Context(), c, inProcess)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range r.Differences {
				t.Error(d)
			}
			answer := r.Answers.Place.PodGroups[0]
			var got []string
			for _, v := range answer.Preemption.GetVictims() {
				got = append(got, v.Name)
			}
			p := answer.Preemption
			if victims := strings.Join(got, " "); victims != test.want || p.GetPdbViolations() != test.violations ||
				test.groupsGone > 0 && p.GetGroupDisruptionCount() != test.groupsGone || !strings.HasSuffix(answer.Message, test.message) {
				t.Errorf("victims %q, %d violations, %d groups, %q", victims, p.GetPdbViolations(), p.GetGroupDisruptionCount(), answer.Message)
			}
		})
	}
}
