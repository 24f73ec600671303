package oracle_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// queueNode is a node with CPUs, and with labels beside its hostname: key, value, ...
func queueNode(name, cpu string, labels ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	for i := 0; i < len(labels); i += 2 {
		n.Labels[labels[i]] = labels[i+1]
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("10"),
	}
	return n
}

// queuePod asks for CPUs.
func queuePod(name string, priority int32, cpu string, options ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
	pod.Spec.Priority = &priority
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "app"}}
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	for _, o := range options {
		o(pod)
	}
	return pod
}

func running(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.StartTime = &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
}

func labelled(labels ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels = map[string]string{}
		for i := 0; i < len(labels); i += 2 {
			p.Labels[labels[i]] = labels[i+1]
		}
	}
}

// near requires a pod with the labels in the domain.
func near(topologyKey string, labels map[string]string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: topologyKey,
			}},
		}}
	}
}

func never(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) }

func onlyOn(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node} }
}

func queueOf(pods ...*corev1.Pod) []scenario.Pending {
	var out []scenario.Pending
	for _, p := range pods {
		out = append(out, scenario.Pending{Pod: p, Count: 1})
	}
	return out
}

// ended is what a test of a queue compares.
type ended struct {
	Nodes    []int // -1 for pods that are on none, -2 for evicted ones
	Attempts []int
	// Evictions are preemptor, node and victims.
	Evictions        []string
	Rounds, Fruitful int
}

func runQueue(t *testing.T, c *scenario.Case) (ended, *oracle.QueueResult) {
	t.Helper()
	q, err := oracle.NewQueue(c, slices.Min)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	r, err := q.Run()
	if err != nil {
		t.Fatal(err)
	}
	out := ended{Rounds: r.Rounds, Fruitful: r.Fruitful}
	for _, p := range r.Pods {
		node := -1
		switch {
		case p.Evicted:
			node = -2
		case p.Placed > 0:
			node = int(p.Node)
		}
		out.Nodes, out.Attempts = append(out.Nodes, node), append(out.Attempts, p.Attempts)
	}
	for _, e := range r.Evictions {
		names := []string{c.Queue[e.Entry].Pod.Name, c.Nodes[e.Node].Name}
		for _, v := range e.Victims {
			names = append(names, v.Name)
		}
		out.Evictions = append(out.Evictions, strings.Join(names, " "))
	}
	return out, r
}

