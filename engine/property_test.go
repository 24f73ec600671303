package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestPlaceAsIfCompiled places pods one by one and compares each step with a decision on a cluster compiled with the
// pods placed so far on their nodes.
func TestPlaceAsIfCompiled(t *testing.T) {
	ctx := context.Background()
	profile := api.Kube137()
	placed, unplaced, bindings, devices := 0, 0, 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 0))
		stated, pods := enginetest.Random(rng)
		if seed%2 == 0 {
			enginetest.RandomFields(rng, stated, pods)
			stated.PodGroups = nil // pods are placed one by one
		} else {
			enginetest.RandomStorage(rng, stated, pods)
		}
		if seed%4 == 1 {
			enginetest.RandomDevices(rng, stated, pods)
		}
		c, err := engine.Compile(ctx, stated)
		if err != nil {
			t.Fatal(err)
		}
		var queue []engine.Pending
		for _, p := range pods {
			queue = append(queue, engine.Pending{Pod: p, Count: 2})
		}
		result, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: profile, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		bound, placedHere, allocated := 0, 0, 0
		for i, placement := range result.Placements {
			for step := range queue[i].Count {
				fresh, err := engine.Compile(ctx, stated)
				if err != nil {
					t.Fatal(err)
				}
				score, err := fresh.Score(ctx, &pods[i], engine.ScoreOptions{Profile: profile})
				if err != nil {
					t.Fatal(err)
				}
				if step >= len(placement.Nodes) {
					unplaced++
					if len(score.Nodes) > 0 || score.Message != placement.Message {
						t.Fatalf("seed %d: pod %d left unplaced with %q; compiled anew: %v %q",
							seed, i, placement.Message, score.Nodes, score.Message)
					}
					endNomination(t, stated, profile, &pods[i])
					break
				}
				placed++
				placedHere++
				node := placement.Nodes[step]
				if !slices.Contains(score.Best, node) {
					t.Fatalf("seed %d: pod %d went to node %d; compiled anew, the best are %v", seed, i, node, score.Best)
				}
				stated.Nodes[node].Pods = append(slices.Clone(stated.Nodes[node].Pods), pods[i])
				forgetNominated(stated, &pods[i])
				for ; bound < len(result.Bindings) && result.Bindings[bound].Pod < placedHere; bound++ {
					bindClaim(stated, &pods[i], &result.Bindings[bound])
				}
				for ; allocated < len(result.Devices) && result.Devices[allocated].Pod < placedHere; allocated++ {
					allocateClaim(stated, &result.Devices[allocated], fmt.Sprint("given-", allocated))
				}
				devices += allocated
			}
		}
		bindings += bound
	}
	if devices < 100 {
		t.Errorf("%d claims with devices: the cases no longer exercise them", devices)
	}
	if bindings < 20 {
		t.Errorf("%d bindings: the cases no longer exercise them", bindings)
	}
	if placed < 500 || unplaced < 100 {
		t.Errorf("%d placed, %d unplaced: the cases no longer exercise both", placed, unplaced)
	}
}

// bindClaim changes the storage objects as kube-scheduler does when it reserves the volumes of a pod.
func bindClaim(c *api.Cluster, pod *api.Pod, b *verdict.ClaimBinding) {
	of := &c.Storage
	if b.Volume != "" {
		of.Volumes = slices.Clone(of.Volumes)
		for i := range of.Volumes {
			if v := &of.Volumes[i]; v.Name == b.Volume {
				v.Claim = &api.ClaimReference{Namespace: b.Namespace, Name: b.Name}
			}
		}
		return
	}
	of.Claims = slices.Clone(of.Claims)
	at := slices.IndexFunc(of.Claims, func(claim api.PersistentVolumeClaim) bool {
		return claim.Namespace == b.Namespace && claim.Name == b.Name
	})
	if at < 0 {
		for _, v := range pod.Template.Spec.Volumes {
			if v.Claim != nil && v.Claim.Of(pod.Name) == b.Name {
				at = len(of.Claims)
				of.Claims = append(of.Claims, api.PersistentVolumeClaim{
					Namespace: b.Namespace, Name: b.Name, Spec: *v.Claim.Template, ControllerPod: pod.Name,
				})
			}
		}
	}
	of.Claims[at].SelectedNode = c.Nodes[b.Node].Name
}

