package compare_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// replay is a row of a table in kube-scheduler's own tests of preemption: its situation, in a notation of this test, and the
// outcome that the row records.
type replay struct {
	// row is the file of v1.37.1 and the line of the row's name, such as "default_preemption_test.go:224".
	row string
	// nodes are separated by blanks: the name, "/" and the values of the labels hostname and zone if it has them, "!" if it is
	// cordoned, ":" and the allocatable resources if they differ from most rows' (cpu=500m,memory=500).
	nodes string
	// pods are separated by ";": the node, the name, the priority, the size, and options: "@3" is a start time, "a=b" a label.
	pods string
	// pod is the pod to be placed: its priority, its size, and options.
	pod string
	// of are the candidates of the request; all nodes if empty.
	of      []string
	budgets []*policyv1.PodDisruptionBudget
	with    map[string]podOption

	// What the row records. candidates are all of them with their victims, both by name, and the violations of budgets, such
	// as "node1: p q (1)"; best are the nodes that it allows to be chosen; message is kube-scheduler's text about preemption,
	// and without what the text must not contain.
	candidates []string
	best       []string
	message    string
	without    string
}

var priorities = map[string]int32{"neg": -100, "low": 0, "mid": 100, "high": 1000, "top": 10000}

// sizes are in milli-CPUs and bytes.
var sizes = map[string]int64{"none": 0, "small": 100, "medium": 200, "large": 300, "huge": 500}

const (
	noVictims   = "No preemption victims found for incoming pod"
	notHelpful  = "Preemption is not helpful for scheduling"
	notEligible = "not eligible"
)

func available(nodes int, parts ...string) string {
	return fmt.Sprintf("preemption: 0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}

func nominating(node string) string {
	return "preemption: found a potential placement for pod on node " + node + ", preempting 1 victims"
}

func hasFoo() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "foo", Operator: metav1.LabelSelectorOpExists},
	}}
}

func awayFromFoo(key string) podOption {
	return func(p *corev1.Pod) {
		apartFrom("", key)(p)
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = hasFoo()
	}
}

func spreadFoo(p *corev1.Pod) {
	spread("zone", hasFoo())(p)
	spread("hostname", hasFoo())(p)
}

func withoutPriority(p *corev1.Pod) { p.Spec.Priority = nil }

var (
	violated = metav1.LabelSelector{MatchLabels: map[string]string{"pdb": "violated"}}
	unharmed = metav1.LabelSelector{MatchLabels: map[string]string{"pdb": "unharmed"}}
	onFoo    = func(allowed int32, processed ...string) []*policyv1.PodDisruptionBudget {
		return []*policyv1.PodDisruptionBudget{budget("foo", allowed, selects("foo"), processed...)}
	}
	foo       = "app=foo"
	mediumFoo = "mid medium " + foo
)

