package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

const zoneKey, hostKey = "topology.kubernetes.io/zone", "kubernetes.io/hostname"

// scaled is a cluster without the replicas that a ScaleDown deleted.
func scaled(t *testing.T, stated *api.Cluster, down *verdict.ScaleDown) *api.Cluster {
	t.Helper()
	less := *stated
	less.Nodes = slices.Clone(less.Nodes)
	for _, d := range down.Deletions {
		n := &less.Nodes[d.Pod.Node]
		at := slices.IndexFunc(n.Pods, func(p api.Pod) bool { return p.Name == d.Pod.Name })
		if at < 0 || d.Pod.Count != 1 {
			t.Fatalf("%v is not there", d.Pod)
		}
		n.Pods = slices.Delete(slices.Clone(n.Pods), at, at+1)
	}
	return &less
}

// rejectedReplicas returns the number of pods called replica-* that would be rejected where they are.
func rejectedReplicas(t *testing.T, stated *api.Cluster, pod *api.Pod) int {
	t.Helper()
	count := 0
	for i := range stated.Nodes {
		for j, p := range stated.Nodes[i].Pods {
			if !strings.HasPrefix(p.Name, "replica") {
				continue
			}
			without := *stated
			without.Nodes = slices.Clone(stated.Nodes)
			n := &without.Nodes[i]
			n.Pods = slices.Delete(slices.Clone(n.Pods), j, j+1)
			f, err := compiled(t, &without).Filter(context.Background(), pod, engine.FilterOptions{
				Profile: api.Kube137(), Candidates: []uint32{uint32(i)},
			})
			if err != nil {
				t.Fatal(err)
			}
			count += 1 - len(f.Feasible)
		}
	}
	return count
}

// perZone counts replicas by zone, and returns their skew.
func perZone(stated *api.Cluster) (counts map[string]int, apart int) {
	counts = make(map[string]int)
	for _, n := range stated.Nodes {
		zone, _ := n.Labels.Get(zoneKey)
		for _, p := range n.Pods {
			if strings.HasPrefix(p.Name, "replica") {
				counts[zone]++
			}
		}
		counts[zone] += 0
	}
	least, most := 1<<30, 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	return counts, most - least
}

// TestScaleDownEvenly deletes replicas with one rule on zones, and expects the lowest skew.
func TestScaleDownEvenly(t *testing.T) {
	rules := map[string]func(*enginetest.Pod){
		"preferred anti-affinity": func(p *enginetest.Pod) { p.PreferAntiAffinity(100, zoneKey, enginetest.Selects("app", "web")) },
		"hard spread":             func(p *enginetest.Pod) { p.Spread(zoneKey, 1, enginetest.Selects("app", "web")) },
		"soft spread":             func(p *enginetest.Pod) { p.SpreadSoftly(zoneKey, 1, enginetest.Selects("app", "web")) },
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(150) {
				rng := rand.New(rand.NewPCG(seed, 21))
				pod := enginetest.MakePod("next").Label("app", "web").Request("cpu", 100)
				rule(pod)
				var nodes []*enginetest.Node
				zones := 2 + rng.IntN(3)
				replicas := 0
				for i := range zones * (1 + rng.IntN(3)) {
					n := enginetest.MakeNode(fmt.Sprint("n", i)).Zone(fmt.Sprint("z", i%zones))
					for range rng.IntN(5) {
						p := enginetest.MakePod(fmt.Sprint("replica-", replicas))
						p.Template = pod.Template
						n.Run(p)
						replicas++
					}
					if rng.IntN(3) == 0 {
						n.Run(enginetest.MakePod(fmt.Sprint("busy-", i)).Label("app", "other").Request("cpu", 1000*rng.IntN(6)))
					}
					nodes = append(nodes, n)
				}
				stated := enginetest.Cluster(nodes...)
				remain := rng.IntN(replicas + 1)
				down, err := compiled(t, stated).ScaleDown(t.Context(), &pod.Pod, engine.ScaleDownOptions{Profile: api.Kube137(), Replicas: remain})
				if err != nil {
					t.Fatal(err)
				}
				again, _ := compiled(t, stated).ScaleDown(t.Context(), &pod.Pod, engine.ScaleDownOptions{Profile: api.Kube137(), Replicas: remain})
				if !reflect.DeepEqual(down, again) {
					t.Fatalf("seed %d: another answer", seed)
				}
				if down.Replicas != replicas || len(down.Deletions) != replicas-remain {
					t.Fatalf("seed %d: %d of %d deleted, %d are to remain", seed, len(down.Deletions), down.Replicas, remain)
				}
				before, _ := perZone(stated)
				after, apart := perZone(scaled(t, stated, down))
				if best := lowestSkew(before, remain); apart != best {
					t.Errorf("seed %d: %v became %v, which is %d apart, and %d can be", seed, before, after, apart, best)
				}
				for i, d := range down.Deletions {
					if want := int32(i - len(down.Deletions)); d.Cost != want {
						t.Errorf("seed %d: deletion %d costs %d, want %d", seed, i, d.Cost, want)
					}
				}
				for _, d := range down.Spread[0].Domains {
					if d.Before != before[d.Value] || d.After != after[d.Value] {
						t.Errorf("seed %d: told %v, counted %d before and %d after", seed, d, before[d.Value], after[d.Value])
					}
				}
			}
		})
	}
}

