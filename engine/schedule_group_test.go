package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// scheduledGroups is scheduled for a queue with groups: some of its pods are in one.
func scheduledGroups(t *testing.T, c *engine.Cluster, groups []engine.PodGroup, pods ...*enginetest.Pod) *verdict.Place {
	t.Helper()
	var queue []engine.Pending
	for _, p := range pods {
		queue = append(queue, engine.Pending{Pod: p.Pod, Count: 1})
	}
	o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true, Groups: groups}
	result, err := c.Place(t.Context(), queue, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestScheduleGroupPreempts: the victims leave on both nodes, and their room is kept for the group until it is attempted again, which
// is once nothing else is left.
func TestScheduleGroupPreempts(t *testing.T) {
	c := compile(t, node4("a").Run(cpu("x", 4, 0)), node4("b").Run(cpu("y", 4, 0)))
	g := engine.PodGroup{Name: "gang", Entries: []int{1, 2}, Priority: new(int32(5))}
	p := scheduledGroups(t, c, []engine.PodGroup{g}, cpu("late", 4, 5), cpu("g-0", 3, 5), cpu("g-1", 3, 5), cpu("next", 3, 0))
	// late, which comes first, preempts on a. The group finds room on b alone, also without y.
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 2}, {Attempts: 2}, {Attempts: 2}, {Attempts: 2}}, []evicted{{0, 0, []string{"x"}}})
	if got := p.Groups[0]; got.Status != verdict.GroupInfeasible || got.Unplaced != 2 || got.First != 1 {
		t.Errorf("%+v", got)
	}

	p = scheduledGroups(t, c, []engine.PodGroup{{Name: "gang", Entries: []int{1, 2}, Priority: new(int32(5))}},
		cpu("late", 1, 1), cpu("g-0", 3, 5), cpu("g-1", 3, 5), cpu("next", 3, 0))
	// late fits beside the group. next does not: twice it is attempted after the group, and once more as the group was placed.
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 1}, {Nodes: []uint32{0}, Attempts: 2}, {Nodes: []uint32{1}, Attempts: 2},
		{Attempts: 3}}, []evicted{{1, 0, []string{"x", "y"}}})
	e := p.Evictions[0]
	if e.Group != "gang" || e.Victims[0].Node != 0 || e.Victims[1].Node != 1 || len(e.Nominations) != 2 || e.Nominations[1].Nodes[0] != 1 {
		t.Errorf("eviction %+v", e)
	}
	if got := p.Groups[0]; got.Status != verdict.GroupComplete || got.Placed != 2 || got.First != -1 || got.Message != "" {
		t.Errorf("%+v", got)
	}
}

// TestScheduleGroupIsAttemptedAgainAtOnce: for the pod that is left, before pods behind it, and it preempts then.
func TestScheduleGroupIsAttemptedAgainAtOnce(t *testing.T) {
	c := compile(t, node4("a"), node4("b").Run(cpu("x", 4, 0)))
	g := engine.PodGroup{Name: "some", Entries: []int{0, 1}, Minimum: 1, Priority: new(int32(5))}
	p := scheduledGroups(t, c, []engine.PodGroup{g}, cpu("g-0", 4, 5), cpu("g-1", 4, 5), cpu("next", 4, 4))
	expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 1}, {Nodes: []uint32{1}, Attempts: 3}, {Attempts: 3}},
		[]evicted{{1, 0, []string{"x"}}})
	if got := p.Groups[0]; got.Status != verdict.GroupComplete {
		t.Errorf("%+v", got)
	}
}

// TestScheduleGroupOfAHigherPriority goes before pods that come before it, and is evicted pod by pod by those above it.
func TestScheduleGroupOfAHigherPriority(t *testing.T) {
	c := compile(t, node4("a"), node4("b"))
	g := engine.PodGroup{Name: "gang", Entries: []int{1, 2}, Priority: new(int32(5))}
	waits := cpu("waits", 4, 100).Affinity(hostname, enginetest.Selects("app", "x"))
	x := enginetest.MakePod("x").Label("app", "x").Priority(100)
	p := scheduledGroups(t, c, []engine.PodGroup{g}, cpu("low", 4, 1), cpu("g-0", 4, 5), cpu("g-1", 4, 5), waits, x)
	if got := p.Groups[0]; got.Status != verdict.GroupEvicted || got.Placed != 1 || got.Unplaced != 0 || p.Placements[1].Evicted+
		p.Placements[2].Evicted != 1 || got.Message != "pods with a node: 1 of the 2 required; evicted: 1" {
		t.Errorf("%+v, %+v", got, p.Placements)
	}
	if len(p.Placements[0].Nodes) != 0 || p.Placements[0].Unplaced != 1 {
		t.Errorf("low: %+v", p.Placements[0])
	}
}

