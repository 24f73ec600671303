package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// mostScored is the highest amount of a resource on a node for which kube-scheduler's scores do not overflow.
const mostScored = math.MaxInt64 / 100

// enlarge makes some of the amounts as large as the API allows.
func enlarge(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	extremes := []int64{1 << 54, 1e16, mostScored, mostScored + 1, 1 << 60, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	seen := make(map[*api.PodTemplate]bool)
	change := func(r api.Resources, of int) {
		for i := range r {
			if rng.IntN(of) == 0 {
				r[i].Amount = extremes[rng.IntN(len(extremes))]
			}
		}
	}
	template := func(t *api.PodTemplate) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.Spec.Containers {
			change(t.Spec.Containers[i].Requests, 12)
		}
	}
	for _, t := range c.Templates {
		template(t)
	}
	for i := range c.Nodes {
		c.Nodes[i].Allocatable = slices.Clone(c.Nodes[i].Allocatable)
		change(c.Nodes[i].Allocatable, 6)
		for _, p := range c.Nodes[i].Pods {
			template(p.Template)
		}
	}
	for i := range pods {
		template(pods[i].Template)
	}
}

// sumOf is kube-scheduler's 64-bit sum of amounts.
func sumOf(amounts ...int64) (sum int64) {
	for _, a := range amounts {
		sum += a
	}
	return sum
}