func TestQueues(t *testing.T) {
	db := map[string]string{"app": "db"}
	gated := func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} }
	terminating := func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
		p.DeletionGracePeriodSeconds = new(int64(30))
	}
	for name, test := range map[string]struct {
		c    scenario.Case
		want ended
	}{
		"by priority, then in the given order": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "2")},
				Queue: queueOf(queuePod("a", 0, "1", never), queuePod("b", 0, "1", never), queuePod("c", 1, "1", never)),
			},
			ended{Nodes: []int{0, -1, 0}, Attempts: []int{1, 2, 1}, Rounds: 1},
		},
		"a pod that waits for another": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "2"), queueNode("n1", "2")},
				Queue: queueOf(queuePod("web", 0, "1", near(corev1.LabelHostname, db)), queuePod("db", 0, "1", onlyOn("n1"))),
			},
			ended{Nodes: []int{1, 1}, Attempts: []int{2, 1}, Rounds: 1},
		},
		"the preemptor's room is kept from pods of lower priority": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "2")},
				Pods:  []*corev1.Pod{queuePod("low", 0, "2", running("n0"))},
				Queue: queueOf(queuePod("mid", 10, "2"), queuePod("high", 20, "2")),
			},
			ended{Nodes: []int{-1, 0}, Attempts: []int{2, 2}, Evictions: []string{"high n0 low"}, Rounds: 1},
		},
		// high waits for db; mid and db fill both nodes; without db there is no candidate.
		"a pod of the queue is evicted": {
			scenario.Case{
				Nodes: []*corev1.Node{
					queueNode("n0", "2", corev1.LabelTopologyZone, "z"), queueNode("n1", "2", corev1.LabelTopologyZone, "z"),
				},
				Queue: queueOf(
					queuePod("high", 20, "2", near(corev1.LabelTopologyZone, db)), queuePod("mid", 10, "2"), queuePod("db", 0, "2"),
				),
			},
			ended{Nodes: []int{0, -2, 1}, Attempts: []int{3, 1, 1}, Evictions: []string{"high n0 mid"}, Rounds: 1},
		},
		// x and w wait for e. x is rejected a second time, as n1 has no rack; then w comes, for which x and y have waited. y was
		// rejected less often, and takes the last place.
		"fewer rejections come before a higher priority": {
			scenario.Case{
				Nodes: []*corev1.Node{
					queueNode("n0", "2", "rack", "1", corev1.LabelTopologyZone, "z"), queueNode("n1", "9", corev1.LabelTopologyZone, "z"),
				},
				Queue: queueOf(
					queuePod("x", 100, "1", never, near("rack", map[string]string{"app": "w"})),
					queuePod("y", 50, "1", near("rack", map[string]string{"app": "w", "tier": "t"})),
					queuePod("w", 10, "1", onlyOn("n0"), labelled("app", "w", "tier", "t"),
						near(corev1.LabelTopologyZone, map[string]string{"role": "e"})),
					queuePod("e", 0, "1", onlyOn("n1"), labelled("app", "w", "role", "e")),
				),
			},
			ended{Nodes: []int{-1, 0, 0, 1}, Attempts: []int{4, 2, 2, 1}, Rounds: 1},
		},
		"a namespace selector waits for a round": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "2")},
				Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{
					Name: "blue", Labels: map[string]string{"team": "one"},
				}}},
				Queue: queueOf(
					queuePod("web", 10, "1", near(corev1.LabelHostname, db), func(p *corev1.Pod) {
						term := &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
						term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "one"}}
					}),
					queuePod("db", 0, "1", func(p *corev1.Pod) { p.Namespace = "blue" }),
				),
			},
			ended{Nodes: []int{0, 0}, Attempts: []int{2, 1}, Rounds: 2, Fruitful: 1},
		},
		"a gated pod is never attempted": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "2")},
				Queue: queueOf(queuePod("gated", 10, "1", gated), queuePod("free", 0, "2")),
			},
			ended{Nodes: []int{-1, 0}, Attempts: []int{0, 1}, Rounds: 1},
		},
		"a victim that terminates leaves as well": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "2")},
				Pods: []*corev1.Pod{
					queuePod("leaving", 0, "1", running("n0"), terminating), queuePod("low", 1, "1", running("n0")),
				},
				Queue: queueOf(queuePod("high", 20, "2")),
			},
			ended{Nodes: []int{0}, Attempts: []int{2}, Evictions: []string{"high n0 low leaving"}, Rounds: 1},
		},
		"the pods of an entry": {
			scenario.Case{
				Nodes: []*corev1.Node{queueNode("n0", "3")},
				Queue: []scenario.Pending{{Pod: queuePod("a", 0, "1"), Count: 4}},
			},
			ended{Nodes: []int{0, 0, 0, -1}, Attempts: []int{1, 1, 1, 2}, Rounds: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := runQueue(t, &test.c)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the queue ended otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextsOfQueues(t *testing.T) {
	c := &scenario.Case{
		Nodes: []*corev1.Node{queueNode("n0", "2")},
		Queue: queueOf(queuePod("big", 0, "3"), queuePod("gated", 0, "1", func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
		})),
	}
	_, r := runQueue(t, c)
	for i, want := range []string{
		"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
		"waiting for scheduling gates: [wait]",
	} {
		if got := r.Pods[i].Message; got != want {
			t.Errorf("pod %d: %q, want %q", i, got, want)
		}
	}
}

// A nominated pod that is not in the queue holds its room until a pod of higher priority preempts on its node.
func TestNominatedPodsOutsideOfTheQueue(t *testing.T) {
	c := &scenario.Case{
		Nodes:     []*corev1.Node{queueNode("n0", "2")},
		Pods:      []*corev1.Pod{queuePod("low", 0, "1", running("n0"))},
		Nominated: []*corev1.Pod{queuePod("nominated", 5, "1", func(p *corev1.Pod) { p.Status.NominatedNodeName = "n0" })},
		Queue:     queueOf(queuePod("equal", 5, "1", never), queuePod("high", 20, "2")),
	}
	want := ended{Nodes: []int{-1, 0}, Attempts: []int{2, 2}, Evictions: []string{"high n0 low"}, Rounds: 1}
	got, _ := runQueue(t, c)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with a preemptor (-want +got):\n%s", diff)
	}
	c.Queue = c.Queue[:1]
	want = ended{Nodes: []int{-1}, Attempts: []int{2}, Rounds: 1}
	if got, _ = runQueue(t, c); cmp.Diff(want, got) != "" {
		t.Errorf("without a preemptor (-want +got):\n%s", cmp.Diff(want, got))
	}
	c.Nominated = nil
	want = ended{Nodes: []int{0}, Attempts: []int{1}, Rounds: 1}
	if got, _ = runQueue(t, c); cmp.Diff(want, got) != "" {
		t.Errorf("without nominated pods (-want +got):\n%s", cmp.Diff(want, got))
	}
}
