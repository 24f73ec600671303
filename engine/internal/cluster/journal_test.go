package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// journaled is a state under test, and the cluster that it should be equal to.
type journaled struct {
	state   *cluster.State
	stated  *api.Cluster
	pending []*cluster.Pending
	placed  int
	marks   []marked
}

// marked is what the state was at a mark.
type marked struct {
	cluster.Mark
	nodes     []api.Node
	members   []topology.Members
	resources amounts
}

// TestJournal assumes and evicts pods at random, and undoes it. After each step the state must equal one of a cluster that
// is compiled with the same pods on its nodes, and in the end the shared cluster must be what it was.
func TestJournal(t *testing.T) {
	evicted := make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "cluster"), 0))
		stated, pods := enginetest.RandomShared(rng)
		c := compileOrFail(t, stated)
		shared := cluster.NewState(t.Context(), c)
		members, resources := membersOf(shared), amountsOf(shared)
		j := &journaled{state: cluster.NewState(t.Context(), c), stated: stated}
		for i := range pods {
			j.pending = append(j.pending, j.state.Compile(&pods[i]))
		}
		t.Repeat(map[string]func(*rapid.T){
			"":       j.check,
			"assume": j.assume,
			"evict":  func(t *rapid.T) { evicted[j.evict(t)]++ },
			"mark":   func(*rapid.T) { j.mark() },
			"undo":   j.undo,
		})
		j.state.Undo(cluster.Mark{})
		if j.state.Changed() {
			t.Error("the state is changed after everything is undone")
		}
		if diff := cmp.Diff(members, membersOf(shared)) + cmp.Diff(resources, amountsOf(shared), compareAmounts); diff != "" {
			t.Errorf("the shared cluster changed (-before +after):\n%s", diff)
		}
	})
	if !testing.Short() && evicted["counted"]*evicted["named"]*evicted["assumed"] == 0 {
		t.Errorf("evicted %v: the cases no longer exercise all kinds", evicted)
	}
}

func compileOrFail(t rapid.TB, stated *api.Cluster) *cluster.Cluster {
	c, err := cluster.Compile(context.Background(), stated)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// membersOf returns a copy of where the pods of groups are.
func membersOf(s *cluster.State) []topology.Members {
	var out []topology.Members
	for _, g := range s.Groups() {
		out = append(out, topology.Members{
			Nodes: slices.Clone(g.Nodes), Counts: slices.Clone(g.Counts), Assumed: append([]uint32{}, g.Assumed...),
		})
	}
	return out
}

// amountsOf returns a copy of the resources of the nodes.
func amountsOf(s *cluster.State) (out amounts) {
	for n := range uint32(s.Len()) {
		for lane := range cluster.Lanes {
			out.lanes = append(out.lanes, s.Resources.At(n, cluster.Allocatable(lane)), s.Resources.At(n, cluster.Requested(lane)))
		}
		for lane := range cluster.DefaultedLanes {
			out.lanes = append(out.lanes, s.Resources.At(n, cluster.Defaulted(lane)))
		}
	}
	out.scalars = scalarsOf(s)
	return out
}

// amounts is the resources of nodes.
type amounts struct {
	lanes   []int64 // node by node
	scalars map[string]cluster.Amount
}

var compareAmounts = cmp.AllowUnexported(amounts{})

const gpu = "example.com/gpu" // of enginetest's nodes and pods

func (j *journaled) assume(t *rapid.T) {
	p := rapid.SampledFrom(j.pending).Draw(t, "pod")
	node := rapid.IntRange(0, len(j.stated.Nodes)-1).Draw(t, "node")
	if _, has := j.state.Resources.Scalars[gpu].Find(uint32(node)); !has && p.Uses(gpu) > 0 {
		return // no pod is placed on a node that lacks what it asks for
	}
	j.placed++
	pod := *p.Pod
	pod.Name = fmt.Sprint("assumed-", j.placed)
	n := &j.stated.Nodes[node]
	n.Pods = append(slices.Clone(n.Pods), pod)
	j.state.Assume(p, pod.Name, uint32(node), 0)
}

// evict takes away some pods of a node, and returns of what kind they are.
func (j *journaled) evict(t *rapid.T) string {
	node := rapid.Uint32Range(0, uint32(len(j.stated.Nodes)-1)).Draw(t, "node")
	occupants := j.state.Occupants(node)
	if len(occupants) == 0 {
		return ""
	}
	o := rapid.SampledFrom(occupants).Draw(t, "occupant")
	o.Count = rapid.IntRange(1, o.Count).Draw(t, "pods")
	g := j.state.Group(o.Group)
	n := &j.stated.Nodes[node]
	j.state.Evict(node, &o)
	if o.Name != "" {
		n.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(p api.Pod) bool { return p.Name == o.Name })
		if o.Queue >= 0 {
			return "assumed"
		}
		return "named"
	}
	n.PodCounts = slices.Clone(n.PodCounts)
	left := int32(o.Count)
	for i := range n.PodCounts {
		if p := &n.PodCounts[i]; p.Template == g.Template && p.Terminating == g.Terminating {
			gone := min(left, p.Count)
			p.Count, left = p.Count-gone, left-gone
		}
	}
	n.PodCounts = slices.DeleteFunc(n.PodCounts, func(p api.PodCount) bool { return p.Count == 0 })
	return "counted"
}

