package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// provisionCase is a random case that is small enough to try all counts.
type provisionCase struct {
	stated  *api.Cluster
	queue   []engine.Pending
	options engine.ProvisionOptions
}

func randomProvision(seed uint64) *provisionCase {
	rng := rand.New(rand.NewPCG(seed, 16))
	c := &provisionCase{options: engine.ProvisionOptions{Profile: api.Kube137(), Seed: seed % 3, Steps: 1 << 22}}
	var pods []api.Pod
	c.stated, pods = enginetest.Random(rng)
	others, _ := enginetest.Random(rng)
	for i := range 1 + rng.IntN(3) {
		t := engine.NodeTemplate{Node: others.Nodes[i], Price: int64(rng.IntN(6)), Most: rng.IntN(4)}
		if rng.IntN(3) == 0 { // a larger and a smaller one that are alike otherwise
			t.Node = others.Nodes[0]
			t.Node.Allocatable = enginetest.Resources("cpu", 500+500*rng.IntN(4), "memory", (1<<30)*(1+rng.IntN(4)), "pods", 1+rng.IntN(5))
		}
		t.Node.Name = fmt.Sprint("new", i)
		t.Node.Nominated = nil
		if rng.IntN(3) > 0 {
			t.Node.Pods = nil
		}
		if rng.IntN(2) == 0 {
			class := &api.NodeClass{NodeSpec: t.Node.NodeSpec}
			t.Node.Class, t.Node.Labels, t.Node.Taints = class, api.Labels{{Key: "own", Value: "x"}}, nil
			if t.Node.Allocatable = nil; rng.IntN(2) == 0 {
				t.Node.Allocatable = enginetest.Resources("cpu", 1000)
			}
			c.stated.Classes = append(c.stated.Classes, class)
		}
		if rng.IntN(6) == 0 {
			t.NameLabelKeys = []string{"disk"}
		}
		c.options.Templates = append(c.options.Templates, t)
	}
	c.stated.Nodes = c.stated.Nodes[:rng.IntN(3)]
	if len(c.stated.Nodes) > 0 && rng.IntN(4) == 0 {
		c.stated.Nodes[0].Name = "new0-1" // which a new node cannot have
	}
	if rng.IntN(4) == 0 && len(c.stated.Nodes) > 0 {
		c.options.Candidates = []uint32{uint32(rng.IntN(len(c.stated.Nodes)))}
	}
	for range 1 + rng.IntN(4) {
		pod := pods[rng.IntN(len(pods))]
		if rng.IntN(12) == 0 {
			template := *pod.Template
			template.Spec.SchedulingGates = []string{"wait"}
			pod.Template, pod.TemplateIndex = &template, -1
		}
		if rng.IntN(12) == 0 {
			template := *pod.Template
			template.Spec.NodeSelector = api.Labels{{Key: hostname, Value: pick(rng, "new0-0", "new0-1", "new1-1")}}
			pod.Template, pod.TemplateIndex = &template, -1
		}
		c.queue = append(c.queue, engine.Pending{Pod: pod, Count: rng.IntN(4)})
	}
	if rng.IntN(5) == 0 {
		c.options.Groups = []engine.PodGroup{{Name: "g", Entries: []int{0}, Minimum: rng.IntN(2)}}
		if rng.IntN(2) == 0 {
			c.options.Groups[0].Keys = []string{zone}
		}
		c.queue[0].Count = 1 + rng.IntN(3)
	}
	c.options.MaxNodes = 1 + rng.IntN(4)
	if seed%4 == 3 {
		c.withDevices(rng)
	}
	return c
}

// withDevices gives nodes and templates devices, and pods claims of them.
func (c *provisionCase) withDevices(rng *rand.Rand) {
	pods := make([]api.Pod, len(c.queue))
	for e := range pods {
		pods[e] = c.queue[e].Pod
	}
	enginetest.RandomDevices(rng, c.stated, pods)
	for e := range pods { // entries with one name are of one pod
		c.queue[e].Pod = pods[slices.IndexFunc(pods, func(p api.Pod) bool { return p.Name == pods[e].Name })]
	}
	shared := rng.IntN(3) == 0
	c.stated.Devices.Slices = slices.DeleteFunc(c.stated.Devices.Slices, func(s api.ResourceSlice) bool { return s.NodeName == "" && !shared })
	for i := range c.options.Templates {
		t := &c.options.Templates[i]
		for j := range rng.IntN(3) {
			t.Slices = append(t.Slices, enginetest.RandomSlice(rng, fmt.Sprint("slice-", j), []string{t.Node.Name, "second"}[j]))
		}
	}
}

