package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	library "sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"
)

// both are the two snapshots of one cluster, in the same state.
type both struct {
	*testing.T
	r               *rand.Rand
	o               *objects
	library, ours   *side
	running         map[string]*corev1.Pod // by name
	created         int
	placed, refused int
}

// TestAgree changes random clusters through both snapshots, and compares what they answer after each change: the feasible nodes of pods,
// and for each other node the plugin, the code and the reasons.
func TestAgree(t *testing.T) {
	placed, refused := 0, 0
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newBoth(t, seed)
			for range 25 {
				b.step(true)
			}
			placed, refused = placed+b.placed, refused+b.refused
		})
	}
	if placed < 100 || refused < 20 {
		t.Errorf("%d pods were placed, %d not: the cases are too easy or too hard", placed, refused)
	}
}

func newBoth(t *testing.T, seed uint64) *both {
	t.Helper()
	b := &both{T: t, r: rand.New(rand.NewPCG(seed, 0)), o: &objects{}, running: map[string]*corev1.Pod{}}
	for i := range 3 + b.r.IntN(8) {
		n := node(i)
		if b.r.IntN(5) == 0 {
			n.Spec.Unschedulable = true
		}
		if b.r.IntN(5) == 0 {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}
		b.o.nodes = append(b.o.nodes, n)
		for range b.r.IntN(4) {
			p := b.pod()
			p.Spec.NodeName = n.Name
			b.o.pods = append(b.o.pods, p)
			b.running[p.Name] = p
		}
	}
	var err error
	b.library, err = newLibrary(t.Context(), b.o)
	b.must(err)
	b.ours, err = newStowage(t.Context(), b.o)
	b.must(err)
	return b
}

func (b *both) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// pod returns a random pod. All pods of an app have the same constraints: see TestAntiAffinityOfScheduledPods.
func (b *both) pod() *corev1.Pod {
	b.created++
	app := b.r.IntN(6)
	p := pod(fmt.Sprint("pod-", b.created), fmt.Sprint("app-", app), fmt.Sprint(1+b.r.IntN(20)))
	switch app {
	case 0, 1:
		apart(p)
	case 2, 3:
		spread(p)
	case 4:
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "zone-1"}
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	if b.r.IntN(2) == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	return p
}

// step changes both snapshots.
func (b *both) step(outside bool) {
	switch n := b.r.IntN(8); {
	case n < 3:
		b.schedule()
	case n < 5 && len(b.running) > 0:
		b.preempt()
	case n == 5 && outside:
		b.transaction([]library.TransactionResult{library.Commit, library.Revert}[b.r.IntN(2)])
	}
	b.compare(b.pod())
}

// compare compares the nodes of a pod, with all nodes and with some as candidates.
func (b *both) compare(p *corev1.Pod) (feasible []string) {
	b.Helper()
	names := []string{}
	for _, n := range b.o.nodes {
		if b.r.IntN(2) == 0 {
			names = append(names, n.Name)
		}
	}
	answer := func(s *side, on *fwk.Placement) ([]string, map[string]string) {
		nodes, why, err := s.CanSchedulePod(b.Context(), p.DeepCopy(), on)
		b.must(err)
		slices.Sort(nodes)
		return nodes, reasons(why, on, nodes)
	}
	for _, of := range [][]string{names, nil} {
		theirs, ours := b.library.all, b.ours.all
		if of != nil {
			var err error
			theirs, err = b.library.MakePlacement(of)
			b.must(err)
			ours, err = b.ours.MakePlacement(of)
			b.must(err)
		}
		want, whyNot := answer(b.library, theirs)
		got, why := answer(b.ours, ours)
		if d := cmp.Diff(want, got); d != "" {
			b.Fatalf("nodes of %s (-library +ours)\n%s", p.Name, d)
		}
		if d := cmp.Diff(whyNot, why); d != "" {
			b.Fatalf("reasons of %s (-library +ours)\n%s", p.Name, d)
		}
		feasible = got
	}
	return feasible
}

// reasons returns the status of each node of a placement that is not feasible.
func reasons(why *framework.Diagnosis, on *fwk.Placement, feasible []string) map[string]string {
	out := map[string]string{}
	for _, n := range on.Nodes {
		if name := n.Node().Name; !slices.Contains(feasible, name) {
			s := why.NodeToStatus.Get(name)
			out[name] = fmt.Sprint(s.Code(), " ", s.Reasons())
		}
	}
	return out
}