// replays are the rows that the contract can express. Where a row hands kube-scheduler's code a state that no scheduling
// cycle comes to, a comment explains the difference.
var replays = []replay{
	{
		row: "default_preemption_test.go:224", nodes: "node1:pods=1", pods: "node1 p1 low none", pod: "high none",
		message: nominating("node1"),
	},
	{
		row: "default_preemption_test.go:239", nodes: "node1:pods=1", pods: "node1 p1 low none", pod: "low none",
		message: available(1, "1 "+noVictims),
	},
	{
		row: "default_preemption_test.go:254", nodes: "node1!:pods=1", pods: "node1 p1 low none", pod: "high none",
		message: available(1, "1 "+notHelpful),
	},
	{
		row: "default_preemption_test.go:282", nodes: "node1:pods=1 node2:pods=1",
		pods: "node1 p1 high none; node2 p2 low none", pod: "mid none",
		message: nominating("node2"),
	},
	{
		row: "default_preemption_test.go:300", nodes: "node1:pods=1 node2:pods=1",
		pods: "node1 p1 high none pdb=unharmed; node1 p2 low none pdb=violated; node2 p3 mid none pdb=violated", pod: "top none",
		budgets: []*policyv1.PodDisruptionBudget{budget("violated", 0, &violated), budget("unharmed", 1<<31-1, &unharmed)},
		best:    []string{"node2"}, message: nominating("node2"),
	},
	// The row has nodes that are smaller than the pod and calls them Unschedulable. In a cycle they are
	// UnschedulableAndUnresolvable; a pod of high priority takes the room here. So in the next two.
	{
		row: "default_preemption_test.go:345", nodes: "node1:cpu=400m,memory=800 node2:cpu=400m,memory=800",
		pods: "node1 p1 low none; node1 k1 high medium; node2 p2 low none; node2 k2 high medium", pod: "high large",
		message: available(2, "2 Insufficient cpu"),
	},
	{
		row: "default_preemption_test.go:363", nodes: "node1:cpu=1,pods=1 node2:cpu=400m,memory=800 node3:cpu=1,pods=1",
		pods: "node1 p1 high none; node2 p2 low none; node2 k2 high medium; node3 p3 high none", pod: "high none",
		with:    map[string]podOption{"p": func(p *corev1.Pod) { setRequests(p, "large", corev1.ResourceCPU) }},
		message: available(3, "1 Insufficient cpu", "2 "+noVictims),
	},
	{
		row:   "default_preemption_test.go:384",
		nodes: "node1:cpu=400m,memory=800 node2:cpu=400m,memory=800 node3!:cpu=400m,memory=800 node4!:cpu=400m,memory=800",
		pods:  "node1 p1 low none; node1 k1 high medium; node2 p2 low none; node2 k2 high medium", pod: "high large",
		message: available(4, "2 Insufficient cpu", "2 "+notHelpful),
	},

	{
		row: "default_preemption_test.go:753", nodes: "node1 node2",
		pods: "node1 p1 mid large; node2 p2 mid large", pod: "high large",
		candidates: []string{"node1: p1", "node2: p2"},
	},
	{
		row: "default_preemption_test.go:784", nodes: "node1 node2",
		pods: "node1 p1 mid large; node2 p2 mid large", pod: "low large",
		message: available(2, "2 "+noVictims),
	},
	{
		row: "default_preemption_test.go:800", nodes: "node1 node2",
		pods: "node1 p1.1 low small; node1 p1.2 mid large; node2 p2 mid large", pod: "high large",
		candidates: []string{"node1: p1.2", "node2: p2"},
	},
	{
		row: "default_preemption_test.go:832", nodes: "node1 node2",
		pods: "node1 p1.1 mid small; node1 p1.2 low small; node1 p1.3 mid medium; node1 p1.4 high small; node2 p2 high large",
		pod:  "high large", candidates: []string{"node1: p1.2 p1.3"},
	},
	{
		row: "default_preemption_test.go:863", nodes: "node1 node2",
		pods: "node1 p1.1 low small @5; node1 p1.2 low small @4; node1 p1.3 mid medium @3; node1 p1.4 high small @2; " +
			"node2 p2 high large @1",
		pod: "high large", candidates: []string{"node1: p1.1 p1.3"},
	},
	// The row evaluates node2, too, where the pod has room: a cycle would end there.
	{
		row: "default_preemption_test.go:894", nodes: "node1/node1 node2/node2", of: []string{"node1"},
		pods: "node1 p1.1 low small foo=; node1 p1.2 mid small; node1 p1.3 high small; node2 p2 high small", pod: "high small foo=",
		with: map[string]podOption{"p1.1": awayFromFoo("hostname")}, candidates: []string{"node1: p1.1"},
	},
	{
		row: "default_preemption_test.go:926", nodes: "node-a/node-a/zone1 node-b/node-b/zone1 node-x/node-x/zone2",
		pods: "node-a pod-a1 mid none foo=; node-a pod-a2 low none foo=; node-b pod-b1 low none foo=; " +
			"node-x pod-x1 high none foo=; node-x pod-x2 high none foo=",
		pod: "high none foo=", with: map[string]podOption{"p": spreadFoo}, candidates: []string{"node-a: pod-a2", "node-b: pod-b1"},
	},
	{
		row: "default_preemption_test.go:980", nodes: "node1", pods: "node1 p1.1 " + mediumFoo + "; node1 p1.2 " + mediumFoo,
		pod: "high huge", budgets: onFoo(1), candidates: []string{"node1: p1.1 p1.2 (1)"},
	},
	{
		row: "default_preemption_test.go:1015", nodes: "node1", pods: "node1 p1.1 " + mediumFoo + "; node1 p1.2 " + mediumFoo,
		pod: "high huge", budgets: onFoo(1, "p2"), candidates: []string{"node1: p1.1 p1.2 (1)"},
	},
	{
		row: "default_preemption_test.go:1050", nodes: "node1", pods: "node1 p1.1 " + mediumFoo + "; node1 p1.2 " + mediumFoo,
		pod: "high huge", budgets: onFoo(1, "p1.2"), candidates: []string{"node1: p1.1 p1.2"},
	},
	{
		row: "default_preemption_test.go:1085", nodes: "node1",
		pods: "node1 p1.1 " + mediumFoo + "; node1 p1.2 " + mediumFoo + "; node1 p1.3 " + mediumFoo,
		pod:  "high huge", budgets: onFoo(1, "p1.3"), candidates: []string{"node1: p1.1 p1.2 p1.3 (1)"},
	},

	{
		row: "default_preemption_test.go:1545", nodes: "node1 node2", pods: "node1 p1 mid large @1; node2 p2 mid large @1",
		pod: "high large", best: []string{"node1", "node2"},
	},
	{
		row: "default_preemption_test.go:1556", nodes: "node1 node2 node3",
		pods: "node1 p1.1 mid medium @1; node1 p1.2 mid large @1; node2 p2.1 mid medium @1; node2 p2.2 low medium @1; " +
			"node3 p3.1 low medium @1; node3 p3.2 low medium @1",
		pod: "high huge", best: []string{"node3"},
	},
	{
		row: "default_preemption_test.go:1571", nodes: "node1 node2 node3",
		pods: "node1 p1.1 mid medium @1; node1 p1.2 mid large @1; node2 p2.1 mid large @1; node2 p2.2 low medium @1; " +
			"node3 p3.1 mid medium @1; node3 p3.2 mid medium @1",
		pod: "high huge", best: []string{"node2"},
	},
	{
		row: "default_preemption_test.go:1586", nodes: "node1 node2 node3",
		pods: "node1 p1.1 mid small @1; node1 p1.2 neg small @1; node1 p1.3 mid small @1; node1 p1.4 neg small @1; " +
			"node2 p2.1 mid large @1; node2 p2.2 neg medium @1; " +
			"node3 p3.1 mid medium @1; node3 p3.2 neg small @1; node3 p3.3 low small @1",
		pod: "high huge", best: []string{"node2"},
	},
	{
		row: "default_preemption_test.go:1606", nodes: "node1 node2 node3",
		pods: "node1 p1.1 mid small @1; node1 p1.2 neg small @1; node1 p1.3 neg small @1; " +
			"node2 p2.1 mid large @1; node2 p2.2 neg medium @1; " +
			"node3 p3.1 mid medium @1; node3 p3.2 neg small @1; node3 p3.3 low small @1",
		pod: "high huge", best: []string{"node2"},
	},
	{
		row: "default_preemption_test.go:1623", nodes: "node1 node2 node3 node4",
		pods: "node1 p1.1 mid small @1; node1 p1.2 low small @1; node1 p1.3 low small @1; node2 p2.1 high large @1; " +
			"node3 p3.1 mid medium @1; node3 p3.2 low small @1; node3 p3.3 low small @1; node3 p3.4 low medium @1; " +
			"node4 p4.1 mid medium @1; node4 p4.2 mid small @1; node4 p4.3 mid small @1; node4 p4.4 neg small @1",
		pod: "top huge", best: []string{"node1"},
	},
	{
		row: "default_preemption_test.go:1644", nodes: "node1 node2 node3",
		pods: "node1 p1.1 mid medium @3; node1 p1.2 mid medium @3; node2 p2.1 mid medium @4; node2 p2.2 mid medium @4; " +
			"node3 p3.1 mid medium @2; node3 p3.2 mid medium @2",
		pod: "high huge", best: []string{"node2"},
	},
	{
		row: "default_preemption_test.go:1659", nodes: "node1 node2 node3",
		pods: "node1 p1.1 mid medium @5; node1 p1.2 mid medium @3; node2 p2.1 mid medium @6; node2 p2.2 mid medium @2; " +
			"node3 p3.1 mid medium @4; node3 p3.2 mid medium @7",
		pod: "high huge", best: []string{"node3"},
	},
	{
		row: "default_preemption_test.go:1674", nodes: "node1 node2 node3",
		pods: "node1 p1.1 low medium @5; node1 p1.2 mid medium @3; node2 p2.1 mid medium @7; node2 p2.2 low medium @2; " +
			"node3 p3.1 low medium @4; node3 p3.2 mid medium @6",
		pod: "high huge", best: []string{"node2"},
	},

	// The next rows ask for eligibility alone. Here the node is full, so that there is a cycle with preemption.
	{
		row: "default_preemption_test.go:2432", nodes: "node1!:pods=1", pods: "node1 p1 low none terminating",
		pod: "high none nominated", message: available(1, "1 "+notHelpful),
	},
	{
		row: "default_preemption_test.go:2440", nodes: "node1:pods=1", pods: "node1 p1 low none", pod: "high none",
		without: notEligible,
	},
	{
		row: "default_preemption_test.go:2448", nodes: "node1:pods=1", pods: "node1 p1 low none", pod: "high none never",
		message: "preemption: not eligible due to preemptionPolicy=Never.",
	},
	{
		row: "default_preemption_test.go:2456", nodes: "node1:pods=1", pods: "node1 p1 low none preempted", pod: "high none nominated",
		message: "preemption: not eligible due to a terminating pod on the nominated node.",
	},
	{
		row: "default_preemption_test.go:2464", nodes: "node1:pods=1", pods: "node1 p1 low none terminating",
		pod: "high none nominated", without: notEligible,
	},

	{
		row: "default_preemption_test.go:2625", nodes: "node1 node2 node3",
		pods: "node1 p1.1 low small; node1 p1.2 low small; node2 p2.1 high large; node3 p3.1 mid medium", pod: "high huge may",
		best: []string{"node1"}, candidates: []string{"node1: p1.1 p1.2", "node3: p3.1"},
	},
	{
		row: "default_preemption_test.go:2639", nodes: "node-a/node-a/zone1 node-b/node-b/zone1 node-x/node-x/zone2",
		pods: "node-a p-a1 high none foo=; node-a p-a2 high none foo=; node-b p-b1 low none foo=; " +
			"node-x p-x1 high none foo=; node-x p-x2 high none foo=",
		pod: "high none foo=", with: map[string]podOption{"p": spreadFoo},
		best: []string{"node-b"}, candidates: []string{"node-b: p-b1"},
	},
	// The extenders of the row let everything pass.
	{
		row: "default_preemption_test.go:2723", nodes: "node1 node2",
		pods: "node1 p1.1 mid small; node1 p1.2 low small; node2 p2.1 mid large", pod: "high huge may",
		best: []string{"node2"}, candidates: []string{"node1: p1.1 p1.2", "node2: p2.1"},
	},
	{
		row: "default_preemption_test.go:2748", nodes: "node1 node2 node3",
		pods: "node1 p1.1 low small; node1 p1.2 low small; node2 p2.1 high large; node3 p3.1 mid medium", pod: "high huge never",
		message: "preemption: not eligible due to preemptionPolicy=Never.",
	},
	{
		row: "default_preemption_test.go:2762", nodes: "node1 node2 node3",
		pods: "node1 p1.1 low small; node1 p1.2 low small; node2 p2.1 high large; node3 p3.1 mid medium", pod: "high huge",
		best: []string{"node1"}, candidates: []string{"node1: p1.1 p1.2", "node3: p3.1"},
	},

	{
		row: "default_preemption_test.go:3063", nodes: "node1", pods: "node1 victim low large", pod: "high large",
		candidates: []string{"node1: victim"},
	},
	{
		row: "default_preemption_test.go:3074", nodes: "node1",
		pods: "node1 high-prio high small; node1 mid-prio mid small; node1 low-prio low small", pod: "high large",
		candidates: []string{"node1: low-prio"},
	},
	{
		row: "default_preemption_test.go:3087", nodes: "node1",
		pods: "node1 victim-pdb low medium " + foo + "; node1 victim-no-pdb mid medium", pod: "high large", budgets: onFoo(0),
		candidates: []string{"node1: victim-no-pdb"},
	},
	{
		row: "default_preemption_test.go:3105", nodes: "node1", pods: "node1 v1 low medium " + foo + "; node1 v2 mid medium " + foo,
		pod: "high large", budgets: onFoo(0), candidates: []string{"node1: v1 (1)"},
	},
	// The pod of the row has room on the node; here it has none.
	{
		row: "default_preemption_test.go:3259", nodes: "node1:pods=1", pods: "node1 victim high none", pod: "mid none",
		message: available(1, "1 "+noVictims),
	},
	// An empty node rejects a pod with a code that preemption may change only for the pods of another node.
	{
		row: "default_preemption_test.go:3271", nodes: "node1/node1/zone1 node2/node2/zone1", pods: "node2 q high none foo=",
		pod: "mid none", with: map[string]podOption{"p": awayFromFoo("zone")}, message: available(2, "2 "+noVictims),
	},

	// The row lists what may go; here all of it has to.
	{
		row: "preemption_test.go:673", nodes: "node1", pods: "node1 p1 mid large; node1 p2 low small", pod: "high huge",
		candidates: []string{"node1: p1 p2"},
	},

	{
		row: "util_test.go:68", nodes: "node1", pods: "node1 p1 low large " + foo, pod: "high large",
		budgets: []*policyv1.PodDisruptionBudget{budget("bar", 0, selects("bar"))}, candidates: []string{"node1: p1"},
	},
	{
		row: "util_test.go:82", nodes: "node1", pods: "node1 p1 low large " + foo, pod: "high large",
		budgets: onFoo(1), candidates: []string{"node1: p1"},
	},
	{
		row: "util_test.go:99", nodes: "node1", pods: "node1 p1 low large " + foo, pod: "high large",
		budgets: onFoo(0), candidates: []string{"node1: p1 (1)"},
	},
	{
		row: "util_test.go:160", nodes: "node1", pods: "node1 p1 low medium " + foo + "; node1 p2 low medium " + foo,
		pod: "high huge", budgets: onFoo(1), candidates: []string{"node1: p1 p2 (1)"},
	},
	{
		row: "util_test.go:182", nodes: "node1", pods: "node1 p1 low large " + foo, pod: "high large",
		budgets: onFoo(0, "p1"), candidates: []string{"node1: p1"},
	},
	{
		row: "util_test.go:202", nodes: "node1", pods: "node1 p1 low large " + foo, pod: "high large",
		budgets: []*policyv1.PodDisruptionBudget{budget("empty", 0, &metav1.LabelSelector{})}, candidates: []string{"node1: p1"},
	},
	{
		row: "util_test.go:219", nodes: "node1", pods: "node1 p1 low large " + foo + " tier=backend", pod: "high large",
		budgets: []*policyv1.PodDisruptionBudget{
			budget("1", 1, selects("foo")),
			budget("2", 0, &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "backend"}}),
		},
		candidates: []string{"node1: p1 (1)"},
	},
	// Of two victims the more important one comes back.
	{
		row: "util_test.go:282", nodes: "node1", pods: "node1 vi1 20 medium; node1 vi2 10 medium", pod: "high large",
		candidates: []string{"node1: vi2"},
	},
	{
		row: "util_test.go:288", nodes: "node1", pods: "node1 vi1 10 medium; node1 vi2 20 medium", pod: "high large",
		candidates: []string{"node1: vi1"},
	},
	{
		row: "util_test.go:306", nodes: "node1", pods: "node1 vi1 10 medium @1; node1 vi2 10 medium @2", pod: "high large",
		candidates: []string{"node1: vi2"},
	},
	{
		row: "util_test.go:312", nodes: "node1", pods: "node1 vi1 10 medium @2; node1 vi2 10 medium @1", pod: "high large",
		candidates: []string{"node1: vi1"},
	},
	// That a pod terminates because of preemption shows in the eligibility of the pod that is nominated to its node.
	{row: "util_test.go:613", nodes: "node1:pods=1", pods: "node1 p1 low none", pod: "high none nominated", without: notEligible},
	{
		row: "util_test.go:618", nodes: "node1:pods=1", pods: "node1 p1 low none terminating", pod: "high none nominated",
		without: notEligible,
	},
	{
		row: "util_test.go:623", nodes: "node1:pods=1", pods: "node1 p1 low none terminating", pod: "high none nominated",
		without: notEligible,
		with:    map[string]podOption{"p1": disrupted(corev1.ConditionFalse, corev1.PodReasonPreemptionByScheduler)},
	},
	{
		row: "util_test.go:631", nodes: "node1:pods=1", pods: "node1 p1 low none terminating", pod: "high none nominated",
		without: notEligible,
		with:    map[string]podOption{"p1": disrupted(corev1.ConditionTrue, "SomeOtherReason")},
	},
	{
		row: "util_test.go:639", nodes: "node1:pods=1", pods: "node1 p1 low none preempted", pod: "high none nominated",
		message: "preemption: not eligible due to a terminating pod on the nominated node.",
	},
	// The priority of a pod shows in whom it gives way to.
	{row: "util_test.go:667", nodes: "node1:pods=1", pods: "node1 p1 10 none", pod: "11 none", candidates: []string{"node1: p1"}},
	{
		row: "util_test.go:667", nodes: "node1:pods=1", pods: "node1 p1 10 none", pod: "10 none",
		message: available(1, "1 "+noVictims),
	},
	{
		row: "util_test.go:699", nodes: "node1:pods=1", pods: "node1 p6 low none", pod: "1 none",
		with: map[string]podOption{"p6": withoutPriority}, candidates: []string{"node1: p6"},
	},
	{
		row: "util_test.go:699", nodes: "node1:pods=1", pods: "node1 p6 low none", pod: "0 none",
		with: map[string]podOption{"p6": withoutPriority}, message: available(1, "1 "+noVictims),
	},
}