// named are the names of the new nodes of a template, by hand.
func (c *provisionCase) named(prefix string, count int) (names []string) {
	for number := 0; len(names) < count; number++ {
		name := fmt.Sprintf("%s-%d", prefix, number)
		if !slices.ContainsFunc(c.stated.Nodes, func(n api.Node) bool { return n.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// with returns the cluster with new nodes as a caller would state it, and the candidates there.
func (c *provisionCase) with(counts []int) (*api.Cluster, []uint32) {
	out := *c.stated
	out.Nodes = slices.Clone(out.Nodes)
	candidates := slices.Clone(c.options.Candidates)
	for i := range c.options.Templates {
		t := &c.options.Templates[i]
		for _, name := range c.named(t.Node.Name, counts[i]) {
			n := t.Node
			n.Name = name
			own := map[string]string{hostname: name}
			for _, key := range t.NameLabelKeys {
				own[key] = name
			}
			n.Labels = n.Labels.With(api.LabelsOf(own))
			if candidates != nil {
				candidates = append(candidates, uint32(len(out.Nodes)))
			}
			out.Nodes = append(out.Nodes, n)
			for _, s := range t.Slices {
				if s.Name, s.NodeName = name+"/"+s.Name, name; s.Pool == t.Node.Name {
					s.Pool = name
				} else {
					s.Pool = name + "/" + s.Pool
				}
				out.Devices.Slices = append(slices.Clip(out.Devices.Slices), s)
			}
		}
	}
	return &out, candidates
}

// place places the queue on the newly compiled cluster with new nodes. Pods that are left are queued again behind the others while
// that places any.
func (c *provisionCase) place(t *testing.T, counts []int) *verdict.Place {
	t.Helper()
	stated, candidates := c.with(counts)
	queue := slices.Clone(c.queue)
	var of, grouped []int
	for _, g := range c.options.Groups {
		grouped = append(grouped, g.Entries...)
	}
	for e := range queue {
		of = append(of, e)
	}
	for pass := 0; ; {
		p, err := compiled(t, stated).Place(t.Context(), queue, engine.PlaceOptions{
			Profile: c.options.Profile, Candidates: candidates, Seed: c.options.Seed, Groups: c.options.Groups,
		})
		if err != nil {
			t.Fatal(err)
		}
		merged, progress := *p, pass == 0
		merged.Placements = slices.Clone(p.Placements[:len(c.queue)])
		for i := len(c.queue); i < len(queue); i++ {
			again := p.Placements[i]
			progress = progress || i >= pass && len(again.Nodes) > 0
			again.Nodes = slices.Concat(merged.Placements[of[i]].Nodes, again.Nodes)
			merged.Placements[of[i]] = again
		}
		for i := range merged.Devices {
			merged.Devices[i].Queue = of[merged.Devices[i].Queue]
		}
		for i := range merged.Bindings {
			merged.Bindings[i].Queue = of[merged.Bindings[i].Queue]
		}
		merged.Doubts = slices.DeleteFunc(p.Doubts, func(d verdict.Doubt) bool { return d.Pod.Queue >= len(c.queue) })
		if pass = len(queue); !progress {
			return &merged
		}
		for e := range c.queue {
			if left := merged.Placements[e].Unplaced; left > 0 && !slices.Contains(grouped, e) {
				queue, of = append(queue, engine.Pending{Pod: c.queue[e].Pod, Count: left}), append(of, e)
			}
		}
		if len(queue) == pass {
			return &merged
		}
	}
}

// unscanned leaves out how many nodes were scanned, which depends on how pods are attempted again.
var unscanned = cmpopts.IgnoreFields(verdict.Placement{}, "Scanned")

func placedBy(p *verdict.Place) (placed int) {
	for i := range p.Placements {
		placed += len(p.Placements[i].Nodes)
	}
	return placed
}

// everyCount passes all counts to use.
func (c *provisionCase) everyCount(use func(counts []int, cost int64)) {
	counts := make([]int, len(c.options.Templates))
	var from func(t, nodes int, cost int64)
	from = func(t, nodes int, cost int64) {
		if t == len(counts) {
			use(counts, cost)
			return
		}
		of := &c.options.Templates[t]
		for n := 0; n <= of.Most && nodes+n <= c.options.MaxNodes; n++ {
			counts[t] = n
			from(t+1, nodes+n, cost+int64(n)*of.Price)
		}
		counts[t] = 0
	}
	from(0, 0, 0)
}

// TestProvision compares what Provision finds, and what it says to be proven, with all counts that there are.
func TestProvision(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	n := cases(4000)
	for seed := range uint64(n) {
		compareProvision(t, seed, seen)
		if t.Failed() {
			return
		}
	}
	for _, what := range []string{
		"nothing new", "new", "all", "some", "impossible", "possible", "optimal", "by the bound", "not the best", "open", "explained",
		"taken", "bound above 0", "groups", "free", "devices", "devices bound",
	} {
		if seen[what] == 0 && n >= 2000 {
			t.Errorf("no case of %q: the cases no longer exercise it", what)
		}
	}
	t.Log(seen)
}

// FuzzProvision is TestProvision with new seeds.
func FuzzProvision(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { compareProvision(t, seed, make(map[string]int)) })
}

func compareProvision(t *testing.T, seed uint64, seen map[string]int) {
	t.Helper()
	c := randomProvision(seed)
	if seed%4 == 1 {
		c.options.Steps = int(1 + seed%97*seed%89) // often too few
	}
	got, err := compiled(t, c.stated).Provision(t.Context(), c.queue, c.options)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, len(got.Counts))
	cost, names := int64(0), []string(nil)
	for i, n := range got.Counts {
		counts[i] = int(n)
		cost += int64(n) * c.options.Templates[i].Price
		names = append(names, c.named(c.options.Templates[i].Node.Name, int(n))...)
		if counts[i] > c.options.Templates[i].Most {
			t.Fatalf("seed %d: %d nodes of template %d", seed, n, i)
		}
	}
	if cost != got.Cost || !slices.Equal(names, got.Names) || len(names) > c.options.MaxNodes {
		t.Fatalf("seed %d: cost %d of %v called %v", seed, got.Cost, counts, got.Names)
	}
	want := c.place(t, counts)
	if diff := gocmp.Diff(want, &got.Place, unscanned); diff != "" {
		t.Fatalf("seed %d, with %v (-want +got):\n%s", seed, counts, diff)
	}
	placed := placedBy(want)

	most, least := 0, int64(math.MaxInt64) // placed pods, and what placing them costs
	asGood := int64(math.MaxInt64)         // the least cost of placing as many as the answer
	ever := make([]int, len(c.queue))      // placed pods by entry
	c.everyCount(func(counts []int, cost int64) {
		p := c.place(t, counts)
		n := placedBy(p)
		for e := range ever {
			ever[e] = max(ever[e], len(p.Placements[e].Nodes))
		}
		if n > most {
			most, least = n, cost
		} else if n == most {
			least = min(least, cost)
		}
		if n >= placed {
			asGood = min(asGood, cost)
		}
	})
	if got.Bound > asGood {
		t.Errorf("seed %d: bound %d, as many pods are placed for %d", seed, got.Bound, asGood)
	}
	if got.Optimal && (placed != most || got.Cost != least || got.Bound != got.Cost) {
		t.Errorf("seed %d: %d pods for %d, bound %d, said to be optimal: %d pods for %d",
			seed, placed, got.Cost, got.Bound, most, least)
	}
	c.compareUnplaced(t, seed, got, counts, ever, seen)
	switch {
	case len(names) == 0:
		seen["nothing new"]++
	default:
		seen["new"]++
	}
	switch {
	case got.Optimal:
		seen["optimal"]++
		if got.Steps < 100 {
			seen["by the bound"]++
		}
	case placed != most || got.Cost != least:
		seen["not the best"]++
	default:
		seen["open"]++
	}
	if seed%4 != 1 && !got.Optimal && len(c.stated.Devices.Expressions) == 0 { // searches for devices may be undecided
		t.Errorf("seed %d: nothing is proven, though there are few counts", seed)
	}
	if got.Bound > 0 {
		seen["bound above 0"]++
	}
	if len(c.options.Groups) > 0 {
		seen["groups"]++
	}
	if len(got.Place.Devices) > 0 {
		seen["devices"]++
	}
	if got.Bound > 0 && len(c.stated.Devices.Slices) > 0 {
		seen["devices bound"]++
	}
	if len(names) > 0 && cost == 0 {
		seen["free"]++
	}
}

// compareUnplaced compares what is said of unplaced pods. ever is the most pods of each entry that any counts place.
func (c *provisionCase) compareUnplaced(
	t *testing.T, seed uint64, got *verdict.Provision, counts, ever []int, seen map[string]int,
) {
	t.Helper()
	var entries []int
	for e := range got.Place.Placements {
		if got.Place.Placements[e].Unplaced > 0 {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		seen["all"]++
	} else {
		seen["some"]++
	}
	for i := range got.Unplaced {
		u := &got.Unplaced[i]
		if i >= len(entries) || u.Entry != entries[i] || len(u.Refusals) != len(counts) || u.Truncated {
			t.Fatalf("seed %d: unplaced %+v, expected those of %v", seed, got.Unplaced, entries)
		}
		if u.Impossible {
			seen["impossible"]++
			if ever[u.Entry] > 0 {
				t.Errorf("seed %d: %d pods of entry %d can be placed, said to be impossible", seed, ever[u.Entry], u.Entry)
			}
		} else {
			seen["possible"]++
		}
		for j, r := range u.Refusals {
			if want := c.refusal(t, got, counts, u.Entry, j); r.Template != j || r.Message != want {
				t.Errorf("seed %d: entry %d, template %d: %q, expected %q", seed, u.Entry, j, r.Message, want)
			} else if want == "" {
				seen["taken"]++
			} else {
				seen["explained"]++
			}
		}
	}
	if len(got.Unplaced) != len(entries) {
		t.Errorf("seed %d: unplaced %+v, expected those of %v", seed, got.Unplaced, entries)
	}
}

// refusal filters a pod of an entry for one more node of a template, in the newly compiled cluster with all placed pods.
func (c *provisionCase) refusal(t *testing.T, got *verdict.Provision, counts []int, entry, template int) string {
	t.Helper()
	full, _ := c.with(counts)
	one := make([]int, len(counts))
	one[template] = counts[template] + 1
	last, _ := c.with(one)
	full.Nodes, full.Devices = append(full.Nodes, last.Nodes[len(last.Nodes)-1]), last.Devices
	others, _ := c.with(counts)
	for _, s := range others.Devices.Slices {
		if !slices.ContainsFunc(full.Devices.Slices, func(o api.ResourceSlice) bool { return o.Name == s.Name }) {
			full.Devices.Slices = append(slices.Clip(full.Devices.Slices), s)
		}
	}
	for i := range got.Place.Devices {
		allocateClaim(full, &got.Place.Devices[i], fmt.Sprint("given-", i))
	}
	for e := range got.Place.Placements {
		for _, n := range got.Place.Placements[e].Nodes {
			full = on(full, n, &c.queue[e].Pod)
		}
	}
	f, err := compiled(t, full).Filter(t.Context(), &c.queue[entry].Pod, engine.FilterOptions{
		Profile: c.options.Profile, Candidates: []uint32{uint32(len(full.Nodes) - 1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.Message
}

// large is a cluster of nodes, pods to place and templates.
func largeProvision(nodes, entries, each, templates int) (*api.Cluster, []engine.Pending, engine.ProvisionOptions) {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []*enginetest.Node
	for i := range nodes {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Zone(fmt.Sprint("z", i%3))
		n.Run(enginetest.MakePod("").Request("cpu", 7800, "memory", 30<<30))
		all = append(all, n)
	}
	var queue []engine.Pending
	for i := range entries {
		p := enginetest.MakePod(fmt.Sprint("p", i)).Label("app", fmt.Sprint(i))
		p.Request("cpu", 100+100*rng.IntN(20), "memory", (256<<20)*(1+rng.IntN(16)))
		switch i % 5 {
		case 1:
			p.Spread(zone, 1, enginetest.Selects("app", fmt.Sprint(i)))
		case 2:
			p.AntiAffinity(hostname, enginetest.Selects("app", fmt.Sprint(i)))
		case 3:
			p.SpreadSoftly(zone, 1, enginetest.Selects("app", fmt.Sprint(i)))
		}
		queue = append(queue, engine.Pending{Pod: p.Pod, Count: each})
	}
	o := engine.ProvisionOptions{Profile: api.Kube137(), MaxNodes: 10_000, Steps: 1 << 21}
	for i := range templates {
		cpu := 2 << (i / 3 % 6)
		ratio := []int{2, 4, 8}[i/18%3]
		n := enginetest.MakeNode(fmt.Sprint("t", i)).Zone(fmt.Sprint("z", i%3))
		n.Allocate("cpu", 1000*cpu-200, "memory", (cpu*ratio<<30)-(1<<30), "pods", 110)
		o.Templates = append(o.Templates, engine.NodeTemplate{
			Node: n.Node, Price: int64(cpu*(900+100*ratio)) + int64(rng.IntN(200)), Most: 10_000,
		})
	}
	return enginetest.Cluster(all...), queue, o
}

// TestProvisionIsTheSameOnAnyProcessors compares answers on 1, 2 and 4 goroutines.
func TestProvisionIsTheSameOnAnyProcessors(t *testing.T) {
	t.Parallel()
	stated, queue, o := largeProvision(50, 20, 10, 12)
	o.Steps = 1 << 17
	c := compiled(t, stated)
	var want *verdict.Provision
	for _, workers := range []int{1, 2, 4} {
		got, err := c.Provision(t.Context(), queue, o.WithWorkers(workers))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		} else if diff := gocmp.Diff(want, got, unscanned); diff != "" {
			t.Errorf("%d workers:\n%s", workers, diff)
		}
	}
	if placedBy(&want.Place) != 200 || want.Cost == 0 || want.Bound <= want.Cost/2 || want.Steps > o.Steps {
		t.Errorf("%d pods, cost %d, bound %d, steps %d", placedBy(&want.Place), want.Cost, want.Bound, want.Steps)
	}
}

// TestProvisionOptimal expects known optima.
func TestProvisionOptimal(t *testing.T) {
	t.Parallel()
	template := func(name string, cpu int, price int64) engine.NodeTemplate {
		n := enginetest.MakeNode(name).Allocate("cpu", cpu, "memory", 32<<30, "pods", 110)
		return engine.NodeTemplate{Node: n.Node, Price: price, Most: 100}
	}
	web := enginetest.MakePod("web").Label("app", "web").Request("cpu", 1000)
	apart := enginetest.MakePod("apart").Label("app", "web").Request("cpu", 1000)
	apart.AntiAffinity(hostname, enginetest.Selects("app", "web"))
	sizes := []engine.NodeTemplate{template("small", 2000, 10), template("large", 8000, 32)}
	alike := []engine.NodeTemplate{template("dear", 4000, 9), template("cheap", 4000, 8)}
	for name, test := range map[string]struct {
		pod       *enginetest.Pod
		count     int
		templates []engine.NodeTemplate
		counts    []uint32
	}{
		"the cheapest for the amount":  {web, 16, sizes, []uint32{0, 2}},
		"a mix":                        {web, 18, sizes, []uint32{1, 2}},
		"a node for each":              {apart, 7, sizes, []uint32{7, 0}},
		"many, by the bound":           {web, 800, sizes, []uint32{0, 100}},
		"nothing":                      {web, 0, sizes, []uint32{0, 0}},
		"of two that are alike, cheap": {web, 3, alike, []uint32{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := []engine.Pending{{Pod: test.pod.Pod, Count: test.count}}
			got, err := compiled(t, &api.Cluster{}).Provision(t.Context(), queue, engine.ProvisionOptions{
				Profile: api.Kube137(), Templates: test.templates, MaxNodes: 200, Steps: 1 << 20,
			})
			if err != nil || !slices.Equal(got.Counts, test.counts) || !got.Optimal || len(got.Unplaced) > 0 {
				t.Errorf("%v, %v, optimal %t, cost %d, bound %d", err, got.Counts, got.Optimal, got.Cost, got.Bound)
			}
		})
	}
}

// TestProvisionApart needs a node for each pod of two kinds that exclude each other. That no fewer are enough is known by the
// bound.
func TestProvisionApart(t *testing.T) {
	t.Parallel()
	var queue []engine.Pending
	for i, cpu := range []int{500, 1500} {
		pod := enginetest.MakePod(fmt.Sprint("kind-", i)).Label("app", "web").Request("cpu", cpu)
		pod.AntiAffinity(hostname, enginetest.Selects("app", "web"))
		queue = append(queue, engine.Pending{Pod: pod.Pod, Count: 30})
	}
	o := engine.ProvisionOptions{Profile: api.Kube137(), MaxNodes: 200, Steps: 1 << 15}
	for i, cpu := range []int{2000, 8000} {
		n := enginetest.MakeNode(fmt.Sprint("size-", i)).Allocate("cpu", cpu, "pods", 110)
		o.Templates = append(o.Templates, engine.NodeTemplate{Node: n.Node, Price: int64(10 + 20*i), Most: 100})
	}
	got, err := compiled(t, &api.Cluster{}).Provision(t.Context(), queue, o)
	if err != nil || !slices.Equal(got.Counts, []uint32{60, 0}) || got.Bound != 600 || !got.Optimal || len(got.Unplaced) > 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestProvisionSpreadsOverNewZones needs a node in each zone, and as many in each as pods are there.
func TestProvisionSpreadsOverNewZones(t *testing.T) {
	t.Parallel()
	web := enginetest.MakePod("web").Label("app", "web").Request("cpu", 1000).Spread(zone, 1, enginetest.Selects("app", "web"))
	var o engine.ProvisionOptions
	for i, price := range []int64{1, 5, 9} {
		n := enginetest.MakeNode(fmt.Sprint("z", i)).Zone(fmt.Sprint("z", i)).Allocate("cpu", 2000, "pods", 9)
		o.Templates = append(o.Templates, engine.NodeTemplate{Node: n.Node, Price: price, Most: 100})
	}
	o.Profile, o.MaxNodes, o.Steps = api.Kube137(), 100, 1<<20
	stated := enginetest.Cluster(
		enginetest.MakeNode("a").Zone("z0").Allocate("cpu", 0, "pods", 9),
		enginetest.MakeNode("b").Zone("z1").Allocate("cpu", 0, "pods", 9))
	got, err := compiled(t, stated).Provision(t.Context(), []engine.Pending{{Pod: web.Pod, Count: 8}}, o)
	if err != nil || !slices.Equal(got.Counts, []uint32{2, 2, 0}) || placedBy(&got.Place) != 8 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestProvisionEnds lets the context end at many moments, of a search and of telling why pods have no node.
func TestProvisionEnds(t *testing.T) {
	t.Parallel()
	stated, queue, o := largeProvision(20, 10, 5, 6)
	huge := []engine.Pending{{Pod: enginetest.MakePod("huge").Request("cpu", 1_000_000).Pod, Count: 3}}
	for name, test := range map[string]struct {
		queue   []engine.Pending
		moments int
		apart   int
	}{
		"search": {queue, 200, 3},
		"texts":  {huge, 400, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := compiled(t, stated)
			unplaced := false
			for after := range test.moments {
				ctx := &endingContext{Context: t.Context(), left: after * test.apart}
				got, err := c.Provision(ctx, test.queue, o.WithWorkers(1))
				if (err == nil) != (got != nil) || err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("%v, %v", got, err)
				}
				unplaced = unplaced || err == nil && len(got.Unplaced) > 0
			}
			if name == "texts" && !unplaced {
				t.Error("no call ends with texts")
			}
		})
	}
}

// endingContext ends after a number of calls of Err.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestProvisionCountsTexts expects that finding out why each template accepts no pod counts as steps, beyond the budget.
func TestProvisionCountsTexts(t *testing.T) {
	t.Parallel()
	huge := []engine.Pending{{Pod: enginetest.MakePod("huge").Request("cpu", 1_000_000).Pod, Count: 3}}
	_, _, o := largeProvision(0, 0, 0, 3)
	o.Steps = 1
	c := compiled(t, &api.Cluster{})
	steps := func(templates int) int {
		o := o
		o.Templates = o.Templates[:templates]
		got, err := c.Provision(t.Context(), huge, o)
		if err != nil || len(got.Unplaced) != 1 || len(got.Unplaced[0].Refusals) != templates {
			t.Fatalf("%v, %+v", err, got)
		}
		return got.Steps
	}
	if one, three := steps(1), steps(3); one <= o.Steps || three <= one {
		t.Errorf("%d steps with one template, %d with three, of %d", one, three, o.Steps)
	}
}

// TestProvisionOverflow expects no proofs where sums of amounts overflow.
func TestProvisionOverflow(t *testing.T) {
	t.Parallel()
	huge := enginetest.MakePod("huge").Request("memory", int64(math.MaxInt64))
	n := enginetest.MakeNode("big").Allocate("cpu", 1000, "memory", int64(math.MaxInt64), "pods", 110)
	queue := []engine.Pending{{Pod: huge.Pod, Count: 3}}
	got, err := compiled(t, &api.Cluster{}).Provision(t.Context(), queue, engine.ProvisionOptions{
		Profile: api.Kube137(), MaxNodes: 3, Steps: 1 << 20,
		Templates: []engine.NodeTemplate{{Node: n.Node, Price: math.MaxInt64 / 4, Most: 3}},
	})
	if err != nil || placedBy(&got.Place) != 3 || got.Bound > got.Cost {
		t.Errorf("%+v, %v", got, err)
	}
}

// BenchmarkProvision measures the nodes for 10,000 pending pods beside 5,000 nodes that are full.
func BenchmarkProvision(b *testing.B) {
	for _, templates := range []int{50, 400, 2400} {
		b.Run(fmt.Sprintf("nodes=5000/pods=10000/templates=%d", templates), func(b *testing.B) {
			stated, queue, o := largeProvision(5000, 200, 50, templates)
			o.Steps = 0
			c, err := engine.Compile(b.Context(), stated)
			if err != nil {
				b.Fatal(err)
			}
			var before *verdict.Provision
			for b.Loop() {
				got, err := c.Provision(b.Context(), queue, o)
				if err != nil {
					b.Fatal(err)
				}
				if before != nil && gocmp.Diff(before, got) != "" {
					b.Fatal("another answer")
				}
				before = got
				b.ReportMetric(float64(placedBy(&got.Place)), "placed")
				b.ReportMetric(float64(got.Cost)/float64(max(1, got.Bound)), "cost/bound")
				b.ReportMetric(float64(len(got.Names)), "new")
				b.ReportMetric(float64(got.Steps), "steps")
			}
		})
	}
}

// A member of a group that the cluster has is decided as part of the group, which is no doubt.
func TestProvisionOfAGroupOfTheCluster(t *testing.T) {
	member := enginetest.MakePod("member").Request("cpu", 1000)
	member.Template.Spec.SchedulingGroup = "crew"
	node := enginetest.MakeNode("t").Allocate("cpu", 4000, "pods", 10)
	options := engine.ProvisionOptions{
		Profile: api.Kube137(), Templates: []engine.NodeTemplate{{Node: node.Node, Price: 1, Most: 5}}, MaxNodes: 5, Steps: 1 << 20,
	}
	queue := []engine.Pending{{Pod: member.Pod, Count: 2}}
	for _, known := range []bool{true, false} {
		stated := &api.Cluster{}
		if known {
			stated.PodGroups = []api.PodGroup{{Name: "default/crew", Minimum: 2}}
		}
		got, err := compiled(t, stated).Provision(t.Context(), queue, options)
		if err != nil {
			t.Fatal(err)
		}
		if sure := len(got.Place.Doubts) == 0; sure != known || got.Optimal != known {
			t.Errorf("the group is known: %v; doubts %v, optimal %v", known, got.Place.Doubts, got.Optimal)
		}
	}
}
