package compare_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Agreement about preemption says little where there is nothing to preempt.
func TestPreemptionsMatter(t *testing.T) {
	var tally compare.Tally
	for seed := range uint64(260) {
		c := generate.Case("preemption", seed)
		r, err := compare.Run(t.Context(), c, inProcess)
		if err != nil {
			continue // TestStowageDecidesAsKubeScheduler reports it
		}
		for _, d := range r.Differences {
			t.Errorf("%s: %v", c.Name, d)
		}
		tally.AddPreemptions(compare.PreemptionsOf(c, r.Answers))
	}
	p := tally.Preemptions
	if p.Found < 30 || p.Several < 15 || p.Ties < 3 || p.Violating < 8 || p.Reprieved < 20 || p.Ineligible < 3 {
		t.Errorf("what the cases are about: %+v", p)
	}
}

type podOption func(*corev1.Pod)

// on is a pod of a node with milli-CPUs.
func on(node, name string, priority int32, cpu int64, options ...podOption) *corev1.Pod {
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI)}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"name": name}},
		Spec: corev1.PodSpec{NodeName: node, Priority: &priority, Containers: []corev1.Container{{
			Name: "main", Image: "app:v1", Resources: corev1.ResourceRequirements{Requests: requests},
		}}},
	}
	for _, o := range options {
		o(pod)
	}
	return pod
}

// asking is the pod to be placed.
func asking(priority int32, cpu int64, options ...podOption) *corev1.Pod {
	return on("", "asking", priority, cpu, options...)
}

func started(seconds int) podOption {
	return func(p *corev1.Pod) {
		p.Status.StartTime = &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)}
	}
}

func app(name string) podOption { return func(p *corev1.Pod) { p.Labels["app"] = name } }

func terminating(p *corev1.Pod) {
	p.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	p.DeletionGracePeriodSeconds = new(int64(30))
}

func disrupted(status corev1.ConditionStatus, reason string) podOption {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: status, Reason: reason}}
	}
}

func preempted(p *corev1.Pod) {
	terminating(p)
	disrupted(corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)(p)
}

func nominatedTo(node string) podOption {
	return func(p *corev1.Pod) { p.Status.NominatedNodeName = node }
}

func policy(of corev1.PreemptionPolicy) podOption {
	return func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &of }
}

func hostPort(p *corev1.Pod) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
}

func selects(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func apartFrom(name, key string) podOption {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selects(name), TopologyKey: key}},
		}}
	}
}

func besides(name, key string) podOption {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: selects(name), TopologyKey: key}},
		}}
	}
}

func spread(key string, selector *metav1.LabelSelector) podOption {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
		})
	}
}

func budget(name string, allowed int32, selector *metav1.LabelSelector, processed ...string) *policyv1.PodDisruptionBudget {
	out := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	out.Spec.Selector, out.Status.DisruptionsAllowed = selector, allowed
	for _, p := range processed {
		out.Status.DisruptedPods = map[string]metav1.Time{p: {Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}}
	}
	return out
}

// zoned is a node of a zone with two CPUs.
func zoned(name, zone string) *corev1.Node {
	allocatable := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("110")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone},
		},
		Status: corev1.NodeStatus{Allocatable: allocatable, Capacity: allocatable},
	}
}

func cordoned(name, zone string) *corev1.Node {
	n := zoned(name, zone)
	n.Spec.Unschedulable = true
	return n
}

func pods(list ...*corev1.Pod) []*corev1.Pod { return list }