func (j *journaled) mark() {
	s := j.state
	j.marks = append(j.marks, marked{s.Mark(), slices.Clone(j.stated.Nodes), membersOf(s), amountsOf(s)})
}

func (j *journaled) undo(t *rapid.T) {
	if len(j.marks) == 0 {
		return
	}
	at := rapid.IntRange(0, len(j.marks)-1).Draw(t, "mark")
	to := j.marks[at]
	j.marks = j.marks[:at]
	j.state.Undo(to.Mark)
	j.stated.Nodes = to.nodes
	now := membersOf(j.state)
	if diff := cmp.Diff(to.members, now[:len(to.members)]); diff != "" {
		t.Fatalf("undone, members differ (-before +after):\n%s", diff)
	}
	for _, added := range now[len(to.members):] {
		if added.Len() > 0 {
			t.Fatalf("undone, a group that was added has members: %v", added)
		}
	}
	if diff := cmp.Diff(to.resources, amountsOf(j.state), compareAmounts); diff != "" {
		t.Fatalf("undone, resources differ (-before +after):\n%s", diff)
	}
}

// check compares the state with a newly compiled cluster.
func (j *journaled) check(t *rapid.T) {
	fresh := cluster.NewState(t.Context(), compileOrFail(t, j.stated))
	p := rapid.SampledFrom(j.pending).Draw(t, "by")
	if want, got := view(fresh, fresh.Compile(p.Pod)), view(j.state, p); !slices.Equal(want, got) {
		t.Fatalf("-compiled +state:\n%s", cmp.Diff(want, got))
	}
	if diff := cmp.Diff(amountsOf(fresh), amountsOf(j.state), compareAmounts); diff != "" {
		t.Fatalf("resources (-compiled +state):\n%s", diff)
	}
}

// scalarsOf returns what nodes have and use of resources that only some have.
func scalarsOf(s *cluster.State) map[string]cluster.Amount {
	out := make(map[string]cluster.Amount)
	for resource, column := range s.Resources.Scalars {
		for i, n := range column.Nodes {
			if amount := column.Values[i]; amount != (cluster.Amount{}) {
				out[fmt.Sprint(resource, " on ", n)] = amount
			}
		}
	}
	return out
}