// schedule schedules a pod on the node that the library takes, which is any of the feasible ones.
func (b *both) schedule() {
	p := b.pod()
	feasible := b.compare(p)
	theirs, err := b.library.SchedulePods(b.Context(), []*corev1.Pod{p.DeepCopy()}, b.library.all, library.SchedulePodsOptions{})
	b.must(err)
	on := b.ours.all
	if at := theirs[0].SelectedNodeName; at != "" {
		if !slices.Contains(feasible, at) {
			b.Fatalf("the library schedules %s on %s, feasible are %v", p.Name, at, feasible)
		}
		on, err = b.ours.MakePlacement([]string{at})
		b.must(err)
	}
	ours, err := b.ours.SchedulePods(b.Context(), []*corev1.Pod{p.DeepCopy()}, on, library.SchedulePodsOptions{})
	b.must(err)
	if theirs[0].SelectedNodeName != ours[0].SelectedNodeName || theirs[0].Status.Code() != ours[0].Status.Code() {
		b.Fatalf("%s: library %q %v, ours %q %v", p.Name, theirs[0].SelectedNodeName, theirs[0].Status, ours[0].SelectedNodeName, ours[0].Status)
	}
	if ours[0].SelectedNodeName == "" {
		b.refused++
		return
	}
	b.placed++
	p.Spec.NodeName = ours[0].SelectedNodeName
	b.running[p.Name] = p
}

// preempt preempts a pod, and puts it back half the time.
func (b *both) preempt() {
	names := slices.Sorted(maps.Keys(b.running))
	p := b.running[names[b.r.IntN(len(names))]]
	theirs, err := b.library.preempt(b.Context(), []*corev1.Pod{p})
	b.must(err)
	ours, err := b.ours.preempt(b.Context(), []*corev1.Pod{p})
	b.must(err)
	if b.r.IntN(2) == 0 {
		delete(b.running, p.Name)
		return
	}
	b.compare(b.pod())
	b.must(theirs())
	b.must(ours())
}

// transaction takes steps in a transaction of both, which is committed or reverted.
func (b *both) transaction(result library.TransactionResult) {
	before := maps.Clone(b.running)
	b.must(b.library.Transaction(b.Context(), func() (library.TransactionResult, error) {
		return result, b.ours.Transaction(b.Context(), func() (library.TransactionResult, error) {
			for range 1 + b.r.IntN(5) {
				b.step(false)
			}
			return result, nil
		})
	}))
	if result == library.Revert {
		b.running = before
	}
}

// TestAntiAffinityOfScheduledPods is the one answer that is known to differ. A pod keeps pods of another app away, and these have no
// constraint. The library's SchedulePods does not add its node to the nodes that have pods with anti-affinity (v1.36.0
// pkg/scheduler/backend/cache/snapshot.go AssumePod), the only ones that InterPodAffinity reads. A pod that was there before counts.
func TestAntiAffinityOfScheduledPods(t *testing.T) {
	alone := func() *corev1.Pod {
		p := apart(pod("alone", "alone", "1"))
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchLabels = map[string]string{"app": "other"}
		return p
	}
	other := func() *corev1.Pod { return pod("other", "other", "1") }
	before := alone()
	before.Spec.NodeName = node(0).Name
	for _, c := range []struct {
		name            string
		pods            []*corev1.Pod
		theirs, stowage int
	}{{"there before", []*corev1.Pod{before}, 0, 0}, {"scheduled", nil, 1, 0}} {
		o := &objects{nodes: []*corev1.Node{node(0)}, pods: c.pods}
		for _, of := range []struct {
			make func() (*side, error)
			want int
		}{
			{func() (*side, error) { return newLibrary(t.Context(), o) }, c.theirs},
			{func() (*side, error) { return newStowage(t.Context(), o) }, c.stowage},
		} {
			s, err := of.make()
			if err != nil {
				t.Fatal(err)
			}
			if c.pods == nil {
				if _, err := s.SchedulePods(t.Context(), []*corev1.Pod{alone()}, s.all, library.SchedulePodsOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			nodes, _, err := s.CanSchedulePod(t.Context(), other(), s.all)
			if err != nil || len(nodes) != of.want {
				t.Errorf("%s: %v %v, want %d nodes", c.name, nodes, err, of.want)
			}
		}
	}
}