// TestScheduleGroupLosesPods: a group whose pods are evicted is not complete, whether they were on nodes before or were placed.
func TestScheduleGroupLosesPods(t *testing.T) {
	for _, test := range []struct {
		minimum int
		want    verdict.GroupStatus
	}{{1, verdict.GroupBestEffort}, {2, verdict.GroupBestEffort}, {3, verdict.GroupEvicted}, {0, verdict.GroupEvicted}} {
		c := compile(t, node4("a").Zone("z").Run(cpu("r-0", 4, 1).Group("gang")), node4("b").Run(cpu("r-1", 4, 1).Group("gang")), node4("c").Zone("z"))
		g := engine.PodGroup{Name: "default/gang", Minimum: test.minimum, Priority: new(int32(1))}
		whole := g
		whole.Entries = []int{0}
		waits := cpu("waits", 4, 5).Affinity("topology.kubernetes.io/zone", enginetest.Selects("app", "x"))
		waits.Template.Spec.NodeName = "a"
		placed := cpu("g-0", 4, 1)
		placed.Label("app", "x")
		p := scheduledGroups(t, c, []engine.PodGroup{whole}, placed, waits)
		if got := p.Groups[0]; len(p.Evictions) != 1 || got.Status != test.want || got.Placed != 1 || got.First != -1 {
			t.Errorf("minimum %d: %+v, %+v", test.minimum, got, p.Evictions)
		}
		if g.Minimum--; test.minimum == 0 {
			g.Minimum = 0
		} else if test.minimum == 1 {
			continue
		}
		high := cpu("high", 4, 5)
		high.Template.Spec.NodeName = "a"
		p = scheduledGroups(t, c, []engine.PodGroup{g}, high)
		if got := p.Groups[0]; len(p.Evictions) != 1 || got.Status != test.want || got.Placed != 0 || got.First != -1 {
			t.Errorf("minimum %d, without pods in the queue: %+v, %+v", test.minimum, got, p.Evictions)
		}
	}
	c := compile(t, node4("a").Run(cpu("r-0", 4, 1).Group("gang")))
	g := engine.PodGroup{Name: "default/gang"}
	if got := scheduledGroups(t, c, []engine.PodGroup{g}, cpu("low", 4, 0)).Groups[0]; got.Status != verdict.GroupComplete {
		t.Errorf("a group that keeps its pods: %+v", got)
	}
}

