package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// tightQueue returns equal nodes and pods of several priorities, highest first, that ask for a share of the nodes' room.
func tightQueue(rng *rand.Rand, nodes, pods int, share float64) (*api.Cluster, []engine.Pending) {
	var queue []engine.Pending
	cpu, mem := 0, 0
	for left := pods; left > 0; {
		count, c, m := min(left, 1+rng.IntN(4)), 100+rng.IntN(901), 100+rng.IntN(901)
		p := enginetest.MakePod(fmt.Sprint("p", left)).Request("cpu", c, "memory", m).Priority(int32(rng.IntN(3)))
		queue = append(queue, engine.Pending{Pod: p.Pod, Count: count})
		cpu, mem, left = cpu+c*count, mem+m*count, left-count
	}
	slices.SortStableFunc(queue, func(a, b engine.Pending) int {
		return int(b.Pod.Template.Spec.Priority - a.Pod.Template.Spec.Priority)
	})
	var all []*enginetest.Node
	for i := range nodes {
		n := enginetest.MakeNode(fmt.Sprint("n", i))
		n.Allocate("cpu", int(float64(cpu)/share)/nodes+1, "memory", int(float64(mem)/share)/nodes+1, "pods", pods)
		all = append(all, n)
	}
	return enginetest.Cluster(all...), queue
}

// byPriority counts placed pods by priority, highest first.
func byPriority(queue []engine.Pending, placements []verdict.Placement) []int {
	counts := make([]int, 3)
	for i := range queue {
		counts[2-queue[i].Pod.Template.Spec.Priority] += len(placements[i].Nodes)
	}
	return counts
}

// TestJointlyInPart places large groups that do not fit as a whole: never fewer pods than in order, and each where Filter has it with
// all others in place.
func TestJointlyInPart(t *testing.T) {
	t.Parallel()
	better, proved, all := 0, 0, 0
	for seed := range uint64(cases(100)) {
		rng := rand.New(rand.NewPCG(seed, 130))
		nodes := 2 + rng.IntN(7)
		stated, queue := tightQueue(rng, nodes, nodes*(3+rng.IntN(5)), 0.9+0.05*float64(rng.IntN(4)))
		g := engine.PodGroup{Name: "g", Minimum: 1, Joint: true, Steps: 1 << 19}
		pods := 0
		for i := range queue {
			g.Entries = append(g.Entries, i)
			pods += queue[i].Count
		}
		if pods <= 12 {
			continue
		}
		usual, err := compiled(t, stated).Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		o := engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{g}}
		got, err := compiled(t, stated).Place(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		filled := stated
		for i := range queue {
			for _, n := range got.Placements[i].Nodes {
				filled = on(filled, n, &queue[i].Pod)
			}
		}
		for i := range queue {
			for _, n := range got.Placements[i].Nodes {
				without := *filled
				without.Nodes = slices.Clone(filled.Nodes)
				of := slices.Clone(without.Nodes[n].Pods)
				at := slices.IndexFunc(of, func(p api.Pod) bool { return p.Name == queue[i].Pod.Name })
				without.Nodes[n].Pods = slices.Delete(of, at, at+1)
				f, err := compiled(t, &without).Filter(t.Context(), &queue[i].Pod, engine.FilterOptions{Profile: api.Kube137()})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(f.Feasible, n) {
					t.Fatalf("seed %d: a pod of entry %d is on node %d: %s", seed, i, n, f.Message)
				}
			}
		}
		result := got.Groups[0]
		switch c := slices.Compare(byPriority(queue, got.Placements), byPriority(queue, usual.Placements)); {
		case c < 0:
			t.Errorf("seed %d: %v, in order %v", seed, byPriority(queue, got.Placements), byPriority(queue, usual.Placements))
		case c > 0:
			better++
		}
		if result.Placed+result.Unplaced != pods || result.Unplaced == 0 && !result.Most {
			t.Errorf("seed %d: %+v", seed, result)
		}
		if result.Unplaced == 0 {
			all++
		} else if result.Most {
			proved++
		}
		g.Minimum = pods - result.Unplaced + 1
		if result.Most && result.Unplaced > 1 && len(slices.Compact(byPriorityOf(queue))) == 1 {
			o.Groups = []engine.PodGroup{g}
			more, err := compiled(t, stated).Place(t.Context(), queue, o)
			if err != nil || more.Groups[0].Status != verdict.GroupInfeasible {
				t.Errorf("seed %d: %+v, %v, though no more than %d have room", seed, more.Groups[0], err, result.Placed)
			}
		}
	}
	t.Logf("%d better than in order, %d with all pods, %d proved to be the most of fewer", better, all, proved)
	if allCases() && min(better, all, proved) == 0 {
		t.Error("some outcome never occurs")
	}
}