// lowestSkew returns the lowest possible skew of the domains for a number of remaining replicas.
func lowestSkew(counts map[string]int, remain int) int {
	best := 1 << 30
	for low := 0; low <= remain; low++ {
		for high := low; high <= low+best && high <= remain; high++ {
			// Every domain has between low and high replicas, or all that it had.
			least, most, floor := 0, 0, 1<<30
			for _, n := range counts {
				least += min(low, n)
				most += min(high, n)
				floor = min(floor, n)
			}
			if least <= remain && remain <= most {
				best = min(best, high-min(low, floor))
			}
		}
	}
	return best
}

// TestScaleDownKeepsRules deletes replicas with random rules from small random clusters. No choice leaves fewer
// remaining replicas that would be rejected where they are.
func TestScaleDownKeepsRules(t *testing.T) {
	asked, broken, worse, more := 0, 0, 0, 0
	for seed := range uint64(cases(1500)) {
		rng := rand.New(rand.NewPCG(seed, 22))
		stated, group, _ := enginetest.RandomGroup(rng)
		pod := &group[0].Pod
		pod.Terminating = false
		own := *pod.Template
		own.Labels = own.Labels.With(api.Labels{{Key: "replica", Value: "yes"}})
		pod.Template, pod.Labels = &own, nil
		replicas := 2 + rng.IntN(5)
		for i := range replicas {
			n := &stated.Nodes[rng.IntN(len(stated.Nodes))]
			p := *pod
			p.Name = fmt.Sprint("replica-", i)
			n.Pods = append(n.Pods, p)
		}
		remain := 1 + rng.IntN(replicas-1)
		down, err := compiled(t, stated).ScaleDown(t.Context(), pod, engine.ScaleDownOptions{
			Profile: api.Kube137(), Replicas: remain, Selector: enginetest.Selects("replica", "yes"),
		})
		if err != nil {
			t.Fatal(err)
		}
		got := rejectedReplicas(t, scaled(t, stated, down), pod)
		best := fewestRejected(t, stated, pod, replicas, remain)
		asked++
		if best > 0 {
			broken++
		}
		if got > best {
			worse++
			more += got - best
		}
		// The result of the first deletion equals Filter's.
		if len(down.Deletions) > 0 {
			checkDeletion(t, seed, stated, pod, &down.Deletions[0])
		}
	}
	t.Logf("%d calls, in %d a rule cannot be satisfied, in %d the choice leaves more replicas rejected than necessary, %d in all", asked, broken, worse, more)
	if broken < asked/30 || worse*30 > asked {
		t.Errorf("of %d, %d leave rules broken that could be kept, %d leave ones that cannot", asked, worse, broken)
	}
}

func checkDeletion(t *testing.T, seed uint64, stated *api.Cluster, pod *api.Pod, d *verdict.ScaledPod) {
	t.Helper()
	one := scaled(t, stated, &verdict.ScaleDown{Deletions: []verdict.ScaledPod{*d}})
	f, err := compiled(t, one).Filter(t.Context(), pod, engine.FilterOptions{
		Profile: api.Kube137(), Candidates: []uint32{d.Pod.Node}, Explain: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var failing, told []verdict.Plugin
	for _, r := range f.Explanation.Failing {
		failing = append(failing, r.Plugin)
	}
	for _, r := range d.Broken {
		told = append(told, r.Plugin)
	}
	if told = slices.Compact(told); !slices.Equal(failing, told) {
		t.Errorf("seed %d: %s breaks rules of %v, Filter says %v", seed, d.Pod.Name, told, failing)
	}
}

// fewestRejected tries all choices of replicas to delete.
func fewestRejected(t *testing.T, stated *api.Cluster, pod *api.Pod, replicas, remain int) int {
	t.Helper()
	at := make(map[string]uint32)
	for i := range stated.Nodes {
		for _, p := range stated.Nodes[i].Pods {
			at[p.Name] = uint32(i)
		}
	}
	best := 1 << 30
	for gone := range 1 << replicas {
		down := &verdict.ScaleDown{}
		for i := range replicas {
			if name := fmt.Sprint("replica-", i); gone>>i&1 == 1 {
				down.Deletions = append(down.Deletions, verdict.ScaledPod{Pod: verdict.PodReference{Name: name, Node: at[name], Count: 1}})
			}
		}
		if len(down.Deletions) == replicas-remain {
			best = min(best, rejectedReplicas(t, scaled(t, stated, down), pod))
		}
	}
	return best
}