// unexpressed are the other rows: of a whole test, or one by its line, with the reason. Rows about pod groups that the reason
// of a test does not cover have their own.
var unexpressed = map[string]string{
	"default_preemption_test.go:269":  "a node without a status: in a cycle all have one, and this is that of the row before",
	"default_preemption_test.go:323":  extendersReason,
	"default_preemption_test.go:405":  pluginReason,
	"default_preemption_test.go:419":  pluginReason,
	"default_preemption_test.go:438":  "a pod of a group with GenericWorkload off: the API server drops the field",
	"default_preemption_test.go:454":  resizeReason,
	"default_preemption_test.go:487":  resizeReason,
	"default_preemption_test.go:521":  resizeReason,
	"default_preemption_test.go:702":  pluginReason,
	"default_preemption_test.go:718":  pluginReason,
	"default_preemption_test.go:735":  pluginReason,
	"default_preemption_test.go:963":  pluginReason,
	"default_preemption_test.go:1122": limitReason,
	"default_preemption_test.go:1159": limitReason,
	"default_preemption_test.go:1196": limitReason,
	"default_preemption_test.go:1265": limitReason,
	"default_preemption_test.go:1322": claimReason,
	"default_preemption_test.go:1350": claimReason,
	"default_preemption_test.go:1371": claimReason,
	"default_preemption_test.go:2657": extendersReason,
	"default_preemption_test.go:2680": extendersReason,
	"default_preemption_test.go:2699": extendersReason,
	"util_test.go:61":                 "no victims: no candidate, and nothing to count",

	"podgrouppreemption_test.go:235": "five nodes: a function of the test places the group where a cycle would not",
	"podgrouppreemption_test.go:319": groupPolicyReason,
	"podgrouppreemption_test.go:344": groupPolicyReason,
	"podgrouppreemption_test.go:617": groupPolicyReason,
	"podgrouppreemption_test.go:677": "a node has room for the group: in a cycle it needs no preemption",

	"podgrouppreemption_test.go TestPodGroupPreemptionEvaluationDurationMetric": "a metric",

	"default_preemption_test.go TestCustomSelection": "eligible victims are chosen by a function of another plugin",
	"default_preemption_test.go TestCustomOrdering":  "victims are ordered by a function of another plugin",

	"default_preemption_test.go TestPodEligibleToPreemptOthers":                                      groupReason,
	"default_preemption_test.go TestSelectVictimsOnNode":                                             groupReason,
	"default_preemption_test.go TestPreEnqueue":                                                      executorReason,
	"default_preemption_test.go TestDefaultPreemption_PodGroupPostFilter_ErrorWrapping":              groupReason,
	"default_preemption_test.go TestDefaultPreemption_PodGroupPostFilter_InvalidSnapshot":            groupReason,
	"default_preemption_test.go TestDefaultPreemption_PodGroupPostFilter_WorkloadPreemptionAttempts": groupReason,

	"preemption_test.go TestDryRunPreemption": "victims are chosen, and violations counted, by a plugin of the test",
	"preemption_test.go TestSelectCandidate":  "nodes are ordered by a function of a plugin of the test",

	"preemption_test.go TestCallExtenders":                           extendersReason,
	"preemption_test.go TestGetVictimsOnNode":                        groupReason,
	"preemption_test.go TestPreemptionEvaluationDurationMetric":      "a metric",
	"types_test.go TestGetHighestAllAncestor":                        groupReason,
	"types_test.go TestNewPodGroupPreemptorResolvesPreemptionPolicy": groupReason,
	"types_test.go TestNewDomainForWorkloadPreemption":               groupReason,
	"types_test.go TestNewVictim":                                    "a victim of several pods, and errors of the constructor",
	"types_test.go TestNewDomainVictim":                              "a victim on several nodes, and errors of the constructor",
	"util_test.go TestFilterVictimsWithPDBViolation":                 groupReason,
	"util_test.go TestMoreImportantVictim":                           groupReason,
	"util_test.go TestGetPodPriority":                                groupReason,
	"util_test.go TestTraverseHierarchyUp":                           groupReason,

	"executor_test.go TestIsPodRunningPreemption":                                                   executorReason,
	"executor_test.go TestPrepareCandidate":                                                         executorReason,
	"executor_test.go TestPrepareCandidateAsyncSetsPreemptingSets":                                  executorReason,
	"executor_test.go TestAsyncPreemptionFailure":                                                   executorReason,
	"executor_test.go TestRemoveNominatedNodeName":                                                  executorReason,
	"executor_test.go TestPreemptPod":                                                               executorReason,
	"executor_test.go TestPrepareCandidateAsyncActivatesPreemptorAfterLastVictimInMemoryPreemption": executorReason,
	"executor_test.go TestIsPodGroupRunningPreemption":                                              executorReason,
	"executor_test.go TestPreemptionExecutionDurationMetric":                                        executorReason,
}