// allocateClaim gives a claim devices as kube-scheduler does when it reserves them for a pod. A claim that is created is one of no pod.
func allocateClaim(c *api.Cluster, d *verdict.PodDevices, created string) {
	allocation := &api.ClaimAllocation{Devices: d.Devices, NodeSelector: availability(c, d)}
	c.Devices.Claims = slices.Clone(c.Devices.Claims)
	for i := range c.Devices.Claims {
		if claim := &c.Devices.Claims[i]; d.Claim != "" && claim.Namespace == d.Namespace && claim.Name == d.Claim {
			claim.Allocation = allocation
			return
		}
	}
	c.Devices.Claims = append(c.Devices.Claims, api.ResourceClaim{Namespace: d.Namespace, Name: created, Allocation: allocation})
}

// availability returns the nodes where an allocation can be used: the pod's, or the nodes of all slices.
func availability(c *api.Cluster, d *verdict.PodDevices) *api.NodeSelector {
	term := api.NodeSelectorTerm{}
	only := &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchFields: []api.Requirement{
		{Key: "metadata.name", Operator: api.In, Values: []string{c.Nodes[d.Node].Name}},
	}}}}
	for _, a := range d.Devices {
		for i := range c.Devices.Slices {
			s := &c.Devices.Slices[i]
			if s.Driver != a.Driver || s.Pool != a.Pool {
				continue
			}
			for j := range s.Devices {
				of := &s.Devices[j]
				if of.Name != a.Device {
					continue
				}
				name, by := s.NodeName, s.NodeSelector
				if s.PerDeviceNodeSelection {
					name, by = of.NodeName, of.NodeSelector
				}
				if name != "" || of.BindsToNode {
					return only
				}
				if by != nil {
					term.MatchExpressions = append(term.MatchExpressions, by.Terms[0].MatchExpressions...)
				}
			}
		}
	}
	if len(term.MatchExpressions) == 0 {
		return nil
	}
	return &api.NodeSelector{Terms: []api.NodeSelectorTerm{term}}
}

// forgetNominated makes a pod that was placed no longer nominated.
func forgetNominated(c *api.Cluster, placed *api.Pod) {
	for i := range c.Nodes {
		on := &c.Nodes[i].Nominated
		*on = slices.DeleteFunc(slices.Clone(*on), func(p api.Pod) bool {
			return p.Name == placed.Name && p.Template.Namespace == placed.Template.Namespace
		})
	}
}

// TestSharedCluster decides from many goroutines on one cluster, with any parallelism, and expects equal results.
func TestSharedCluster(t *testing.T) {
	ctx := context.Background()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range uint64(20) {
		stated, pods := enginetest.Random(rand.New(rand.NewPCG(seed, 1)))
		type answers struct {
			Filter []*verdict.Filter
			Score  []*verdict.Score
			Place  []verdict.Placement
		}
		ask := func(c *engine.Cluster) answers {
			var a answers
			var queue []engine.Pending
			for i := range pods {
				f, err := c.Filter(ctx, &pods[i], engine.FilterOptions{Profile: api.Kube137(), Explain: true})
				if err != nil {
					t.Error(err)
				}
				s, err := c.Score(ctx, &pods[i], engine.ScoreOptions{Profile: api.Kube137()})
				if err != nil {
					t.Error(err)
				}
				a.Filter, a.Score = append(a.Filter, f), append(a.Score, s)
				queue = append(queue, engine.Pending{Pod: pods[i], Count: 3})
			}
			p, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: api.Kube137(), Explain: true})
			if err != nil {
				t.Error(err)
			}
			a.Place = p.Placements
			return a
		}
		compiled := func() *engine.Cluster {
			c, err := engine.Compile(ctx, stated)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		want := ask(compiled())
		for _, procs := range []int{1, 2, 8} {
			runtime.GOMAXPROCS(procs)
			shared := compiled()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if diff := cmp.Diff(want, ask(shared)); diff != "" {
						t.Errorf("seed %d, %d processors (-first +now):\n%s", seed, procs, diff)
					}
				})
			}
			wg.Wait()
		}
	}
}

