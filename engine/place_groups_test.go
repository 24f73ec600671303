package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// racked returns nodes with 4 CPUs: a number of racks per zone, a number of nodes per rack.
func racked(zones, racks, nodes int) []*enginetest.Node {
	var all []*enginetest.Node
	for z := range zones {
		for r := range racks {
			for n := range nodes {
				all = append(all, enginetest.MakeNode(fmt.Sprintf("node-%d-%d-%d", z, r, n)).
					Allocate("cpu", int64(4000), "memory", int64(32<<30), "pods", int64(110)).
					Zone(fmt.Sprint("zone-", z)).Label(rack, fmt.Sprintf("rack-%d-%d", z, r)))
			}
		}
	}
	return all
}

// single returns a node in a rack that takes one pod, with a MiB of memory for each milli-CPU.
func single(name, in string, cpu, gpus int64) *enginetest.Node {
	return enginetest.MakeNode(name).Allocate("cpu", cpu, "memory", cpu<<20, "pods", int64(1), gpu, gpus).Label(rack, in)
}

func job(cpu int64) *enginetest.Pod {
	return enginetest.MakePod("job").Label("app", "job").Request("cpu", cpu, "memory", int64(1<<30))
}

func TestGroups(t *testing.T) { //nolint:funlen // a table of cases
	self := enginetest.Selects("app", "job")
	busy := func(nodes []*enginetest.Node, on ...int) []*enginetest.Node {
		for _, n := range on {
			nodes[n].Run(enginetest.MakePod("busy").Request("cpu", int64(1000), "memory", int64(1<<30)))
		}
		return nodes
	}
	members := func(nodes []*enginetest.Node, on ...int) []*enginetest.Node {
		for _, n := range on {
			nodes[n].Run(enginetest.MakePod("r").Group("job").Request("cpu", int64(0), "memory", int64(0)))
		}
		return nodes
	}
	const failed = "0/4 nodes are available: 4 Insufficient cpu."
	const none = "pod group is unschedulable, 0/1 placements are available, first placement status: "
	for _, test := range []struct {
		name  string
		nodes []*enginetest.Node
		queue []engine.Pending
		group engine.PodGroup
		// the outcome for the group and where the queue's pods go
		want    verdict.PodGroupPlacement
		placed  [][]uint32
		message []string
	}{
		{
			name:  "all or nothing, and nothing that counts for what follows",
			nodes: racked(1, 1, 4),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 5}, {Pod: job(3000).Pod, Count: 4}},
			group: engine.PodGroup{Entries: []int{0}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Unplaced: 5, First: 0,
				Message: none + "minCount (5) cannot be satisfied: 4 scheduled, 0 remaining",
			},
			placed:  [][]uint32{nil, {0, 1, 2, 3}},
			message: []string{failed, ""},
		},
		{
			name:    "more than the minimum",
			nodes:   racked(1, 1, 4),
			queue:   []engine.Pending{{Pod: job(3000).Pod, Count: 5}},
			group:   engine.PodGroup{Entries: []int{0}, Minimum: 3},
			want:    verdict.PodGroupPlacement{Status: verdict.GroupBestEffort, Placed: 4, Unplaced: 1, First: 0},
			placed:  [][]uint32{{0, 1, 2, 3}},
			message: []string{failed},
		},
		{
			name:    "at its first entry's turn, whatever lies between",
			nodes:   racked(1, 1, 4),
			queue:   []engine.Pending{{Pod: job(3000).Pod, Count: 2}, {Pod: job(2000).Pod, Count: 3}, {Pod: job(3000).Pod, Count: 2}},
			group:   engine.PodGroup{Entries: []int{0, 2}},
			want:    verdict.PodGroupPlacement{Status: verdict.GroupComplete, Placed: 4, First: -1},
			placed:  [][]uint32{{0, 1}, nil, {2, 3}},
			message: []string{"", failed, ""},
		},
		{
			name:  "a member that could have a node has none when another cannot",
			nodes: racked(1, 1, 4),
			queue: []engine.Pending{{Pod: job(1000).Pod, Count: 1}, {Pod: job(5000).Pod, Count: 1}, {Pod: job(1000).Pod, Count: 1}},
			group: engine.PodGroup{Entries: []int{0, 1, 2}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Unplaced: 3, First: 1,
				Message: none + "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",
			},
			placed: [][]uint32{nil, nil, nil},
			message: []string{
				"pod group is unschedulable, " + none + "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining", failed,
				none + "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",
			},
		},
		{
			name:  "the fullest rack that takes all",
			nodes: busy(racked(1, 3, 2), 0, 1, 2),
			queue: []engine.Pending{{Pod: job(3500).Pod, Count: 2}, {Pod: job(3000).Pod, Count: 2}},
			group: engine.PodGroup{Entries: []int{1}, Keys: []string{rack}},
			// job 0 takes nodes 3 and 4; only rack-0-0 has two nodes with room for 3000.
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupComplete, Placed: 2, First: -1, Domains: []verdict.Domain{{Key: rack, Value: "rack-0-0"}},
			},
			placed:  [][]uint32{{3, 4}, {0, 1}},
			message: []string{"", ""},
		},
		{
			name:  "the narrowest key that has a domain",
			nodes: racked(2, 2, 2),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 3}},
			group: engine.PodGroup{Entries: []int{0}, Keys: []string{rack, zone}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupComplete, Placed: 3, First: -1, Domains: []verdict.Domain{{Key: zone, Value: "zone-0"}},
			},
			placed:  [][]uint32{{0, 1, 2}},
			message: []string{""},
		},
		{
			name:  "no domain is large enough",
			nodes: racked(2, 1, 4),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 5}},
			group: engine.PodGroup{Entries: []int{0}, Keys: []string{rack, zone}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Unplaced: 5, First: 0,
				Message: "no domain of topology.example/rack, topology.kubernetes.io/zone takes the 5 pods required; topology.example/rack=rack-0-0 takes 4",
			},
			placed:  [][]uint32{nil},
			message: []string{failed},
		},
		{
			name:  "as few domains as can be, the largest first",
			nodes: append(racked(1, 2, 2), racked(2, 1, 3)[3:]...),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 5}},
			group: engine.PodGroup{Entries: []int{0}, Keys: []string{rack}, Preferred: true},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupComplete, Placed: 5, First: -1,
				Domains: []verdict.Domain{{Key: rack, Value: "rack-1-0"}, {Key: rack, Value: "rack-0-0"}},
			},
			placed:  [][]uint32{{4, 5, 6, 0, 1}},
			message: []string{""},
		},
		{
			name:  "pods that come after those of another domain",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{
				{Pod: job(3000).Affinity(zone, enginetest.Selects("app", "db")).Pod, Count: 1},
				{Pod: job(3000).Label("app", "db").Pod, Count: 1},
			},
			group: engine.PodGroup{Entries: []int{0, 1}, Keys: []string{rack}, Preferred: true},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupComplete, Placed: 2, First: -1,
				Domains: []verdict.Domain{{Key: rack, Value: "rack-0-0"}, {Key: rack, Value: "rack-0-1"}},
			},
			placed:  [][]uint32{{1}, {0}},
			message: []string{"", ""},
		},
		{
			name: "of domains that take as many the first, though another has more room",
			nodes: []*enginetest.Node{
				single("a", "rack-a", 4000, 0), single("b", "rack-a", 4000, 0),
				single("c", "rack-b", 4000, 1), single("d", "rack-b", 4000, 1),
			},
			queue: []engine.Pending{{Pod: job(1000).Pod, Count: 2}, {Pod: job(1).Request(gpu, int64(1)).Pod, Count: 1}},
			group: engine.PodGroup{Entries: []int{0, 1}, Keys: []string{rack}, Preferred: true},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupComplete, Placed: 3, First: -1,
				Domains: []verdict.Domain{{Key: rack, Value: "rack-a"}, {Key: rack, Value: "rack-b"}},
			},
			placed:  [][]uint32{{0, 1}, {2}},
			message: []string{"", ""},
		},
		{
			name: "the domain that takes most, though none takes as many as have room in another",
			nodes: []*enginetest.Node{
				single("a", "rack-a", 1250, 1), single("b", "rack-a", 1250, 1),
				single("c", "rack-b", 2000, 0), single("d", "rack-b", 2000, 0), single("e", "rack-b", 2000, 0),
			},
			// Rack a takes 2, and is 80 % full then: 100*2/3 + 80 points. Rack b takes 3, and is 50 % full: 100 + 50.
			queue: []engine.Pending{{Pod: job(1000).Pod, Count: 3}, {Pod: job(1).Request(gpu, int64(1), "memory", int64(1)).Pod, Count: 2}},
			group: engine.PodGroup{Entries: []int{0, 1}, Minimum: 2, Keys: []string{rack}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupBestEffort, Placed: 3, Unplaced: 2, First: 1, Domains: []verdict.Domain{{Key: rack, Value: "rack-b"}},
			},
			placed:  [][]uint32{{2, 3, 4}, nil},
			message: []string{"", "0/3 nodes are available: 3 Insufficient example.com/gpu, 3 Too many pods."},
		},
		{
			name:    "anywhere, as the key is on no node",
			nodes:   racked(1, 1, 4),
			queue:   []engine.Pending{{Pod: job(3000).Pod, Count: 2}},
			group:   engine.PodGroup{Entries: []int{0}, Keys: []string{"nowhere"}, Preferred: true},
			want:    verdict.PodGroupPlacement{Status: verdict.GroupComplete, Placed: 2, First: -1},
			placed:  [][]uint32{{0, 1}},
			message: []string{""},
		},
		{
			name:  "nowhere, as the key is on no node",
			nodes: racked(1, 1, 4),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 2}},
			group: engine.PodGroup{Entries: []int{0}, Keys: []string{"nowhere"}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Unplaced: 2, First: 0, Message: "no feasible placements found",
			},
			placed:  [][]uint32{nil},
			message: []string{"no feasible placements found"},
		},
		{
			name:  "with pods that run, in their domain",
			nodes: members(busy(racked(1, 3, 2), 4, 5), 2),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 2}},
			group: engine.PodGroup{Name: "default/job", Entries: []int{0}, Minimum: 2, Keys: []string{rack}},
			want: verdict.PodGroupPlacement{
				Name: "default/job", Status: verdict.GroupComplete, Placed: 2, First: -1, Domains: []verdict.Domain{{Key: rack, Value: "rack-0-1"}},
			},
			placed:  [][]uint32{{2, 3}},
			message: []string{""},
		},
		{
			name:  "with pods that run in two domains",
			nodes: members(racked(1, 3, 2), 2, 5),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 2}},
			group: engine.PodGroup{Name: "default/job", Entries: []int{0}, Keys: []string{rack}},
			want: verdict.PodGroupPlacement{
				Name: "default/job", Status: verdict.GroupInfeasible, Unplaced: 2, First: 0, Failed: true,
				Message: "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: rack-0-1, rack-0-2",
			},
			placed:  [][]uint32{nil},
			message: []string{"cannot determine domain for already scheduled pods: more than 1 domain found for pod group: rack-0-1, rack-0-2"},
		},
		{
			name:  "jointly, in the domain of the pods that run",
			nodes: members(racked(1, 3, 2), 5),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 2}},
			group: engine.PodGroup{Name: "default/job", Entries: []int{0}, Keys: []string{rack}, Joint: true},
			want: verdict.PodGroupPlacement{
				Name: "default/job", Status: verdict.GroupComplete, Placed: 2, First: -1, LocallyOptimal: true, Most: true,
				Domains: []verdict.Domain{{Key: rack, Value: "rack-0-2"}},
			},
			placed:  [][]uint32{{4, 5}},
			message: []string{""},
		},
		{
			name:  "jointly, what no order places",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{
				{Pod: job(1000).Affinity(rack, enginetest.Selects("app", "db")).Pod, Count: 1},
				{Pod: enginetest.MakePod("db").Label("app", "db").Affinity(rack, self).Pod, Count: 1},
			},
			group: engine.PodGroup{Entries: []int{0, 1}, Joint: true},
			want:  verdict.PodGroupPlacement{Status: verdict.GroupComplete, Placed: 2, First: -1, LocallyOptimal: true, Most: true},
			placed: [][]uint32{
				{0}, {0},
			},
			message: []string{"", ""},
		},
		{
			name:  "jointly, what cannot be",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{{Pod: job(1000).AntiAffinity(rack, self).Pod, Count: 3}},
			group: engine.PodGroup{Entries: []int{0}, Joint: true},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Unplaced: 3, First: 0, Minimal: true,
				Message: "no placement of the 3 pods required satisfies their rules together",
				Conflict: []verdict.PodRule{{
					Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, TopologyKey: rack,
				}},
			},
			placed:  [][]uint32{nil},
			message: []string{"pod group is unschedulable"},
		},
		{
			name:  "jointly, as many as can be",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{{Pod: job(1000).AntiAffinity(rack, self).Pod, Count: 3}},
			group: engine.PodGroup{Entries: []int{0}, Joint: true, Minimum: 1},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupBestEffort, Placed: 2, Unplaced: 1, First: 0, Minimal: true, LocallyOptimal: true, Most: true,
				Conflict: []verdict.PodRule{{
					Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, TopologyKey: rack,
				}},
			},
			placed:  [][]uint32{{0, 1}},
			message: []string{"no placement of more of the pod group's pods was found"},
		},
		{
			name:  "jointly, but the search ends",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{{Pod: job(1000).AntiAffinity(rack, self).Pod, Count: 3}},
			group: engine.PodGroup{Entries: []int{0}, Joint: true, Steps: 1},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupUndecided, Unplaced: 3, First: 0,
				Message: "no placement of the 3 pods required was found in 1 steps",
			},
			placed:  [][]uint32{nil},
			message: []string{"pod group is unschedulable"},
		},
		{
			name:  "jointly in one domain, but the search ends",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{{Pod: job(1000).Affinity(rack, self).AntiAffinity(rack, self).Pod, Count: 1}, {Pod: job(1000).Pod, Count: 2}},
			group: engine.PodGroup{Entries: []int{0, 1}, Joint: true, Steps: 1, Keys: []string{rack, zone}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupUndecided, Unplaced: 3, First: 0,
				Message: "no domain of topology.example/rack, topology.kubernetes.io/zone that takes the 3 pods required was found in 1 steps",
			},
			placed:  [][]uint32{nil, nil},
			message: []string{"pod group is unschedulable", "pod group is unschedulable"},
		},
		{
			name:  "jointly, what no rack can hold, and no zone for another reason",
			nodes: racked(1, 2, 1),
			queue: []engine.Pending{
				{Pod: job(1000).AntiAffinity(zone, enginetest.Selects("app", "db")).Pod, Count: 1},
				{Pod: job(1000).Label("app", "cache").AntiAffinity(rack, enginetest.Selects("app", "db")).Pod, Count: 1},
				{Pod: job(1000).Label("app", "db").Pod, Count: 1},
			},
			group: engine.PodGroup{Entries: []int{0, 1, 2}, Joint: true, Keys: []string{rack, zone}},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupInfeasible, Unplaced: 3, First: 1, Minimal: true,
				Message: "no domain of topology.example/rack, topology.kubernetes.io/zone takes the 3 pods required",
				Conflict: []verdict.PodRule{{
					Entry: 1, Plugin: verdict.InterPodAffinity, Rule: verdict.PodAntiAffinity, TopologyKey: rack,
				}},
			},
			placed:  [][]uint32{nil, nil, nil},
			message: []string{"pod group is unschedulable", "pod group is unschedulable", "pod group is unschedulable"},
		},
		{
			name:  "jointly in few domains",
			nodes: racked(1, 3, 1),
			queue: []engine.Pending{{Pod: job(3000).Pod, Count: 2}},
			group: engine.PodGroup{Entries: []int{0}, Joint: true, Keys: []string{rack}, Preferred: true},
			want: verdict.PodGroupPlacement{
				Status: verdict.GroupComplete, Placed: 2, First: -1, LocallyOptimal: true, Most: true,
				Domains: []verdict.Domain{{Key: rack, Value: "rack-0-0"}, {Key: rack, Value: "rack-0-1"}},
			},
			placed:  [][]uint32{{0, 1}},
			message: []string{""},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{test.group}}
			got, err := compile(t, test.nodes...).Place(context.Background(), test.queue, o)
			if err != nil {
				t.Fatal(err)
			}
			g := got.Groups[0]
			if (g.Steps > 0) != test.group.Joint || (g.Sum > 0) != (test.group.Joint && g.Placed > 0) {
				t.Errorf("%d steps, sum %d", g.Steps, g.Sum)
			}
			g.Steps, g.Sum = 0, 0
			if diff := cmp.Diff(test.want, g); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for i, r := range got.Placements {
				if !slices.Equal(r.Nodes, test.placed[i]) || r.Message != test.message[i] {
					t.Errorf("entry %d: %v %q, want %v %q", i, r.Nodes, r.Message, test.placed[i], test.message[i])
				}
			}
		})
	}
}

