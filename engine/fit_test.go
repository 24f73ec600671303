package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestFit compares the units that fit, in all, by domain and with each change, with a loop of Score and Filter on clusters that
// are compiled again with the pods placed so far.
func TestFit(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	n := cases(2000)
	for seed := range uint64(n) {
		compareFit(t, seed, seen)
		if t.Failed() {
			return
		}
	}
	for _, what := range []string{
		"limited", "bound", "none", "some", "failed", "gated", "alone", "node", "new domain", "pods", "maxSkew", "rule", "request",
		"second entry", "partial unit", "devices", "devices run out", "undecided",
	} {
		if seen[what] == 0 && n >= 500 {
			t.Errorf("no case of %q: the cases no longer exercise it", what)
		}
	}
	t.Log(seen)
}

// FuzzFit is TestFit with new seeds.
func FuzzFit(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { compareFit(t, seed, make(map[string]int)) })
}

// compareFit compares one random case, and counts what it exercises.
func compareFit(t *testing.T, seed uint64, seen map[string]int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 15))
	profile := api.Kube137()
	var stated *api.Cluster
	var pods []api.Pod
	switch seed % 4 {
	case 0:
		stated, pods = enginetest.RandomShared(rng)
	case 1:
		stated, profile, pods = randomQueue(rng)
		stated.Nodes = stated.Nodes[:min(len(stated.Nodes), 12)]
	default:
		stated, pods = enginetest.Random(rng)
	}
	if seed%16 == 1 {
		enlarge(rng, stated, pods)
	}
	if seed%8 == 6 {
		withDevices(rng, stated, pods)
	}
	b := &fitByHand{t: t, profile: profile, seed: seed % 3}
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		b.mix = append(b.mix, engine.Pending{Pod: pods[rng.IntN(len(pods))], Count: 1 + rng.IntN(3)*rng.IntN(2)})
	}
	if seed%50 == 7 {
		template := *b.mix[len(b.mix)-1].Pod.Template
		template.Spec.SchedulingGates = []string{"wait"}
		b.mix[len(b.mix)-1].Pod.Template, b.mix[len(b.mix)-1].Pod.TemplateIndex = &template, -1
	}
	b.units = 20
	if rng.IntN(4) == 0 {
		b.units = 1 + rng.IntN(3)
	}
	if rng.IntN(4) == 0 {
		b.candidates = []uint32{}
		for i := range stated.Nodes {
			if rng.IntN(4) > 0 {
				b.candidates = append(b.candidates, uint32(i))
			}
		}
	}
	o := engine.FitOptions{
		Profile: profile, Candidates: b.candidates, Seed: b.seed, FewestPods: b.seed == 1, Units: b.units, Changes: true,
		TopologyKey: pick(rng, zone, hostname, "disk", ""),
	}
	got, err := compiled(t, stated).Fit(t.Context(), b.mix, o)
	if err != nil {
		t.Fatal(err)
	}
	want, final := b.fit(stated)
	changes, domains, doubts := got.Changes, got.Domains, got.Doubts
	got.Changes, got.Domains, got.Doubts = nil, nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
	}
	if diff := cmp.Diff(b.domains(stated, o.TopologyKey, want), domains); diff != "" {
		t.Fatalf("seed %d, domains of %s (-want +got):\n%s", seed, o.TopologyKey, diff)
	}
	if want.Binding >= 0 {
		b.compareChanges(seed, stated, final, want, changes, seen)
	}
	if b.undecided {
		seen["undecided"]++
	}
	// The counts of changes may be undecided, too.
	if len(doubts) == 0 && b.undecided || len(doubts) > 0 && len(stated.Devices.Expressions) == 0 {
		t.Fatalf("seed %d: searches for devices are undecided: %v, doubts %v", seed, b.undecided, doubts)
	}
	b.classify(want, domains, seen)
}