const (
	extendersReason = "extenders filter the candidates, and the contract has none"
	pluginReason    = "a plugin of the test rejects nodes or fails, and profiles have kube-scheduler's own"
	resizeReason    = "a pod on a node that asks to be resized is not placed"
	limitReason     = "a part of the nodes is evaluated, from an offset on; Stowage evaluates all"
	claimReason     = "resources of nodes that claims consume: DRANodeAllocatableResources is alpha, and off"
	groupReason     = "pod groups as victims or preemptors: the rows of this test that are not replayed have them"
	// GenericWorkload alone does not have it.
	groupPolicyReason = "the preemption policy of a group: its feature gate is alpha, and off"
	executorReason    = "what becomes of victims and nominations afterwards; no decision"
)

func TestReplay(t *testing.T) {
	for _, r := range replays {
		t.Run(r.row, func(t *testing.T) {
			in := r.scenario(t)
			got, err := compare.Run(t.Context(), in, inProcess)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range got.Differences {
				t.Error("Stowage answers otherwise:", d)
			}
			r.expect(t, got.Answers.Preempt[0].Preemption, in)
		})
	}
}

// expect holds the answer of kube-scheduler's code against the recorded outcome.
func (r *replay) expect(t *testing.T, p *stowagev1.Preemption, in *scenario.Case) {
	t.Helper()
	if p == nil {
		t.Fatal("there is no preemption")
	}
	var all []string
	for _, c := range p.Candidates {
		var names []string
		for _, v := range c.Victims {
			names = append(names, v.Name)
		}
		slices.Sort(names)
		text := in.Nodes[c.NodeIndex].Name + ": " + strings.Join(names, " ")
		if c.PdbViolations > 0 {
			text += fmt.Sprintf(" (%d)", c.PdbViolations)
		}
		all = append(all, text)
	}
	var best []string
	for _, n := range p.BestNodes.GetIndexes() {
		best = append(best, in.Nodes[n].Name)
	}
	if r.candidates != nil && !slices.Equal(all, r.candidates) {
		t.Errorf("candidates are %q, not %q", all, r.candidates)
	}
	if r.best != nil && !slices.Equal(best, r.best) {
		t.Errorf("best are %q, not %q", best, r.best)
	}
	if r.message != "" && p.Message != r.message {
		t.Errorf("the text is %q, not %q", p.Message, r.message)
	}
	if r.without != "" && strings.Contains(p.Message, r.without) {
		t.Errorf("the text is %q", p.Message)
	}
	if r.candidates == nil && r.best == nil && r.message == "" && r.without == "" {
		t.Error("the row records nothing")
	}
}