// TestGroupOfNoPodsInADomain places a group whose entries are of no pods.
func TestGroupOfNoPodsInADomain(t *testing.T) {
	c := compile(t, racked(2, 2, 1)...)
	for _, joint := range []bool{false, true} {
		o := engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{{Entries: []int{0}, Joint: joint, Keys: []string{rack}}}}
		got, err := c.Place(t.Context(), []engine.Pending{{Pod: job(1000).Pod}}, o)
		if err != nil {
			t.Fatal(err)
		}
		if g := got.Groups[0]; g.Status != verdict.GroupComplete || g.Placed+g.Unplaced > 0 {
			t.Errorf("joint: %v: %+v", joint, g)
		}
	}
}

// watched records the calls of a Watcher.
type watched struct {
	nodes  [][]uint32
	groups map[int]verdict.PodGroupPlacement
	done   []bool
}

func (w *watched) Evicted([]verdict.Eviction, int) error { return nil }

func (w *watched) Placed(entry int, node uint32) error {
	if w.done[entry] {
		return fmt.Errorf("entry %d is done", entry)
	}
	w.nodes[entry] = append(w.nodes[entry], node)
	return nil
}

func (w *watched) Entry(entry int, p *verdict.Placement) error {
	w.done[entry] = true
	if !slices.Equal(w.nodes[entry], p.Nodes) {
		return fmt.Errorf("entry %d: told of %v, then of %v", entry, w.nodes[entry], p.Nodes)
	}
	return nil
}