// TestJointlyInPartInFewSteps ends the search early: there are never fewer pods than in order, and the answer is always the same.
func TestJointlyInPartInFewSteps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4 + cases(56)) {
		stated, queue := tightQueue(rand.New(rand.NewPCG(seed, 132)), 5, 30, 1.05)
		g := engine.PodGroup{Name: "g", Minimum: 1, Joint: true}
		for i := range queue {
			g.Entries = append(g.Entries, i)
			if seed%2 == 0 {
				template := *queue[i].Pod.Template
				template.Spec.Priority = 0
				queue[i].Pod.Template = &template
			}
		}
		c := compiled(t, stated)
		usual, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		want := byPriority(queue, usual.Placements)
		for _, g.Steps = range []int{1, 29, 30, 31, 35, 61, 100, 1000, 5000} {
			ask := func() *verdict.Place {
				got, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{g}})
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			got := ask()
			if diff := cmp.Diff(got, ask()); diff != "" {
				t.Errorf("seed %d, %d steps: another answer\n%s", seed, g.Steps, diff)
			}
			if counts := byPriority(queue, got.Placements); slices.Compare(counts, want) < 0 || g.Steps == 1 && got.Groups[0].Most {
				t.Errorf("seed %d, %d steps: %v, in order %v; most: %t", seed, g.Steps, counts, want, got.Groups[0].Most)
			}
		}
	}
}

// TestJointlyInPartAtAnyLook ends the context at many looks. What is placed in order until then counts, and once all pods were
// attempted in order there are never fewer.
func TestJointlyInPartAtAnyLook(t *testing.T) {
	t.Parallel()
	cut, equal, better := 0, 0, 0
	for seed := range uint64(cases(40)) {
		stated, queue := tightQueue(rand.New(rand.NewPCG(seed, 133)), 6, 14+int(seed%30), 0.9+0.05*float64(seed%4))
		minimum := 1 + int(seed%3)*4
		g := engine.PodGroup{Name: "g", Minimum: minimum, Joint: true, Steps: 1 << 15}
		for i := range queue {
			g.Entries = append(g.Entries, i)
		}
		c := compiled(t, stated)
		usual, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		want := byPriority(queue, usual.Placements)
		o := engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{g}, Partial: true}
		attempted := false
		for looks := 0; looks < 3000; looks += 1 + looks/16 {
			got, err := c.Place(&deadline{t.Context(), looks}, queue, o)
			if err != nil {
				t.Fatal(err)
			}
			result, counts, left := got.Groups[0], byPriority(queue, got.Placements), 0
			for i, p := range got.Placements {
				left += p.Unattempted
				if p.Unattempted > 0 && !slices.Equal(p.Nodes, usual.Placements[i].Nodes[:len(p.Nodes)]) {
					t.Errorf("seed %d, %d looks: entry %d is on %v, in order on %v", seed, looks, i, p.Nodes, usual.Placements[i].Nodes)
				}
			}
			switch {
			case left > 0:
				if cut++; attempted || !got.Partial || result.Placed > 0 && result.Placed < minimum || result.Most {
					t.Errorf("seed %d, %d looks: %+v, partial: %t", seed, looks, result, got.Partial)
				}
				whole := o
				whole.Partial = false
				if _, err := c.Place(&deadline{t.Context(), looks}, queue, whole); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("seed %d, %d looks: %v", seed, looks, err)
				}
				continue
			case slices.Compare(counts, want) < 0:
				t.Errorf("seed %d, %d looks: %v, in order %v", seed, looks, counts, want)
			case slices.Compare(counts, want) > 0:
				better++
			default:
				equal++
			}
			attempted = true
		}
	}
	t.Logf("%d cut off, %d as in order, %d better", cut, equal, better)
	if allCases() && min(cut, equal, better) == 0 {
		t.Error("some outcome never occurs")
	}
}

func byPriorityOf(queue []engine.Pending) (out []int32) {
	for i := range queue {
		out = append(out, queue[i].Pod.Template.Spec.Priority)
	}
	return out
}

// TestJointlyInPartAtADeadline ends a search that would take long, and gets a valid part.
func TestJointlyInPartAtADeadline(t *testing.T) {
	t.Parallel()
	stated, queue := tightQueue(rand.New(rand.NewPCG(1, 131)), 16, 120, 1.05)
	g := engine.PodGroup{Name: "g", Minimum: 1, Joint: true, Steps: 1 << 26}
	for i := range queue {
		g.Entries = append(g.Entries, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	o := engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{g}, Partial: true}
	got, err := compiled(t, stated).Place(ctx, queue, o)
	if err != nil || got.Groups[0].Placed < 100 {
		t.Errorf("%+v, %v", got, err)
	}
}