// view describes everything that a pod to be placed can see of a state, whatever the ids and the order of groups.
func view(s *cluster.State, p *cluster.Pending) []string {
	seen := make(map[string]int)
	on := func(what string, group int) {
		for n, count := range s.Group(group).All() {
			seen[fmt.Sprint(what, " on ", n)] += count
		}
	}
	for i, g := range s.Groups() {
		on(fmt.Sprint("pods ", s.Symbols.Name(g.Namespace), g.Terminating, g.HostPorts, labelsText(s, g.Shape)), i)
	}
	for t := range s.AntiAffinity(p) {
		on("anti-affinity "+t.Text(s), int(t.Group))
	}
	for t := range s.Wishes(p) {
		on(fmt.Sprint("preferred ", t.Required, t.Weight, t.Text(s)), int(t.Group))
	}
	for group := range s.WithPorts() {
		on("ports", group)
	}
	for _, t := range slices.Concat(p.Affinity, p.AntiAffinity) {
		column := s.Column(t.TopologyKey)
		for d, count := range s.Counts(&t) {
			seen[fmt.Sprint("counts ", t.Text(s), " in ", s.Symbols.Name(column.Values[d]), d == topology.None)] += int(count)
		}
		seen[fmt.Sprint("occupied ", t.Text(s), s.Occupied(&t).Indexes())]++
	}
	for n := range uint32(s.Len()) {
		for _, o := range s.Occupants(n) {
			seen[fmt.Sprint("occupant of ", n, o.Name, o.Priority, o.Uses("cpu"), o.Uses("memory"), labelsText(s, s.Group(o.Group).Shape))] += o.Count
		}
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		if count := seen[what]; count != 0 {
			out = append(out, fmt.Sprint(count, " ", what))
		}
	}
	return out
}

func labelsText(s *cluster.State, shape *cluster.Shape) string {
	var labels []string
	for _, l := range shape.Labels {
		labels = append(labels, fmt.Sprint(s.Symbols.Name(l.Key), "=", s.Symbols.Name(l.Value)))
	}
	slices.Sort(labels)
	return fmt.Sprint(labels)
}

// TestEvictedAssumedPods evicts assumed pods in an order in which their places in the group's list change.
func TestEvictedAssumedPods(t *testing.T) {
	c := compileOrFail(t, enginetest.Cluster(enginetest.MakeNode("a"), enginetest.MakeNode("b"), enginetest.MakeNode("c")))
	s := cluster.NewState(t.Context(), c)
	p := s.Compile(&enginetest.MakePod("p").Pod)
	for queue, node := range []uint32{0, 1, 2, 1} {
		s.Assume(p, "", node, queue)
	}
	mark := s.Mark()
	for _, node := range []uint32{0, 1, 2} {
		s.Evict(node, &s.Occupants(node)[0])
	}
	if got := s.Occupants(1); len(got) != 1 || got[0].Queue != 3 {
		t.Errorf("on b remain %v, want the pod of entry 3", got)
	}
	s.Assume(p, "", 2, 4)
	if got := s.ConflictingPods(2, s.Expect(p), 9); len(got) != 1 || got[0].Queue != 4 {
		t.Errorf("on c are %v, want the pod of entry 4", got)
	}
	s.Undo(mark)
	if got, want := s.Group(s.Expect(p)).Assumed, []uint32{0, 1, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("undone, pods are on %v, want %v", got, want)
	}
}

// BenchmarkEvict evicts the pods of one node after another from a cluster whose nodes have 30 pods each of as many
// groups, and undoes it, as preemption does. The time must not depend on the number of nodes.
func BenchmarkEvict(b *testing.B) {
	for _, nodes := range []int{1000, 10000} {
		b.Run(fmt.Sprint("nodes=", nodes), func(b *testing.B) {
			stated := &api.Cluster{Nodes: make([]api.Node, nodes)}
			for i := range 30 {
				p := enginetest.MakePod("").Label("app", fmt.Sprint(i)).Request("cpu", 100, "memory", 1<<20)
				stated.Templates = append(stated.Templates, p.Template)
			}
			for i := range stated.Nodes {
				stated.Nodes[i] = enginetest.MakeNode(fmt.Sprint("node-", i)).Node
				for template := range stated.Templates {
					stated.Nodes[i].PodCounts = append(stated.Nodes[i].PodCounts, api.PodCount{Template: template, Count: 1})
				}
			}
			s := cluster.NewState(b.Context(), compileOrFail(b, stated))
			s.OwnResources()
			node := uint32(0)
			for b.Loop() {
				mark := s.Mark()
				occupants := s.Occupants(node)
				for i := range occupants {
					s.Evict(node, &occupants[i])
				}
				s.Undo(mark)
				node = (node + 1) % uint32(nodes)
			}
		})
	}
}