// TestScheduleVictimsInGroups: which pods may be evicted, and in which order, depends on the priorities of their groups; which node is
// the best one on the pods' nodes.
func TestScheduleVictimsInGroups(t *testing.T) {
	in := func(name string, priority int32) engine.PodGroup {
		return engine.PodGroup{Name: "default/" + name, Priority: &priority}
	}
	high := cpu("high", 4, 10)
	t.Run("highest", func(t *testing.T) {
		c := compile(t, node4("a").Run(cpu("m", 4, 1).Group("m")), node4("b").Run(cpu("x", 4, 3)))
		p := scheduledGroups(t, c, []engine.PodGroup{in("m", 5)}, high)
		expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 2}}, []evicted{{0, 0, []string{"m"}}})
	})
	t.Run("of the first victim", func(t *testing.T) { // m-0 is the more important one of a, though x-0 has a higher priority
		c := compile(t, node4("a").Run(cpu("x-0", 2, 4)).Run(cpu("m-0", 2, 1).Group("m-0")), node4("b").Run(cpu("x-1", 2, 2)).Run(cpu("x-2", 2, 1)))
		p := scheduledGroups(t, c, []engine.PodGroup{in("m-0", 5)}, high)
		expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 2}}, []evicted{{0, 0, []string{"m-0", "x-0"}}})
	})
	t.Run("sum", func(t *testing.T) {
		c := compile(t, node4("a").Run(cpu("x-0", 2, 5)).Run(cpu("m-0", 2, 1).Group("m-0")), node4("b").Run(cpu("x-1", 2, 5)).Run(cpu("x-2", 2, 3)))
		p := scheduledGroups(t, c, []engine.PodGroup{in("m-0", 4)}, high)
		expect(t, p, []came{{Nodes: []uint32{0}, Attempts: 2}}, []evicted{{0, 0, []string{"x-0", "m-0"}}})
	})
	t.Run("start", func(t *testing.T) { // of all pods with the highest priority, m-0 included
		x0, m0, x1, x2 := cpu("x-0", 2, 3), cpu("m-0", 2, 3).Group("m-0"), cpu("x-1", 2, 3), cpu("x-2", 2, 3)
		x0.StartTime, m0.StartTime, x1.StartTime, x2.StartTime = 200, 50, 100, 300
		c := compile(t, node4("a").Run(x0).Run(m0), node4("b").Run(x1).Run(x2))
		p := scheduledGroups(t, c, []engine.PodGroup{in("m-0", 2)}, high)
		expect(t, p, []came{{Nodes: []uint32{1}, Attempts: 2}}, []evicted{{0, 1, []string{"x-1", "x-2"}}})
	})
	t.Run("ongoing", func(t *testing.T) {
		leaving := cpu("m", 2, 20).Group("m")
		leaving.Terminating, leaving.Preempted = true, true
		c := compile(t, node4("a").Run(leaving).Run(cpu("x", 2, 0)))
		nominated := cpu("high", 4, 10)
		nominated.NominatedNode = "a"
		p := scheduledGroups(t, c, []engine.PodGroup{in("m", 1)}, nominated)
		const want = "preemption: not eligible due to a terminating pod on the nominated node."
		if got := p.Placements[0].Message; len(p.Evictions) > 0 || !strings.HasSuffix(got, want) {
			t.Errorf("%+v, %s", p.Evictions, got)
		}
		if p = scheduledGroups(t, c, []engine.PodGroup{in("m", 20)}, nominated); strings.HasSuffix(p.Placements[0].Message, want) {
			t.Errorf("%+v", p.Placements[0])
		}
	})
}