func filter(t *testing.T, c *engine.Cluster, pod *enginetest.Pod) *verdict.Filter {
	t.Helper()
	f, err := c.Filter(context.Background(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLargeAmountsFit follows kube-scheduler's computation: the request is compared with the allocatable amount minus
// the sum of the pods' requests, in 64 bits (noderesources/fit.go fitsRequest, v1.37).
func TestLargeAmountsFit(t *testing.T) {
	const largest = math.MaxInt64
	for _, test := range []struct {
		allocatable int64
		there       []int64
		asked       int64
	}{
		{16 << 50, nil, 16 << 50},
		{16 << 50, nil, 16<<50 + 1},
		{16 << 50, []int64{15 << 50}, 1 << 50},
		{16 << 50, []int64{15 << 50}, 1<<50 + 1},
		{largest, nil, largest},
		{largest, []int64{1}, largest},
		{largest, []int64{1}, largest - 1},
		{largest, []int64{1 << 62, 1<<62 - 1}, 1},
		{8 << 30, []int64{largest}, 1},
		{8 << 30, []int64{largest, 1}, 1},                // as if nothing were there, and more
		{8 << 30, []int64{largest, 1}, 8<<30 + 1},        // requested beyond that
		{8 << 30, []int64{largest, largest, 2}, 8 << 30}, // around once
		{8 << 30, []int64{largest, largest, 2}, 8<<30 + 1},
		{largest, []int64{largest, 1}, largest}, // the difference does not fit
		{0, []int64{1 << 62, 1 << 62, 1 << 62}, 1},
	} {
		for _, resource := range []string{"memory", "cpu", "ephemeral-storage", "example.com/tokens"} {
			node := enginetest.MakeNode("n").Allocate(resource, test.allocatable, "pods", 10)
			if test.allocatable == 0 {
				node.Allocate("pods", 10)
			}
			for i, amount := range test.there {
				node.Run(enginetest.MakePod(fmt.Sprint(i)).Request(resource, amount))
			}
			pod := enginetest.MakePod("p").Request(resource, test.asked)
			want := test.asked <= test.allocatable-sumOf(test.there...)
			got := filter(t, compile(t, node), pod)
			if fits := len(got.Feasible) == 1; fits != want {
				t.Errorf("%d of %s fit into %d beside %v: %v, want %v", test.asked, resource, test.allocatable, test.there, fits, want)
			}
			if !want && got.Message != fmt.Sprintf("0/1 nodes are available: 1 Insufficient %s.", resource) {
				t.Errorf("the message is %q", got.Message)
			}
		}
	}
}

// TestLargeAmountsOfOnePod adds up a pod's containers without bound. kube-scheduler keeps the lowest 64 bits of the
// sum.
func TestLargeAmountsOfOnePod(t *testing.T) {
	const half = 1 << 62
	pod := func(amounts ...int64) *enginetest.Pod {
		p := enginetest.MakePod("p")
		p.Template.Spec.Containers = nil
		for _, a := range amounts {
			p.Template.Spec.Containers = append(p.Template.Spec.Containers, api.Container{Requests: enginetest.Resources("memory", a)})
		}
		return p
	}
	small := compile(t, enginetest.MakeNode("n").Allocate("memory", 8<<30, "pods", 10))
	for _, test := range []struct {
		amounts []int64
		initial int64 // of an init container
		fits    bool
	}{
		{[]int64{half, half - 1}, 0, false},
		{[]int64{half, half}, 0, true},                              // -2^63
		{[]int64{math.MaxInt64, math.MaxInt64}, 0, true},            // -2
		{[]int64{half, half, half, half}, 0, true},                  // 0
		{[]int64{half, half, half, half, 8 << 30}, 0, true},         // 8 GiB
		{[]int64{half, half, half, half, 8<<30 + 1}, 0, false},      // and a byte
		{[]int64{half, half, half, half, half, half - 1}, 0, false}, // 2^63 - 1
		{[]int64{half, half}, 16 << 30, true},                       // -2^63, which is more than 16 GiB before it is cut
		{[]int64{half, half - 1}, 16 << 30, false},
		{[]int64{1 << 30}, 16 << 30, false},
	} {
		p := pod(test.amounts...)
		p.Template.Spec.InitContainers = []api.Container{{Requests: enginetest.Resources("memory", test.initial)}}
		if got := filter(t, small, p); (len(got.Feasible) == 1) != test.fits {
			t.Errorf("containers that ask for %v and, before, %d fit: %v, want %v", test.amounts, test.initial, !test.fits, test.fits)
		}
	}
}

// TestPodThatFrees places a pod with a 64-bit sum of -2. A full node then has 2 bytes free.
func TestPodThatFrees(t *testing.T) {
	freeing := enginetest.MakePod("freeing")
	all := api.Container{Requests: enginetest.Resources("memory", int64(math.MaxInt64))}
	freeing.Template.Spec.Containers = []api.Container{all, all}
	bytes := enginetest.MakePod("bytes").Request("memory", 1)
	queue := []engine.Pending{
		{Pod: bytes.Pod, Count: 9}, {Pod: freeing.Pod, Count: 1}, {Pod: bytes.Pod, Count: 3},
	}
	c := compile(t, enginetest.MakeNode("n").Allocate("memory", 8, "pods", 100))
	for name, o := range map[string]engine.PlaceOptions{"scanning": {Scan: true}, "board": engine.PlaceOptions{}.WithBoard()} {
		o.Profile = api.Kube137()
		p, err := c.Place(context.Background(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{8, 1, 2} {
			if got := len(p.Placements[i].Nodes); got != want {
				t.Errorf("%s: %d pods of entry %d are placed, want %d", name, got, i, want)
			}
		}
	}
}

// TestLargeAmountsAreScored computes kube-scheduler's scores by its own expressions
// (noderesources/least_allocated.go, balanced_allocation.go, v1.37).
func TestLargeAmountsAreScored(t *testing.T) {
	for _, memory := range []int64{1 << 44, 16 << 50, 82e15, mostScored, mostScored + 1, 1 << 57, 1 << 60, 3 << 61, 1 << 62, math.MaxInt64} {
		for _, used := range []int64{0, 1, memory / 3, memory / 2, memory - 1<<34} {
			const asked, cpu = 64 << 30, 4000
			node := enginetest.MakeNode("n").Allocate("cpu", 8000, "memory", memory, "pods", 10).
				Run(enginetest.MakePod("there").Request("cpu", 1000, "memory", used))
			c := compile(t, node, enginetest.MakeNode("small").Allocate("cpu", 8000, "memory", 1<<40, "pods", 10))
			pod := enginetest.MakePod("p").Request("cpu", cpu, "memory", int64(asked))
			score, err := c.Score(context.Background(), &pod.Pod, engine.ScoreOptions{Profile: api.Kube137()})
			if err != nil {
				t.Fatal(err)
			}
			if asked > memory-used {
				continue
			}
			requested := used + asked
			least := (((8000-1000-cpu)*100)/8000 + ((memory-requested)*100)/memory) / 2
			if least < 0 || least > 100 {
				want := fmt.Sprintf("applying score defaultWeights on Score plugins: plugin \"NodeResourcesFit\" returns an "+
					"invalid score %d, it should in the range of [0, 100] after normalizing", least)
				if score.Message != want || score.Totals != nil || score.Best != nil || score.Plugins != nil {
					t.Errorf("%d of %d used: %+v, want %s", used, memory, score, want)
				}
				continue
			}
			if score.Message != "" || len(score.Totals) != 2 {
				t.Errorf("%d of %d used: %+v", used, memory, score)
				continue
			}
			for _, p := range score.Plugins {
				if p.Plugin == verdict.NodeResourcesFit && p.Scores[0] != least {
					t.Errorf("%d of %d used: least allocated %d, want %d", used, memory, p.Scores[0], least)
				}
				if p.Plugin == verdict.BalancedAllocation {
					even := func(cpu, memory float64) int64 { return int64((1 - math.Abs((cpu-memory)/2)) * 100) }
					with := even(float64(1000+cpu)/8000, float64(requested)/float64(memory))
					without := even(1000./8000, float64(used)/float64(memory))
					if want := 50 + (50+with-without)/2; p.Scores[0] != want {
						t.Errorf("%d of %d used: balanced %d, want %d", used, memory, p.Scores[0], want)
					}
				}
			}
		}
	}
}

// TestPlaceWhereScoresOverflow places pods that kube-scheduler fails to score.
func TestPlaceWhereScoresOverflow(t *testing.T) {
	huge := enginetest.MakeNode("huge").Allocate("cpu", 8000, "memory", int64(93e15), "pods", 10)
	place := func(c *engine.Cluster, o engine.PlaceOptions) *verdict.Place {
		o.Profile = api.Kube137()
		pod := enginetest.MakePod("p").Request("cpu", 2000, "memory", 1<<30)
		p, err := c.Place(context.Background(), []engine.Pending{{Pod: pod.Pod, Count: 3}, {Pod: pod.Pod, Count: 1}}, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, o := range map[string]engine.PlaceOptions{"scanning": {Scan: true}, "board": engine.PlaceOptions{}.WithBoard(), "as it pays": {}} {
		alone := place(compile(t, huge), o)
		if got := alone.Placements[0].Nodes; !slices.Equal(got, []uint32{0, 0, 0}) {
			t.Errorf("%s: the only node, which is not scored, takes %v", name, got)
		}
		beside := place(compile(t, huge, enginetest.MakeNode("usual")), o)
		for _, p := range beside.Placements {
			if len(p.Nodes) > 0 || p.Unplaced == 0 || !strings.Contains(p.Message, `plugin "NodeResourcesFit" returns an invalid score -`) {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

// TestMillionLargePods places 1,000,000 pods of 64Gi and 20Gi each. Their amounts add up to more than 2^56.
func TestMillionLargePods(t *testing.T) {
	if raced.Detector && testing.Short() {
		t.Skip("a million pods")
	}
	const pods, fit = 1_000_000, 900_000
	var nodes []*enginetest.Node
	for i := range 10 {
		nodes = append(nodes, enginetest.MakeNode(fmt.Sprint("n", i)).Allocate(
			"cpu", 1_000_000, "memory", int64(fit/10*64<<30), "ephemeral-storage", int64(1<<60), "pods", pods))
	}
	pod := enginetest.MakePod("p").Request("memory", 64<<30, "ephemeral-storage", 20<<30)
	p, err := compile(t, nodes...).Place(context.Background(), []engine.Pending{{Pod: pod.Pod, Count: pods}}, engine.PlaceOptions{Profile: api.Kube137()})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Placements[0]
	if len(got.Nodes) != fit || got.Unplaced != pods-fit || got.Message != "0/10 nodes are available: 10 Insufficient memory." {
		t.Errorf("%d placed, %d not: %s", len(got.Nodes), got.Unplaced, got.Message)
	}
}

// TestManyResources places pods that ask for thousands of different resources.
func TestManyResources(t *testing.T) {
	const resources, nodes = 3_000, 100
	name := func(i int) string { return fmt.Sprintf("example.com/device-%d", i) }
	var stated []*enginetest.Node
	for n := range nodes {
		pairs := []any{"cpu", 8000, "memory", 32 << 30, "pods", 1000}
		for i := n; i < resources; i += 10 {
			pairs = append(pairs, name(i), 1)
		}
		stated = append(stated, enginetest.MakeNode(fmt.Sprint("n", n)).Allocate(pairs...))
	}
	c := compile(t, stated...)
	var queue []engine.Pending
	for i := range resources {
		queue = append(queue, engine.Pending{Pod: enginetest.MakePod("p").Request(name(i), 1).Pod, Count: 2})
	}
	queue = append(queue, engine.Pending{Pod: enginetest.MakePod("p").Request(name(resources), 1).Pod, Count: 1})
	p, err := c.Place(context.Background(), queue, engine.PlaceOptions{Profile: api.Kube137()})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range p.Placements {
		has := func(n uint32) bool { return i >= int(n) && (i-int(n))%10 == 0 }
		want := 0
		for n := range uint32(nodes) {
			if i < resources && has(n) {
				want++
			}
		}
		if len(got.Nodes) != min(want, queue[i].Count) || slices.ContainsFunc(got.Nodes, func(n uint32) bool { return !has(n) }) {
			t.Fatalf("pods that ask for %s are on %v", name(i), got.Nodes)
		}
	}
}
