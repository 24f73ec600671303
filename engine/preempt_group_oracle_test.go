package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// groupPreempts is a random full cluster in which no pod is terminating or shares a host port of its node, and a group
// that wants room there. kube-scheduler's counts of its cycle then equal a new count: there are two zones, and a pod of the
// group has terms between pods if any pod has.
func groupPreempts(rng *rand.Rand) (*api.Cluster, []engine.Pending) {
	apps := []string{"web", "db", "gang"}
	stated := enginetest.Cluster()
	starts := rng.Perm(100)
	for i := range 2 + rng.IntN(4) {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Zone(fmt.Sprint("z", i%2))
		n.Allocate("cpu", 1000*(2+rng.IntN(3)), "pods", 3+rng.IntN(8))
		free := true // the host port
		for j := range 2 + rng.IntN(4) {
			p := enginetest.MakePod(fmt.Sprint("p-", i, "-", j)).Label("app", pick(rng, apps...)).Request("cpu", 100*(1+rng.IntN(12)))
			p.Priority(rng.Int32N(12)).StartTime = int64(1+starts[8*i+j]) * 1e9
			if free && rng.IntN(3) == 0 {
				p.HostPort(80)
				free = false
			}
			if rng.IntN(5) == 0 {
				p.AntiAffinity(pick(rng, hostname, zone), enginetest.Selects("app", pick(rng, apps...)))
			}
			n.Run(p)
		}
		stated.Nodes = append(stated.Nodes, n.Node)
	}
	for i := range rng.IntN(3) {
		stated.Budgets = append(stated.Budgets, api.PodDisruptionBudget{
			Namespace: "default", Name: fmt.Sprint("budget-", i), Selector: enginetest.Selects("app", pick(rng, apps...)),
			DisruptionsAllowed: rng.Int32N(3),
		})
	}
	var queue []engine.Pending
	for i := range 1 + rng.IntN(2) {
		p := enginetest.MakePod(fmt.Sprint("gang-", i)).Label("app", "gang").Request("cpu", 300*(1+rng.IntN(6))).Priority(10)
		p.AntiAffinity(hostname, enginetest.Selects("app", "none"))
		if rng.IntN(4) == 0 {
			p.HostPort(80)
		}
		for range rng.IntN(3) {
			switch selects := enginetest.Selects("app", pick(rng, apps...)); rng.IntN(4) {
			case 0:
				p.AntiAffinity(pick(rng, hostname, zone), selects)
			case 1:
				p.Affinity(pick(rng, hostname, zone), selects)
			default:
				p.Spread(zone, 1+rng.Int32N(2), selects)
			}
		}
		queue = append(queue, engine.Pending{Pod: p.Pod, Count: 1 + rng.IntN(3)})
	}
	return stated, queue
}

// groupOracle brings victims back to clusters that are compiled for every decision.
type groupOracle struct {
	t       *testing.T
	cluster *api.Cluster
	queue   []engine.Pending
	placed  []verdict.GroupNomination
}

// fits reports whether each pod of the group passes on its node without some pods, with the group's pods before it.
func (o *groupOracle) fits(gone map[string]bool) bool {
	now := *o.cluster
	now.Nodes = slices.Clone(now.Nodes)
	for i := range now.Nodes {
		now.Nodes[i].Pods = slices.DeleteFunc(slices.Clone(now.Nodes[i].Pods), func(p api.Pod) bool { return gone[p.Name] })
	}
	for _, of := range o.placed {
		for i, node := range of.Nodes {
			pod := o.queue[of.Entry].Pod
			if len(filterOf(o.t, &now, &pod, engine.FilterOptions{Candidates: []uint32{node}}).Feasible) == 0 {
				return false
			}
			pod.Name = fmt.Sprint(pod.Name, "-", i)
			now.Nodes[node].Pods = append(now.Nodes[node].Pods, pod)
		}
	}
	return true
}

// victims is SelectVictimsOnDomain for pods that are in no group.
func (o *groupOracle) victims() (gone map[string]bool, violations int) {
	var units []victimOf
	gone = make(map[string]bool)
	for i := range o.cluster.Nodes {
		for _, v := range podsOf(o.cluster, i) {
			if v.pod.Template.Spec.Priority < 10 {
				units = append(units, v)
				gone[v.pod.Name] = true
			}
		}
	}
	if !o.fits(gone) {
		o.t.Fatal("the group does not fit where it was placed")
	}
	slices.SortStableFunc(units, moreImportant)
	violating, others := (&oracle{t: o.t, cluster: o.cluster}).violating(units)
	for i, v := range slices.Concat(violating, others) {
		delete(gone, v.pod.Name)
		if o.fits(gone) {
			continue
		}
		gone[v.pod.Name] = true
		if i < len(violating) {
			violations++
		}
	}
	return gone, violations
}

// TestPreemptGroupAsIfCompiledAnew compares the victims of groups with the oracle's.
func TestPreemptGroupAsIfCompiledAnew(t *testing.T) {
	t.Parallel()
	tried := cases(1000)
	found, several, violating := 0, 0, 0
	for seed := range uint64(tried) {
		stated, queue := groupPreempts(rand.New(rand.NewPCG(seed, 391)))
		g := engine.PodGroup{Name: "gang", Priority: new(int32(10))}
		for i := range queue {
			g.Entries = append(g.Entries, i)
		}
		p, err := compiled(t, stated).Place(context.Background(), queue, engine.PlaceOptions{
			Profile: api.Kube137(), Preempt: true, Groups: []engine.PodGroup{g}, Seed: seed % 3,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Groups[0].Preemption
		if got == nil || len(got.Nominations) == 0 {
			continue
		}
		o := &groupOracle{t, stated, queue, got.Nominations}
		want, violations := o.victims()
		var names []string
		for _, v := range got.Victims {
			names = append(names, v.Name)
		}
		if !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(want))) || got.Violations != violations {
			t.Fatalf("seed %d: victims %v with %d violations, want %v with %d", seed, names, got.Violations,
				slices.Sorted(maps.Keys(want)), violations)
		}
		found++
		if len(names) > 1 {
			several++
		}
		if violations > 0 {
			violating++
		}
	}
	if found < tried/5 || several < tried/10 || violating < tried/50 {
		t.Errorf("%d groups preempt, %d several pods, %d violate budgets: the cases no longer exercise it", found, several, violating)
	}
	t.Logf("%d groups preempt, %d several pods, %d violate budgets", found, several, violating)
}
