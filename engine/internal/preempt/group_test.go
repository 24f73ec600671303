package preempt

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// TestTrackedTakesWhatItSays: what is kept of an assigned pod does not grow with the pods of the cluster that its rules count,
// and maxTracked bounds all of it.
func TestTrackedTakesWhatItSays(t *testing.T) {
	const nodes, each, passes, zone, hostname = 60, 10, 32, "topology.kubernetes.io/zone", "kubernetes.io/hostname"
	app := enginetest.Selects("app", "gang")
	for name, rules := range map[string]func(*enginetest.Pod){
		"no rule":       func(*enginetest.Pod) {},
		"spread":        func(p *enginetest.Pod) { p.Spread(zone, 1000, app) },
		"spread twice":  func(p *enginetest.Pod) { p.Spread(zone, 1000, app).Spread(hostname, 1000, app) },
		"affinity":      func(p *enginetest.Pod) { p.Affinity(zone, app) },
		"anti-affinity": func(p *enginetest.Pod) { p.AntiAffinity(hostname, app).AntiAffinity(zone, app) },
		"host port":     func(p *enginetest.Pod) { p.HostPort(80) },
		"selector":      func(p *enginetest.Pod) { p.Template.Spec.NodeSelector = api.Labels{{Key: hostname, Value: "n1"}} },
	} {
		stated := enginetest.Cluster()
		for i := range nodes {
			n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 100*each, "pods", 110).Zone(fmt.Sprint("z", i%3))
			for j := range each { // of a group each
				unique := fmt.Sprint("pod-", i, "-", j)
				n.Run(enginetest.MakePod(unique).Label("app", "gang").Label("name", unique).Request("cpu", 100).HostPort(80).
					AntiAffinity(hostname, app))
			}
			stated.Nodes = append(stated.Nodes, n.Node)
		}
		c, err := cluster.Compile(t.Context(), stated)
		if err != nil {
			t.Fatal(err)
		}
		state := cluster.NewState(t.Context(), c)
		pod := enginetest.MakePod("gang").Label("app", "gang").Request("cpu", 500).Request("memory", 1).Priority(10)
		rules(pod)
		d := decide.New(decide.NewFramework(api.Kube137(), registry.Plugins), state, state.Compile(&pod.Pod))
		d.Rules().Track(0, nil, rule.Tracking{}) // the state keeps some columns
		tracked, said := make([]*rule.Tracked, passes), 0
		before := live()
		for i := range tracked {
			tracked[i] = d.Rules().Track(uint32(i), nil, rule.Tracking{})
			said += 8 * tracked[i].Numbers()
		}
		if took := live() - before; took > said || said > 16<<10*passes {
			t.Errorf("%s: %d passes take %d bytes, and say %d", name, passes, took, said)
		} else {
			t.Logf("%s: %d of %d bytes each", name, took/passes, said/passes)
		}
		runtime.KeepAlive(tracked)
	}
}

// live returns the bytes of all objects that are in use.
func live() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestRosterEqualsSortingAll: the units of a state after any assumptions and evictions equal sorting all its pods.
func TestRosterEqualsSortingAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	differed := 0
	for range 300 {
		groups := []string{"", "absent", "single", "all", "ranked"}
		stated := enginetest.Cluster()
		stated.PodGroups = []api.PodGroup{
			{Name: "default/single", Priority: new(random.Int32N(4))}, {Name: "default/all", DisruptAll: true},
			{Name: "default/ranked", DisruptAll: true, Priority: new(random.Int32N(4))},
		}
		whole := cluster.MembershipOf(&stated.PodGroups[2])
		for i := range 1 + random.IntN(5) {
			n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 1000, "pods", 110)
			for j := range random.IntN(6) {
				p := enginetest.MakePod(fmt.Sprint("p-", i, "-", j)).Label("app", fmt.Sprint(random.IntN(2))).Priority(random.Int32N(4))
				p.StartTime = random.Int64N(3)
				p.Template.Spec.SchedulingGroup = groups[random.IntN(len(groups))]
				n.Run(p)
			}
			stated.Nodes = append(stated.Nodes, n.Node)
		}
		c, err := cluster.Compile(t.Context(), stated)
		if err != nil {
			t.Fatal(err)
		}
		s := cluster.NewState(t.Context(), c)
		s.JoinEntries(func(int) (*cluster.Membership, bool) { return whole, true })
		var pending []*cluster.Pending
		for range 3 {
			p := enginetest.MakePod("new").Label("app", fmt.Sprint(random.IntN(3))).Priority(random.Int32N(4))
			pending = append(pending, s.Compile(&p.Pod))
		}
		var shared Roster
		for range 5 {
			for range random.IntN(4) {
				node := random.Uint32N(uint32(s.Len()))
				if victims := s.AllVictims(nil, node); random.IntN(2) == 0 && len(victims) > 0 {
					s.EvictVictim(node, &victims[random.IntN(len(victims))])
				} else {
					s.Assume(pending[random.IntN(len(pending))], "new", node, 0)
				}
			}
			below := random.Int32N(6)
			got, err := shared.Units(t.Context(), s, below)
			if err != nil {
				t.Fatal(err)
			}
			var anew Roster
			if err := anew.fill(t.Context(), s, nodeset.Full(s.Len()).All()); err != nil {
				t.Fatal(err)
			}
			all := slices.Concat(anew.single, wholeUnits(anew.whole, nil, nodeset.New(s.Len())))
			slices.SortFunc(all, func(a, b unit) int { return compareUnits(&a, &b) })
			all = slices.DeleteFunc(all, func(u unit) bool { return u.priority >= below })
			if len(all) != len(got.list) {
				t.Fatalf("%d units, want %d", len(got.list), len(all))
			}
			for i := range all {
				u, want := got.list[i].unit, &all[i]
				same := func(a, b VictimOn) bool { return a.Node == b.Node && a.ID() == b.ID() && a.Count == b.Count }
				if !slices.EqualFunc(u.pods, want.pods, same) || u.copies != want.copies || u.priority != want.priority ||
					u.started != want.started || u.placed != want.placed {
					t.Fatalf("unit %d is %+v, want %+v", i, u, want)
				}
			}
			if touched := s.Touched().Len(); touched > 0 && touched < s.Len() && len(all) > 1 {
				differed++
			}
		}
	}
	if differed < 300 {
		t.Errorf("%d states with nodes of both kinds", differed)
	}
}