func (r *replay) scenario(t *testing.T) *scenario.Case {
	t.Helper()
	in := &scenario.Case{Name: r.row, PodDisruptionBudgets: r.budgets, Candidates: r.of}
	for _, text := range strings.Fields(r.nodes) {
		in.Nodes = append(in.Nodes, replayedNode(text))
	}
	for _, text := range strings.Split(r.pods, ";") {
		f := strings.Fields(text)
		in.Pods = append(in.Pods, r.replayedPod(t, f[0], f[1], f[2:]))
	}
	in.Queue = []scenario.Pending{{Pod: r.replayedPod(t, "", "p", strings.Fields(r.pod)), Count: 1}}
	return in
}

func replayedNode(text string) *corev1.Node {
	text, resources, _ := strings.Cut(text, ":")
	text, unschedulable := strings.CutSuffix(text, "!")
	values := strings.Split(text, "/")
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: values[0], Labels: map[string]string{}}}
	n.Spec.Unschedulable = unschedulable
	for i, v := range values[1:] {
		n.Labels[[]string{"hostname", "zone"}[i]] = v
	}
	allocatable := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("32")}
	if resources == "" {
		resources = "cpu=500m,memory=500"
	}
	for _, pair := range strings.Split(resources, ",") {
		name, amount, _ := strings.Cut(pair, "=")
		allocatable[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	n.Status.Allocatable, n.Status.Capacity = allocatable, allocatable
	return n
}

func (r *replay) replayedPod(t *testing.T, node, name string, f []string) *corev1.Pod {
	t.Helper()
	priority, known := priorities[f[0]]
	if !known {
		n, err := strconv.Atoi(f[0])
		if err != nil {
			t.Fatal(err)
		}
		priority = int32(n)
	}
	p := on(node, name, priority, 0)
	p.Labels = map[string]string{}
	setRequests(p, f[1], corev1.ResourceCPU, corev1.ResourceMemory)
	for _, o := range f[2:] {
		key, value, label := strings.Cut(o, "=")
		switch {
		case label:
			p.Labels[key] = value
		case o == "terminating":
			terminating(p)
		case o == "preempted":
			preempted(p)
		case o == "nominated":
			nominatedTo("node1")(p)
		case o == "never":
			policy(corev1.PreemptNever)(p)
		case o == "may":
			policy(corev1.PreemptLowerPriority)(p)
		default:
			seconds, err := strconv.Atoi(strings.TrimPrefix(o, "@"))
			if err != nil {
				t.Fatal(err)
			}
			started(seconds)(p)
		}
	}
	if option := r.with[name]; option != nil {
		option(p)
	}
	return p
}

func setRequests(p *corev1.Pod, size string, names ...corev1.ResourceName) {
	requests := corev1.ResourceList{}
	for _, name := range names {
		if sizes[size] == 0 {
			continue
		}
		if name == corev1.ResourceCPU {
			requests[name] = *resource.NewMilliQuantity(sizes[size], resource.DecimalSI)
		} else {
			requests[name] = *resource.NewQuantity(sizes[size], resource.DecimalSI)
		}
	}
	p.Spec.Containers[0].Resources.Requests = requests
}

// Every row of kube-scheduler's tables is replayed, or listed with the reason why it is not.
func TestEveryRowIsReplayedOrExplained(t *testing.T) {
	known := map[string]bool{}
	for _, r := range replays {
		known[r.row] = false
	}
	for _, r := range groupReplays {
		known[fmt.Sprintf("podgrouppreemption_test.go:%d", r.row)] = false
	}
	for _, r := range featureReplays {
		known[fmt.Sprintf("nodedeclaredfeatures_test.go:%d", r.line)] = false
	}
	for _, rows := range []map[string]string{unexpressed, featuresUnexpressed} {
		for row := range rows {
			known[row] = false
		}
	}
	base := "k8s.io/kubernetes/pkg/scheduler/framework"
	for _, path := range []string{"plugins/nodedeclaredfeatures/nodedeclaredfeatures_test.go", "plugins/defaultpreemption/default_preemption_test.go", "preemption/preemption_test.go",
		"preemption/types_test.go", "preemption/util_test.go", "preemption/executor_test.go", "preemption/podgrouppreemption_test.go"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", base+"/"+filepath.Dir(path)).Output()
		if err != nil {
			t.Fatal(err)
		}
		checkRows(t, filepath.Join(strings.TrimSpace(string(out)), filepath.Base(path)), known)
	}
	for row, found := range known {
		if !found {
			t.Errorf("%s is no row of v1.37.1", row)
		}
	}
}

var (
	testStarts = regexp.MustCompile(`^func (Test\w+)\(`)
	rowStarts  = regexp.MustCompile(`^\t\t\t(name|description):\s+"`)
)

func checkRows(t *testing.T, path string, known map[string]bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name, test, rows := filepath.Base(path), "", 0
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if m := testStarts.FindStringSubmatch(lines.Text()); m != nil {
			if test = m[1]; known[name+" "+test] == false {
				if _, listed := known[name+" "+test]; listed {
					known[name+" "+test] = true
				}
			}
		}
		if !rowStarts.MatchString(lines.Text()) {
			continue
		}
		rows++
		row := fmt.Sprintf("%s:%d", name, n)
		_, listed := known[row]
		if _, whole := known[name+" "+test]; !listed && !whole {
			t.Errorf("%s, a row of %s, is neither replayed nor explained", row, test)
		}
		if listed {
			known[row] = true
		}
	}
	if err := lines.Err(); err != nil || rows == 0 {
		t.Fatalf("%s: %d rows, %v", path, rows, err)
	}
}