func (b *fitByHand) classify(want *verdict.Fit, domains []verdict.FitDomain, seen map[string]int) {
	switch {
	case want.Limited:
		seen["limited"]++
	case want.Failed:
		seen["failed"]++
	case len(b.mix[want.Binding].Pod.Template.Spec.SchedulingGates) > 0:
		seen["gated"]++
	default:
		seen["bound"]++
	}
	if b.given > 0 {
		seen["devices"]++
	}
	if want.Binding >= 0 && strings.Contains(want.Message, "cannot allocate all claims") {
		seen["devices run out"]++
	}
	if want.Units == 0 {
		seen["none"]++
	} else {
		seen["some"]++
	}
	if want.Binding > 0 {
		seen["second entry"]++
	}
	if b.partial > 0 {
		seen["partial unit"]++
	}
	for i := range domains {
		if domains[i].Alone > 0 {
			seen["alone"]++
		}
	}
}

// fitByHand counts units by deciding about each pod in a cluster of its own.
type fitByHand struct {
	t          *testing.T
	profile    *api.Profile
	candidates []uint32
	seed       uint64
	mix        []engine.Pending
	units      int
	partial    int // pods of the last incomplete unit
	given      int // claims that got devices
	undecided  bool
}

// on returns a copy of a cluster with one more pod.
func on(c *api.Cluster, node uint32, pod *api.Pod) *api.Cluster {
	more := *c
	more.Nodes = slices.Clone(c.Nodes)
	n := &more.Nodes[node]
	n.Pods = append(slices.Clone(n.Pods), *pod)
	forgetNominated(&more, pod)
	return &more
}

// best returns one of the best nodes.
func (b *fitByHand) best(stated *api.Cluster, best []uint32) uint32 {
	if b.seed == 1 {
		return fewestPods(stated, b.seed, best)
	}
	order := engine.Preference(stated, b.seed)
	return order[slices.IndexFunc(order, func(n uint32) bool { return slices.Contains(best, n) })]
}

// put puts a pod on a node, with the devices that it gets there.
func (b *fitByHand) put(c *engine.Cluster, stated *api.Cluster, node uint32, pod *api.Pod) *api.Cluster {
	stated = on(stated, node, pod)
	if len(stated.Devices.Slices) == 0 {
		return stated
	}
	p, err := c.Place(b.t.Context(), []engine.Pending{{Pod: *pod, Count: 1}}, engine.PlaceOptions{
		Profile: b.profile, Candidates: []uint32{node}, Scan: true,
	})
	if err != nil || len(p.Placements[0].Nodes) != 1 {
		b.t.Fatal(p.Placements, err)
	}
	for i := range p.Devices {
		b.given++
		allocateClaim(stated, &p.Devices[i], fmt.Sprint("given-", len(stated.Devices.Claims)))
	}
	return stated
}

// fit returns what Fit returns without domains and changes, and the cluster with all pods that were placed.
func (b *fitByHand) fit(stated *api.Cluster) (*verdict.Fit, *api.Cluster) {
	result := &verdict.Fit{Binding: -1, Pods: make([]verdict.FitPods, len(b.mix))}
	final := stated
	placed, unit := make([]map[uint32]uint32, len(b.mix)), make([][]uint32, len(b.mix))
	for e := range placed {
		placed[e] = make(map[uint32]uint32)
	}
	for ; result.Units < b.units && result.Binding < 0; result.Units++ {
		b.partial = 0
		for e := 0; e < len(b.mix) && result.Binding < 0; e++ {
			unit[e] = nil
			for range b.mix[e].Count {
				pod := &b.mix[e].Pod
				c := compiled(b.t, final)
				score, err := c.Score(context.Background(), pod, engine.ScoreOptions{Profile: b.profile, Candidates: b.candidates})
				if err != nil {
					b.t.Fatal(err)
				}
				b.undecided = b.undecided || len(score.Doubts) > 0
				if len(score.Best) > 0 {
					node := b.best(final, score.Best)
					final = b.put(c, final, node, pod)
					unit[e] = append(unit[e], node)
					b.partial++
					continue
				}
				f, err := c.Filter(context.Background(), pod, engine.FilterOptions{Profile: b.profile, Candidates: b.candidates})
				if err != nil {
					b.t.Fatal(err)
				}
				result.Binding, result.Rejections, result.Message, result.Failed = e, f.Rejections, score.Message, score.Failed
				if len(score.Nodes) > 0 { // kube-scheduler fails to score them
					queue := []engine.Pending{{Pod: *pod, Count: 1}}
					o := engine.PlaceOptions{Profile: b.profile, Candidates: b.candidates}
					placed, err := c.PlaceByScanning(context.Background(), queue, o)
					if err != nil {
						b.t.Fatal(err)
					}
					result.Rejections = placed[0].Rejections
				}
				break
			}
		}
		if result.Binding >= 0 {
			break
		}
		for e, nodes := range unit {
			for _, n := range nodes {
				placed[e][n]++
			}
		}
	}
	result.Limited = result.Binding < 0
	for e := range placed {
		for n := range uint32(len(stated.Nodes)) {
			if placed[e][n] > 0 {
				result.Pods[e].Nodes = append(result.Pods[e].Nodes, n)
				result.Pods[e].Counts = append(result.Pods[e].Counts, placed[e][n])
			}
		}
	}
	return result, final
}