func (w *watched) Group(i int, g *verdict.PodGroupPlacement) error {
	w.groups[i] = *g
	return nil
}

// ending is a context whose deadline comes after a number of calls of Err.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestPartialPlace ends a call at every moment and expects the placements so far: a prefix of the whole without a
// divided group, and equal to what the watcher received.
func TestPartialPlace(t *testing.T) {
	queue := []engine.Pending{
		{Pod: job(1000).Pod, Count: 3}, {Pod: job(3000).Pod, Count: 2}, {Pod: job(3000).Pod, Count: 9}, {Pod: job(500).Pod, Count: 2},
		{Pod: job(200).Pod, Count: 2}, {Pod: job(5000).Pod, Count: 2}, {Pod: job(100).Label("app", "db").Pod, Count: 1},
		{Pod: job(100).Label("app", "db").AntiAffinity(zone, enginetest.Selects("app", "db")).Pod, Count: 1},
	}
	o := engine.PlaceOptions{Profile: api.Kube137(), Partial: true, Explain: true, Groups: []engine.PodGroup{
		{Name: "a", Entries: []int{1, 3}}, {Name: "b", Entries: []int{2}}, {Name: "c", Entries: []int{4}, Joint: true},
		{Name: "two keys that fail", Entries: []int{6, 7}, Joint: true, Keys: []string{rack, zone}, Preferred: true}, {Name: "empty"},
	}}
	c := compile(t, racked(2, 2, 1)...)
	whole, err := c.Place(context.Background(), queue, o)
	if err != nil || whole.Partial {
		t.Fatal(err, whole.Partial)
	}
	partly := 0
	for looks := 0; ; looks++ {
		w := &watched{nodes: make([][]uint32, len(queue)), groups: make(map[int]verdict.PodGroupPlacement), done: make([]bool, len(queue))}
		o.Watch = w
		got, err := c.Place(&ending{context.Background(), looks}, queue, o)
		if err != nil {
			t.Fatal(err)
		}
		unattempted := 0
		for i, r := range got.Placements {
			if n := len(r.Nodes); r.Unplaced+n != queue[i].Count || !slices.Equal(r.Nodes, whole.Placements[i].Nodes[:n]) || !slices.Equal(r.Nodes, w.nodes[i]) {
				t.Fatalf("after %d looks, entry %d: %+v, whole %+v, told %v", looks, i, r, whole.Placements[i], w.nodes[i])
			}
			if r.Unattempted == 0 != w.done[i] || (r.Unplaced > r.Unattempted) != (r.Message != "") {
				t.Fatalf("after %d looks, entry %d: %+v, told: %v", looks, i, r, w.done[i])
			}
			unattempted += r.Unattempted
		}
		for i, g := range got.Groups {
			if g.Name != o.Groups[i].Name {
				t.Fatalf("after %d looks, group %d is called %q", looks, i, g.Name)
			}
			told, ok := w.groups[i]
			if ok == (g.Status == verdict.GroupUnattempted) || ok && !cmp.Equal(told, g) {
				t.Fatalf("after %d looks, group %d: %+v, told %+v", looks, i, g, told)
			}
			for _, e := range o.Groups[i].Entries {
				if g.Status == verdict.GroupUnattempted && got.Placements[e].Unattempted != queue[e].Count {
					t.Fatalf("after %d looks, group %d is divided: %+v", looks, i, got.Placements[e])
				}
			}
		}
		if got.Partial != (unattempted > 0) && looks > 0 {
			t.Fatalf("after %d looks: partial: %v, %d unattempted", looks, got.Partial, unattempted)
		}
		if !got.Partial {
			break
		}
		partly++
	}
	if partly < 20 {
		t.Errorf("ended early only %d times", partly)
	}
	o.Partial, o.Watch = false, nil
	if _, err := c.Place(&ending{context.Background(), 3}, queue, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("not asked for, partly: %v", err)
	}
}