// TestFilterCoversCandidates checks that every candidate is either feasible or in one rejection, unless the pod goes to the
// node that it is nominated to, that explanations repeat each rejection, and that no other node is listed.
func TestFilterCoversCandidates(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		stated, pods := enginetest.Random(rng)
		c, err := engine.Compile(ctx, stated)
		if err != nil {
			t.Fatal(err)
		}
		candidates := []uint32{}
		for i := range stated.Nodes {
			if rng.IntN(4) > 0 {
				candidates = append(candidates, uint32(i))
			}
		}
		for i := range pods {
			f, err := c.Filter(ctx, &pods[i], engine.FilterOptions{Profile: api.Kube137(), Candidates: candidates, Explain: true})
			if err != nil {
				t.Fatal(err)
			}
			seen := slices.Clone(f.Feasible)
			failing := make(map[uint32][]verdict.Plugin)
			for _, r := range f.Explanation.Failing {
				for _, n := range r.Nodes {
					failing[n] = append(failing[n], r.Plugin)
				}
			}
			for _, r := range f.Rejections {
				seen = append(seen, r.Nodes...)
				for _, n := range r.Nodes {
					if len(failing[n]) == 0 || failing[n][0] != r.Plugin {
						t.Errorf("seed %d: node %d rejected by %v, explained by %v", seed, n, r.Plugin, failing[n])
					}
				}
			}
			for _, n := range f.Feasible {
				if len(failing[n]) > 0 {
					t.Errorf("seed %d: node %d is feasible, yet explained by %v", seed, n, failing[n])
				}
			}
			slices.Sort(seen)
			only := len(seen) == 1 && len(f.Feasible) == 1 && stated.Nodes[seen[0]].Name == pods[i].NominatedNode
			if diff := cmp.Diff(candidates, seen); len(candidates) > 0 && diff != "" && !only {
				t.Errorf("seed %d: nodes answered for (-candidates +answered):\n%s", seed, diff)
			}
			if (f.Message == "") != (len(f.Feasible) > 0) {
				t.Errorf("seed %d: %d feasible, message %q", seed, len(f.Feasible), f.Message)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stated, pods := enginetest.Random(rand.New(rand.NewPCG(1, 3)))
	c, err := engine.Compile(ctx, stated)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := engine.Compile(ctx, stated); !errors.Is(err, context.Canceled) {
		t.Errorf("Compile: %v", err)
	}
	if _, err := c.Filter(ctx, &pods[0], engine.FilterOptions{Profile: api.Kube137()}); !errors.Is(err, context.Canceled) {
		t.Errorf("Filter: %v", err)
	}
	if _, err := c.Score(ctx, &pods[0], engine.ScoreOptions{Profile: api.Kube137()}); !errors.Is(err, context.Canceled) {
		t.Errorf("Score: %v", err)
	}
	queue := []engine.Pending{{Pod: pods[0], Count: 1}}
	if _, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: api.Kube137()}); !errors.Is(err, context.Canceled) {
		t.Errorf("Place: %v", err)
	}
}

func TestTieBreakSeed(t *testing.T) {
	c := compile(t, threeZones()...)
	chosen := make(map[uint32]bool)
	for seed := range uint64(20) {
		queue := []engine.Pending{{Pod: enginetest.MakePod("p").Pod, Count: 1}}
		p, err := c.Place(context.Background(), queue, engine.PlaceOptions{Profile: api.Kube137(), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if seed == 0 && p.Placements[0].Nodes[0] != 0 {
			t.Errorf("seed 0 chose node %d", p.Placements[0].Nodes[0])
		}
		chosen[p.Placements[0].Nodes[0]] = true
	}
	if len(chosen) != 3 {
		t.Errorf("20 seeds chose only %v of three equal nodes", chosen)
	}
}

// TestFilterOfFewNodes filters one node at a time, and compares with filtering all.
func TestFilterOfFewNodes(t *testing.T) {
	ctx := context.Background()
	checked := 0
	for seed := uint64(0); checked < 20_000; seed++ {
		stated, profile, pods := randomQueue(rand.New(rand.NewPCG(seed, 8)))
		c, err := engine.Compile(ctx, stated)
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods[:10] {
			pods[i].NominatedNode = "" // no other node would be answered for
			whole, err := c.Filter(ctx, &pods[i], engine.FilterOptions{Profile: profile})
			if err != nil {
				t.Fatal(err)
			}
			for node := range uint32(len(stated.Nodes)) {
				one, err := c.Filter(ctx, &pods[i], engine.FilterOptions{Profile: profile, Candidates: []uint32{node}})
				if err != nil {
					t.Fatal(err)
				}
				why := func(rejections []verdict.Rejection) []verdict.Rejection {
					for _, r := range rejections {
						if slices.Contains(r.Nodes, node) {
							r.Nodes = nil
							return []verdict.Rejection{r}
						}
					}
					return nil
				}
				if diff := cmp.Diff(why(whole.Rejections), why(one.Rejections)); diff != "" || slices.Contains(whole.Feasible, node) != (len(one.Feasible) == 1) {
					t.Fatalf("seed %d, pod %d, node %d: -with others +alone:\n%s", seed, i, node, diff)
				}
				checked++
			}
		}
	}
}