// What kube-scheduler v1.37 finds in situations with one rule each. README.md has its own tests that they stand for.
func TestPreemption(t *testing.T) {
	a, b, c := zoned("a", "z1"), zoned("b", "z2"), zoned("c", "z1")
	budgets := func(list ...*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget { return list }
	none := "No preemption victims found for incoming pod"
	helpless := "Preemption is not helpful for scheduling"
	for name, test := range map[string]struct {
		nodes     []*corev1.Node
		pods      []*corev1.Pod
		nominated []*corev1.Pod
		budgets   []*policyv1.PodDisruptionBudget
		asking    *corev1.Pod
		// want are the best nodes with their victims and the number of violations, such as "a: p q (1)", or what the message
		// contains; "" if there is no preemption.
		want []string
	}{
		"a pod of lower priority goes": {
			pods: pods(on("a", "p", 0, 1500), on("b", "q", 100, 1500)), asking: asking(10, 1000), want: []string{"a: p"},
		},
		"a pod of equal priority stays": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 10, 1500)), asking: asking(10, 1000), want: []string{"1 " + none},
		},
		"a pod that has room preempts none": {pods: pods(on("a", "p", 0, 1500)), asking: asking(10, 1000)},
		"a cordoned node": {
			nodes: []*corev1.Node{cordoned("a", "z1")}, pods: pods(on("a", "p", 0, 1500)), asking: asking(10, 1000),
			want: []string{"1 " + helpless},
		},
		"a node that is too small without its pods too": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 100)), asking: asking(10, 3000), want: []string{"1 " + helpless},
		},
		"more important pods leave too little": {
			nodes: []*corev1.Node{a, b}, pods: pods(on("a", "p", 0, 100), on("a", "q", 100, 1800), on("b", "r", 100, 1800)),
			asking: asking(10, 1000), want: []string{"1 Insufficient cpu", "1 " + none},
		},
		"all of a node may go": {
			pods: pods(on("a", "p", 0, 900), on("a", "q", 1, 900), on("b", "r", 100, 1800)), asking: asking(10, 2000),
			want: []string{"a: q p"},
		},
		"a small pod of lower priority is reprieved": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "small", 0, 100), on("a", "large", 5, 1500)), asking: asking(10, 1000),
			want: []string{"a: large"},
		},
		"of equal pods the later one goes": {
			nodes:  []*corev1.Node{a},
			pods:   pods(on("a", "late", 0, 900, started(9)), on("a", "early", 0, 900, started(1))),
			asking: asking(10, 1000), want: []string{"a: late"},
		},
		"a pod without a start time goes before one with": {
			nodes:  []*corev1.Node{a},
			pods:   pods(on("a", "absent", 0, 900), on("a", "early", 0, 900, started(1))),
			asking: asking(10, 1000), want: []string{"a: absent"},
		},
		"of pods without start times the last goes": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 900), on("a", "q", 0, 900)), asking: asking(10, 1000),
			want: []string{"a: q"},
		},
		"many pods of one priority": {
			nodes: []*corev1.Node{a},
			pods: func() (out []*corev1.Pod) {
				for i := range 20 {
					out = append(out, on("a", fmt.Sprintf("p%02d", i), 0, 100, started(i*7%20)))
				}
				return out
			}(),
			asking: asking(10, 300), want: []string{"a: p11 p14 p17"},
		},
		"anti-affinity of the pod": {
			nodes:  []*corev1.Node{a},
			pods:   pods(on("a", "p", 0, 100, app("x")), on("a", "q", 0, 100)),
			asking: asking(10, 100, apartFrom("x", corev1.LabelHostname)), want: []string{"a: p"},
		},
		"anti-affinity to the pod": {
			nodes:  []*corev1.Node{a},
			pods:   pods(on("a", "p", 0, 100, apartFrom("x", corev1.LabelHostname)), on("a", "q", 0, 100)),
			asking: asking(10, 100, app("x")), want: []string{"a: p"},
		},
		"anti-affinity across nodes is not resolved": {
			nodes:  []*corev1.Node{a, c},
			pods:   pods(on("a", "p", 0, 100, app("x")), on("c", "q", 0, 100, app("x"))),
			asking: asking(10, 100, apartFrom("x", corev1.LabelTopologyZone)),
			want:   []string{"2 node(s) didn't match pod anti-affinity rules"},
		},
		"affinity to a victim": {
			nodes:  []*corev1.Node{a},
			pods:   pods(on("a", "p", 0, 1900, app("x"))),
			asking: asking(10, 1000, besides("x", corev1.LabelHostname)),
			want:   []string{"1 node(s) didn't match pod affinity rules"},
		},
		"a spread constraint": {
			pods:   pods(on("a", "p", 0, 100, app("x")), on("a", "q", 5, 100, app("x")), on("b", "r", 100, 2000)),
			asking: asking(10, 100, app("x"), spread(corev1.LabelTopologyZone, selects("x"))), want: []string{"a: q p"},
		},
		"the dry run subtracts a terminating pod that was not counted": {
			pods: pods(on("a", "w", 100, 100, app("x")), on("a", "t", 1, 100, app("x"), terminating), on("a", "u", 1, 1500),
				on("b", "big", 100, 2000)),
			asking: asking(10, 1000, app("x"), spread(corev1.LabelTopologyZone, selects("x"))), want: []string{"a: t u"},
		},
		"without the terminating pod there is no candidate": {
			pods:   pods(on("a", "w", 100, 100, app("x")), on("a", "u", 1, 1500), on("b", "big", 100, 2000)),
			asking: asking(10, 1000, app("x"), spread(corev1.LabelTopologyZone, selects("x"))),
			want:   []string{"1 node(s) didn't match pod topology spread constraints"},
		},
		"host ports": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 100, hostPort), on("a", "q", 0, 100)),
			asking: asking(10, 100, hostPort), want: []string{"a: p"},
		},
		"a port of two pods is free as soon as one of them goes": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 100, 100, hostPort), on("a", "q", 0, 100, hostPort)),
			asking: asking(10, 100, hostPort), want: []string{"a: q"},
		},
		"nominated pods count": {
			nodes:     []*corev1.Node{a, b},
			pods:      pods(on("a", "p", 0, 1500), on("b", "q", 5, 1500)),
			nominated: pods(on("", "n", 50, 1500, nominatedTo("a"))),
			asking:    asking(10, 1000), want: []string{"b: q"},
		},

		"the fewest violations": {
			pods:    pods(on("a", "p", 0, 1500, app("x")), on("b", "q", 5, 1500)),
			budgets: budgets(budget("x", 0, selects("x"))), asking: asking(10, 1000), want: []string{"b: q"},
		},
		"a violation where nothing else helps": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 1500, app("x"))),
			budgets: budgets(budget("x", 0, selects("x"))), asking: asking(10, 1000), want: []string{"a: p (1)"},
		},
		"pods that violate a budget are reprieved first": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 900, app("x")), on("a", "q", 5, 900)),
			budgets: budgets(budget("x", 0, selects("x"))), asking: asking(10, 1000), want: []string{"a: q"},
		},
		"one violation of two, as the budget allows one": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 900, app("x")), on("a", "q", 5, 900, app("x"))),
			budgets: budgets(budget("x", 1, selects("x"))), asking: asking(10, 2000), want: []string{"a: q p (1)"},
		},
		"a processed eviction does not count": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 900, app("x")), on("a", "q", 5, 900, app("x"))),
			budgets: budgets(budget("x", 1, selects("x"), "p")), asking: asking(10, 2000), want: []string{"a: q p"},
		},
		"a processed eviction of another pod": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 900, app("x")), on("a", "q", 5, 900, app("x"))),
			budgets: budgets(budget("x", 1, selects("x"), "other")), asking: asking(10, 2000), want: []string{"a: q p (1)"},
		},
		"an empty selector selects nothing": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 1500)),
			budgets: budgets(budget("empty", 0, &metav1.LabelSelector{}), budget("nil", 0, nil)), asking: asking(10, 1000),
			want: []string{"a: p"},
		},
		"a selector that cannot be parsed selects nothing": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 1500, app("x"))),
			budgets: budgets(budget("bad", 0, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x", "name": "no value"}})),
			asking:  asking(10, 1000), want: []string{"a: p"},
		},
		"at the first exhausted budget the next is not used up": {
			nodes: []*corev1.Node{a},
			pods: pods(on("a", "p", 5, 900, app("x")), on("a", "q", 0, 900, func(p *corev1.Pod) {
				p.Labels = map[string]string{"tier": "y"}
			}), func() *corev1.Pod { p := on("a", "r", 6, 100, app("x")); p.Labels["tier"] = "y"; return p }()),
			budgets: budgets(budget("1", 0, selects("x")),
				budget("2", 1, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "y"}})),
			asking: asking(10, 2000), want: []string{"a: r p q (2)"},
		},

		"the lowest highest priority": {
			pods:   pods(on("a", "p", 5, 1500), on("b", "q", 0, 900), on("b", "r", 1, 900)),
			asking: asking(10, 2000), want: []string{"b: r q"},
		},
		"the smallest sum of priorities": {
			pods:   pods(on("a", "p", 5, 900), on("a", "q", 4, 900), on("b", "r", 5, 900), on("b", "s", 1, 900)),
			asking: asking(10, 2000), want: []string{"b: r s"},
		},
		"fewer victims have the smaller sum, also of negative priorities": {
			pods:   pods(on("a", "p", -5, 1800), on("b", "q", -5, 900), on("b", "r", -5, 900)),
			asking: asking(10, 2000), want: []string{"a: p"},
		},
		"the latest start": {
			pods:   pods(on("a", "p", 0, 1500, started(1)), on("b", "q", 0, 1500, started(9))),
			asking: asking(10, 1000), want: []string{"b: q"},
		},
		"the earliest start of the most important victims decides": {
			pods: pods(on("a", "p", 5, 900, started(5)), on("a", "q", 0, 900, started(1)),
				on("b", "r", 5, 900, started(4)), on("b", "s", 0, 900, started(9))),
			asking: asking(10, 2000), want: []string{"a: p q"},
		},
		"equally good nodes": {
			nodes:  []*corev1.Node{a, b, c},
			pods:   pods(on("a", "p", 0, 1500, started(1)), on("b", "q", 5, 1500), on("c", "r", 0, 1500, started(1))),
			asking: asking(10, 1000), want: []string{"a: p", "c: r"},
		},

		"preemptionPolicy Never": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 1500)), asking: asking(10, 1000, policy(corev1.PreemptNever)),
			want: []string{"not eligible due to preemptionPolicy=Never."},
		},
		"preemptionPolicy PreemptLowerPriority": {
			nodes: []*corev1.Node{a}, pods: pods(on("a", "p", 0, 1500)),
			asking: asking(10, 1000, policy(corev1.PreemptLowerPriority)), want: []string{"a: p"},
		},
		"the nominated node has a preempted pod": {
			pods: pods(on("a", "p", 0, 1500, preempted), on("b", "q", 0, 1500)), asking: asking(10, 1000, nominatedTo("a")),
			want: []string{"not eligible due to a terminating pod on the nominated node."},
		},
		"the preempted pod is as important": {
			pods: pods(on("a", "p", 10, 1500, preempted), on("b", "q", 0, 1500)), asking: asking(10, 1000, nominatedTo("a")),
			want: []string{"b: q"},
		},
		"the nominated node is out of the question now": {
			nodes: []*corev1.Node{cordoned("a", "z1"), b},
			pods:  pods(on("a", "p", 0, 1500, preempted), on("b", "q", 0, 1500)), asking: asking(10, 1000, nominatedTo("a")),
			want: []string{"b: q"},
		},
		"the nominated node has pods that terminate for other reasons": {
			pods: pods(on("a", "p", 0, 500, terminating), on("a", "q", 0, 500, terminating,
				disrupted(corev1.ConditionTrue, corev1.PodReasonTerminationByKubelet)), on("a", "r", 0, 500, terminating,
				disrupted(corev1.ConditionFalse, corev1.PodReasonPreemptionByScheduler)), on("b", "s", 100, 1500)),
			asking: asking(10, 1000, nominatedTo("a")), want: []string{"a: r"},
		},
		"the nominated node has a pod with the condition that does not terminate": {
			pods: pods(on("a", "p", 0, 1500, disrupted(corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)),
				on("b", "q", 100, 1500)),
			asking: asking(10, 1000, nominatedTo("a")), want: []string{"a: p"},
		},
		"PreFilter rejects the pod as a whole": {
			pods: pods(on("a", "p", 0, 1500)),
			asking: asking(10, 1000, func(p *corev1.Pod) {
				term := func(name string) corev1.NodeSelectorRequirement {
					return corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}
				}
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchFields: []corev1.NodeSelectorRequirement{term("a"), term("b")},
					}}},
				}}
			}),
			want: []string{"not found"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := &scenario.Case{
				Name: name, Nodes: test.nodes, Pods: test.pods, Nominated: test.nominated, PodDisruptionBudgets: test.budgets,
				Queue: []scenario.Pending{{Pod: test.asking, Count: 1}},
			}
			if in.Nodes == nil {
				in.Nodes = []*corev1.Node{a, b}
			}
			r, err := compare.Run(t.Context(), in, inProcess)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range r.Differences {
				t.Error(d)
			}
			expectPreemption(t, r.Answers.Preempt[0].Preemption, in, test.want)
		})
	}
}

// expectPreemption holds kube-scheduler's answer against what the test says of it.
func expectPreemption(t *testing.T, p *stowagev1.Preemption, in *scenario.Case, want []string) {
	t.Helper()
	if p == nil {
		if want != nil {
			t.Errorf("there is no preemption, not %q", want)
		}
		return
	}
	var got []string
	for _, node := range p.BestNodes.GetIndexes() {
		i := slices.IndexFunc(p.Candidates, func(c *stowagev1.PreemptionCandidate) bool { return c.NodeIndex == node })
		text := in.Nodes[node].Name + ":"
		for _, v := range p.Candidates[i].Victims {
			text += " " + v.Name
		}
		if n := p.Candidates[i].PdbViolations; n > 0 {
			text += fmt.Sprintf(" (%d)", n)
		}
		got = append(got, text)
	}
	if got != nil {
		if !slices.Equal(got, want) {
			t.Errorf("best are %q, not %q", got, want)
		}
		return
	}
	for _, text := range want {
		if !strings.Contains(p.Message, text) {
			t.Errorf("%q does not say %q", p.Message, text)
		}
	}
	if want == nil {
		t.Errorf("there is a preemption: %v", p)
	}
}