// domains returns the domains of a key.
func (b *fitByHand) domains(stated *api.Cluster, key string, all *verdict.Fit) []verdict.FitDomain {
	if key == "" {
		return nil
	}
	candidates := b.candidates
	if candidates == nil {
		for i := range stated.Nodes {
			candidates = append(candidates, uint32(i))
		}
	}
	members := make(map[string][]uint32)
	values := []string{}
	for _, i := range candidates {
		n := inlined(stated.Nodes[i])
		if value, ok := n.Labels.Get(key); ok {
			if members[value] == nil {
				values = append(values, value)
			}
			members[value] = append(members[value], i)
		}
	}
	slices.Sort(values)
	out := []verdict.FitDomain{}
	for _, value := range values {
		d := verdict.FitDomain{Value: value, Placed: make([]uint32, len(b.mix))}
		for e, pods := range all.Pods {
			for i, n := range pods.Nodes {
				if slices.Contains(members[value], n) {
					d.Placed[e] += pods.Counts[i]
				}
			}
		}
		within := *b
		within.candidates = members[value]
		alone, _ := within.fit(stated)
		d.Alone = alone.Units
		b.undecided = b.undecided || within.undecided
		out = append(out, d)
	}
	return out
}

// compareChanges compares the changes with Filter's in the final cluster, and their units with the units of clusters and
// mixes that are changed by hand. Victims differ from Filter's, as pods of the mix are none.
func (b *fitByHand) compareChanges(
	seed uint64, stated, final *api.Cluster, all *verdict.Fit, got []verdict.FitChange, seen map[string]int,
) {
	pod := &b.mix[all.Binding].Pod
	f, err := compiled(b.t, final).Filter(context.Background(), pod, engine.FilterOptions{
		Profile: b.profile, Candidates: b.candidates, Changes: true,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var want []verdict.FitChange
	for _, c := range f.Changes {
		if units, known := b.with(stated, all.Binding, &c); c.RemovedPods == nil && known && units > all.Units {
			want = append(want, verdict.FitChange{Change: c, Units: units})
		}
	}
	var others []verdict.FitChange
	for _, c := range got {
		seen[kindOf(&c.Change)]++
		if c.RemovedPods == nil {
			others = append(others, c)
			continue
		}
		if slices.ContainsFunc(c.RemovedPods, func(p verdict.PodReference) bool { return p.Queue >= 0 }) {
			b.t.Fatalf("seed %d: pods of the mix are victims: %v", seed, c.RemovedPods)
		}
		if units, known := b.with(stated, all.Binding, &c.Change); known && (units != c.Units || units <= all.Units) {
			b.t.Fatalf("seed %d: %d units of %d without %v, by hand %d", seed, c.Units, all.Units, c.RemovedPods, units)
		}
	}
	if diff := cmp.Diff(want, others); diff != "" {
		b.t.Fatalf("seed %d, %d units, %s: changes (-want +got):\n%s", seed, all.Units, all.Message, diff)
	}
}

// with returns the number of units with a change, and whether the contract defines it.
func (b *fitByHand) with(stated *api.Cluster, entry int, c *verdict.Change) (int, bool) {
	changed := *b
	spec := func(change func(*api.PodSpec)) {
		changed.mix = slices.Clone(b.mix)
		template := *b.mix[entry].Pod.Template
		template.Spec.Spread = slices.Clone(template.Spec.Spread)
		template.Spec.Containers = slices.Clone(template.Spec.Containers)
		change(&template.Spec)
		changed.mix[entry].Pod.Template, changed.mix[entry].Pod.TemplateIndex = &template, -1
	}
	next := *stated
	next.Nodes = slices.Clone(stated.Nodes)
	switch {
	case c.AddedNode != nil:
		like := inlined(stated.Nodes[c.AddedNode.Like])
		n := newNodeLike(stated, &like, "\x00new-0")
		for _, key := range c.AddedNode.NewDomainKeys {
			n.Labels = n.Labels.With(api.Labels{{Key: key, Value: n.Name}})
		}
		next.Nodes = append(next.Nodes, n)
		withNode(&next, like.Name, n.Name)
		if b.candidates != nil {
			changed.candidates = append(slices.Clone(b.candidates), uint32(len(stated.Nodes)))
		}
	case c.RemovedPods != nil:
		for _, p := range c.RemovedPods {
			if !remove(&next.Nodes[p.Node], &p) {
				return 0, false
			}
			leave(&next, p.Namespace, p.Name)
		}
	case c.RaisedMaxSkew != nil:
		spec(func(s *api.PodSpec) { s.Spread[c.RaisedMaxSkew.Index].MaxSkew = c.RaisedMaxSkew.To })
	case c.PreferredRule != nil:
		if c.PreferredRule.Plugin != verdict.PodTopologySpread {
			return 0, false
		}
		spec(func(s *api.PodSpec) { s.Spread[c.PreferredRule.Index].ScheduleAnyway = true })
	case c.LoweredRequest != nil:
		s := &b.mix[entry].Pod.Template.Spec
		if len(s.Containers) != 1 || len(s.InitContainers) > 0 || len(s.Requests) > 0 || len(s.Overhead) > 0 {
			return 0, false
		}
		spec(func(s *api.PodSpec) {
			var requests api.Resources
			for _, q := range s.Containers[0].Requests {
				if q.Resource == c.LoweredRequest.Resource {
					q.Amount = c.LoweredRequest.To
				}
				requests = append(requests, q)
			}
			s.Containers[0].Requests = requests
		})
	case c.Combined != nil: // only Filter combines changes
		return 0, false
	default:
		cluster, pod := (&remedied{t: b.t, stated: stated, pod: &b.mix[entry].Pod}).apply(c)
		next, changed.mix = *cluster, slices.Clone(b.mix)
		changed.mix[entry].Pod = *pod
	}
	fit, _ := changed.fit(&next)
	return fit.Units, true
}

// remove removes pods from a node. It fails if the reference may be to others, too.
func remove(n *api.Node, p *verdict.PodReference) bool {
	n.Pods, n.PodCounts = slices.Clone(n.Pods), slices.Clone(n.PodCounts)
	if p.Name != "" {
		before := len(n.Pods)
		n.Pods = slices.DeleteFunc(n.Pods, func(q api.Pod) bool { return q.Name == p.Name && q.Template.Namespace == p.Namespace })
		return before == len(n.Pods)+1
	}
	var of []int
	for i, c := range n.PodCounts {
		if c.Template == p.Template {
			of = append(of, i)
		}
	}
	if len(of) != 1 || slices.ContainsFunc(n.Pods, func(q api.Pod) bool { return q.Name == "" }) {
		return false
	}
	if c := &n.PodCounts[of[0]]; int(c.Count) > p.Count {
		c.Count -= int32(p.Count)
	} else {
		n.PodCounts = slices.Delete(n.PodCounts, of[0], of[0]+1)
	}
	return true
}

// TestFitAnyParallelism counts with any number of processors, and expects equal results.
func TestFitAnyParallelism(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	stated := bigCluster(300, true)
	own := enginetest.Selects("app", "new")
	mix := []engine.Pending{
		pending(2, enginetest.MakePod("a").Label("app", "new").Request("cpu", 3000).Spread(zone, 4, own)),
		pending(1, enginetest.MakePod("b").Request("cpu", 500, "memory", 4<<30)),
	}
	var want *verdict.Fit
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		got, err := compiled(t, stated).Fit(t.Context(), mix, engine.FitOptions{
			Profile: api.Kube137(), Units: 1e6, TopologyKey: hostname, Changes: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || got.Units == 0 || len(got.Domains) != 300 || len(got.Changes) == 0 {
			t.Errorf("%d processors, %d units, %d domains, %d changes (-first +now):\n%s",
				procs, got.Units, len(got.Domains), len(got.Changes), diff)
		}
	}
}

// TestFitLimits counts pods that nothing bounds but the limit.
func TestFitLimits(t *testing.T) {
	c := compile(t, enginetest.MakeNode("huge").Allocate("cpu", 1000, "pods", math.MaxInt64))
	for _, test := range []struct {
		pods, units, want int
	}{
		{1, 10, 10},
		{1, engine.MaxFitPods, engine.MaxFitPods},
		{300_001, engine.MaxFitPods, 3},
		{engine.MaxFitPods, 2, 1},
	} {
		if raced.Detector && testing.Short() && test.want*test.pods > 1000 {
			continue // up to a million pods
		}
		got, err := c.Fit(t.Context(), []engine.Pending{pending(test.pods, enginetest.MakePod("p"))}, engine.FitOptions{
			Profile: api.Kube137(), Units: test.units, TopologyKey: hostname,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Units != test.want || !got.Limited || got.Binding != -1 || got.Domains[0].Alone != test.want {
			t.Errorf("%+v: %d units, limited %t, binding %d, alone %d", test, got.Units, got.Limited, got.Binding, got.Domains[0].Alone)
		}
	}
}

// TestFitEnds expects that a count ends with its context.
func TestFitEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := compile(t, threeZones()...)
	o := engine.FitOptions{Profile: api.Kube137(), Units: 1e6, TopologyKey: hostname, Changes: true}
	if _, err := c.Fit(ctx, []engine.Pending{pending(1, enginetest.MakePod("p"))}, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestFitDomains counts the domains of candidates.
func TestFitDomains(t *testing.T) {
	c := compile(t, append(threeZones(), enginetest.MakeNode("nowhere"))...)
	for _, test := range []struct {
		key        string
		candidates []uint32
		want       int
	}{
		{"", nil, 0},
		{zone, nil, 3},
		{hostname, nil, 4},
		{hostname, []uint32{1, 3}, 2},
		{zone, []uint32{1, 3}, 1},
		{"no.node.has/it", nil, 0},
	} {
		if got := c.FitDomains(t.Context(), engine.FitOptions{TopologyKey: test.key, Candidates: test.candidates}); got != test.want {
			t.Errorf("%s of %v: %d domains, want %d", test.key, test.candidates, got, test.want)
		}
	}
}

// TestFitOfPodsOfADaemonSet counts pods that a node like another one would have, too: the pods in question stay where
// they are.
func TestFitOfPodsOfADaemonSet(t *testing.T) {
	agent := enginetest.MakePod("agent").Request("cpu", 600)
	agent.Template.Controller = api.ControllerReference{Kind: api.DaemonSet, Name: "agent"}
	c := compiled(t, enginetest.Cluster(enginetest.MakeNode("a").Allocate("cpu", 1000, "pods", 10)))
	f, err := c.Fit(t.Context(), []engine.Pending{{Pod: agent.Pod, Count: 1}}, engine.FitOptions{
		Profile: api.Kube137(), Units: 5, Changes: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, f.Units, 1)
	if !slices.ContainsFunc(f.Changes, func(c verdict.FitChange) bool { return c.AddedNode != nil && c.Units == 2 }) {
		t.Errorf("changes %+v, want a node more, with which 2 fit", f.Changes)
	}
}