// TestDomainsLookAtDeadline expects that surveying domains ends with the context, for any number of domains.
func TestDomainsLookAtDeadline(t *testing.T) {
	c := compile(t, racked(1, 200, 1)...)
	for _, preferred := range []bool{false, true} {
		ctx := &ending{context.Background(), 1 << 20}
		o := engine.PlaceOptions{Profile: api.Kube137(), Groups: []engine.PodGroup{{Entries: []int{0}, Keys: []string{rack}, Preferred: preferred}}}
		if _, err := c.Place(ctx, []engine.Pending{{Pod: job(3000).Pod, Count: 2}}, o); err != nil {
			t.Fatal(err)
		}
		if looks := 1<<20 - ctx.left; looks < 200 {
			t.Errorf("preferred: %v: %d looks at 200 domains", preferred, looks)
		}
	}
}

// TestJointGroupAtItsDeadline ends a call at every moment of an endless search, and expects that pods with a valid
// placement are placed.
func TestJointGroupAtItsDeadline(t *testing.T) {
	c := compile(t, racked(3, 4, 2)...)
	apart := enginetest.Selects("app", "job")
	group := []engine.Pending{{Pod: job(500).AntiAffinity(zone, apart).Pod, Count: 5}}
	o := engine.PlaceOptions{Profile: api.Kube137(), Partial: true, Groups: []engine.PodGroup{{Entries: []int{0}, Minimum: 2, Joint: true}}}
	inTime := 0
	for looks := range 5000 {
		got, err := c.Place(&ending{context.Background(), looks}, group, o)
		if err != nil {
			t.Fatal(err)
		}
		switch g, nodes := got.Groups[0], got.Placements[0].Nodes; g.Status {
		case verdict.GroupUnattempted:
			if inTime > 0 || len(nodes) > 0 {
				t.Fatalf("after %d looks: %+v, %v", looks, g, nodes)
			}
		case verdict.GroupBestEffort:
			inTime++
			seen := make(map[uint32]bool)
			for _, n := range nodes {
				if seen[n/8] { // the zone
					t.Fatalf("after %d looks: %v are not right together", looks, nodes)
				}
				seen[n/8] = true
			}
			if len(nodes) < 2 || g.Placed != len(nodes) {
				t.Fatalf("after %d looks: %+v, %v", looks, g, nodes)
			}
			if !got.Partial && g.Sum > 0 {
				return
			}
		default:
			t.Fatalf("after %d looks: %+v", looks, g)
		}
	}
	t.Errorf("no end, %d times in time", inTime)
}