// TestScheduleGatedGroup: one pod with gates holds back all pods of its group.
func TestScheduleGatedGroup(t *testing.T) {
	c := compile(t, node4("a"))
	gated := cpu("gated", 1, 0)
	gated.Template.Spec.SchedulingGates = []string{"example.com/quota"}
	groups := []engine.PodGroup{{Name: "gang", Entries: []int{0, 1}, Minimum: 1}}
	p := scheduledGroups(t, c, groups, cpu("free", 1, 0), gated, cpu("alone", 1, 0))
	expect(t, p, []came{{}, {}, {Nodes: []uint32{0}, Attempts: 1}}, nil)
	const gates = "waiting for scheduling gates: [example.com/quota]"
	if g := p.Groups[0]; g.Status != verdict.GroupInfeasible || g.First != 1 || g.Unplaced != 2 || !strings.HasSuffix(g.Message, gates) {
		t.Errorf("%+v", g)
	}
	for i, want := range []string{"the pod group is not attempted: " + gates, gates} {
		if got := p.Placements[i]; got.Message != want || got.Unattempted != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// randomGroupSchedule is randomSchedule with groups.
func randomGroupSchedule(rng *rand.Rand) (*api.Cluster, []engine.Pending, []engine.PodGroup) {
	stated, queue := randomSchedule(rng)
	groups := make([]engine.PodGroup, 1+rng.IntN(3))
	for i := range groups {
		g := &groups[i]
		g.Name, g.Priority = string(rune('a'+i)), new(int32(rng.IntN(8)-2))
		if rng.IntN(3) == 0 {
			g.Keys = []string{[]string{hostname, "zone"}[rng.IntN(2)]}
		}
	}
	for i := range queue {
		if rng.IntN(3) == 0 {
			continue
		}
		g := &groups[rng.IntN(len(groups))]
		g.Entries = append(g.Entries, i)
		template := *queue[i].Pod.Template
		template.Spec.Priority, template.Spec.NeverPreempts = *g.Priority, false
		queue[i].Pod.Template = &template
	}
	for i := range groups {
		g, pods := &groups[i], 0
		for _, e := range g.Entries {
			pods += queue[e].Count
		}
		if pods > 0 && rng.IntN(3) > 0 {
			g.Minimum = 1 + rng.IntN(pods)
		}
	}
	return stated, queue, groups
}

// withoutDomain leaves out the first of the domains that do not accept a group: which one that is depends on
// how many pods are estimated to fit.
func withoutDomain(p *verdict.Place, groups []engine.PodGroup) {
	for i, g := range groups {
		if len(g.Keys) == 0 {
			continue
		}
		p.Groups[i].Message, p.Groups[i].Preemption, p.Groups[i].First = "", nil, 0
		for _, e := range g.Entries {
			p.Placements[e].Message, p.Placements[e].Rejections = "", nil
		}
	}
}

// TestScheduleGroupsEqualScanning compares with a queue that evaluates every node for every pod. No group has fewer pods than its
// minimum, unless some were evicted, and evictions are of other pods.
func TestScheduleGroupsEqualScanning(t *testing.T) {
	t.Parallel()
	placed, best, unplaced, preempted, gone := 0, 0, 0, 0, 0
	for seed := range uint64(cases(1500)) {
		rng := rand.New(rand.NewPCG(seed, 91))
		stated, queue, groups := randomGroupSchedule(rng)
		c := compiled(t, stated)
		o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true, Seed: seed % 3, Scan: true, Groups: groups}
		want, err := c.Place(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Scan = false
		withoutDomain(want, groups)
		for how, o := range map[string]engine.PlaceOptions{"as it pays": o, "with the board": o.WithBoard()} {
			got, err := c.Place(t.Context(), queue, o)
			if err != nil {
				t.Fatal(err)
			}
			withoutDomain(got, groups)
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(verdict.Placement{}, "Scanned")); diff != "" {
				t.Fatalf("seed %d, %s (-scanning +now):\n%s", seed, how, diff)
			}
		}
		for _, e := range want.Evictions {
			if e.Group != "" {
				preempted++
			}
		}
		for i, g := range want.Groups {
			pods, evicted := 0, 0
			for _, e := range groups[i].Entries {
				p := &want.Placements[e]
				if n := len(p.Nodes) + p.Unplaced + p.Evicted; n != queue[e].Count || p.Unattempted != 0 {
					t.Fatalf("seed %d: entry %d of %d pods: %+v", seed, e, queue[e].Count, p)
				}
				pods, evicted = pods+len(p.Nodes), evicted+p.Evicted
			}
			least := groups[i].Minimum
			if least == 0 {
				least = g.Placed + g.Unplaced + evicted
			}
			if g.Placed != pods || pods > 0 && pods+evicted < least {
				t.Fatalf("seed %d: group %s has %d pods, %d evicted, of %d: %+v", seed, g.Name, pods, evicted, least, g)
			}
			gone += evicted
			switch {
			case g.Status == verdict.GroupInfeasible:
				unplaced++
			case g.Status == verdict.GroupBestEffort:
				best++
			case pods > 0:
				placed++
			}
		}
	}
	t.Logf("%d groups placed, %d in part, %d not; %d preempted; %d of their pods were evicted", placed, best, unplaced, preempted, gone)
	if allCases() && min(placed, best, unplaced, preempted, gone) == 0 {
		t.Error("some outcome never occurs")
	}
}

// TestScheduleGroupsAtTheDeadline: what was decided holds, and the other groups are unattempted.
func TestScheduleGroupsAtTheDeadline(t *testing.T) {
	c := compile(t, node4("a"))
	pods := []engine.Pending{{Pod: cpu("g", 1, 0).Pod, Count: 2}}
	ctx, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Partial: true, Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}}}}
	p, err := c.Place(ctx, pods, o)
	if err != nil || !p.Partial || p.Groups[0].Status != verdict.GroupUnattempted || p.Groups[0].Unplaced != 2 || p.Placements[0].Unattempted != 2 {
		t.Errorf("%+v, error %v", p, err)
	}
	o.Partial = false
	if _, err := c.Place(ctx, pods, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
