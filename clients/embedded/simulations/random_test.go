package simulations_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

// world is what a snapshot should have, as plain objects.
type world struct {
	nodes []*corev1.Node
	pods  map[string]*corev1.Pod // on nodes
	// nominated are pending pods that keep room on a node, until they are placed or the node is gone.
	nominated map[string]*corev1.Pod
}

func (w world) copy() world {
	return world{slices.Clone(w.nodes), maps.Clone(w.pods), maps.Clone(w.nominated)}
}

// put puts a pod on its node.
func (w world) put(p *corev1.Pod) {
	w.pods[p.Name] = p
	delete(w.nominated, p.Name)
}

// place asks about the whole world at once, with nothing but its objects.
func (w world) place(t *testing.T, client *stowage.Client, queue []*corev1.Pod) (nodes, messages []string) {
	t.Helper()
	b := kube.NewBuilder(kube.Options{GivenOrder: true})
	for _, n := range w.nodes {
		must(t, b.AddNode(n))
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		must(t, b.AddPod(w.pods[name]))
	}
	waiting := 0
	for _, name := range slices.Sorted(maps.Keys(w.nominated)) {
		if !slices.ContainsFunc(queue, func(p *corev1.Pod) bool { return p.Name == name }) {
			must(t, b.AddPod(w.nominated[name]))
			waiting++
		}
	}
	for _, p := range queue {
		must(t, b.AddPod(p))
	}
	cluster, err := b.Build()
	must(t, err)
	request := cluster.PlaceRequest()
	request.Queue = request.Queue[waiting:]
	answer, err := client.Place(t.Context(), request)
	must(t, err)
	for _, p := range answer.Placements {
		nodes, messages = append(nodes, append(p.Nodes.Names, "")[0]), append(messages, p.Message)
	}
	return nodes, messages
}

// drawn is a random pod.
func drawn(r *rand.Rand, name string) *corev1.Pod {
	p := pod(name, "app-"+strconv.Itoa(r.IntN(3)), strconv.Itoa(100+100*r.IntN(12))+"m")
	switch r.IntN(5) {
	case 0:
		apart(p)
	case 1:
		spread(p)
	case 2:
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(8000 + r.IntN(2))}}
	}
	return p
}

// walk does random things to a snapshot and to the world, and compares every decision.
type walk struct {
	t      *testing.T
	r      *rand.Rand
	client *stowage.Client
	s      *simulate.Snapshot
	now    world
	marks  []world
	number int
	id     int
	gone   []string // names of nodes to use again
	kept   []kept
	// pending are all pods that were nominated at first.
	pending []*corev1.Pod
}

// kept is pods that were evicted, perhaps in a transaction that was reverted since.
type kept struct {
	evicted *simulate.Evicted
	pods    []*corev1.Pod
}

func (w *walk) step() {
	switch d := w.r.IntN(24); {
	case d > 20:
		w.restore()
	case d == 20:
		must(w.t, w.s.Settle())
	case d < 9:
		w.schedule()
	case d < 11:
		w.evict()
	case d < 12:
		w.addNode()
	case d < 13:
		w.removeNode()
	case d < 15:
		w.s.Begin()
		w.marks = append(w.marks, w.now.copy())
	case d < 17 && len(w.marks) > 0:
		must(w.t, w.s.Commit())
		w.marks = w.marks[:len(w.marks)-1]
	case d < 18 && len(w.marks) > 0:
		must(w.t, w.s.Revert())
		w.now, w.marks = w.marks[len(w.marks)-1], w.marks[:len(w.marks)-1]
	case d < 19:
		fork := w.s.Fork()
		_, err := fork.Schedule(w.t.Context(), []*corev1.Pod{drawn(w.r, "of-a-fork")}, simulate.ScheduleOptions{})
		must(w.t, err)
	default:
		w.force()
	}
	if got := w.s.NodeNames(); len(got) != len(w.now.nodes) {
		w.t.Fatalf("%d nodes, want %d", len(got), len(w.now.nodes))
	}
}

func (w *walk) name() string {
	w.number++
	return fmt.Sprintf("pod-%d-%d", w.id, w.number)
}

func (w *walk) schedule() {
	var queue []*corev1.Pod
	for range 1 + w.r.IntN(6) {
		p := drawn(w.r, w.name())
		queue = append(queue, p)
		for range w.r.IntN(3) {
			same := p.DeepCopy()
			same.Name = w.name()
			queue = append(queue, same)
		}
	}
	if names := slices.Sorted(maps.Keys(w.now.nominated)); len(names) > 0 && w.r.IntN(4) == 0 {
		queue = append(queue, w.now.nominated[names[w.r.IntN(len(names))]])
	}
	o := simulate.ScheduleOptions{DryRun: w.r.IntN(4) == 0, Stop: w.r.IntN(4) == 0}
	want, messages := w.now.place(w.t, w.client, queue)
	got, err := w.s.Schedule(w.t.Context(), queue, o)
	must(w.t, err)
	for i, r := range got {
		message := ""
		if r.Why != nil {
			message = r.Why.Message
		}
		if r.Pod != queue[i] || r.Node != want[i] || message != messages[i] {
			w.t.Fatalf("pod %d of %d is on %q (%s), want %q (%s)", i, len(queue), r.Node, message, want[i], messages[i])
		}
	}
	expected := len(queue)
	if unplaced := slices.Index(want, ""); o.Stop && unplaced >= 0 {
		expected = unplaced + 1
	}
	if len(got) != expected {
		w.t.Fatalf("%d results for nodes %q with %+v", len(got), want, o)
	}
	for _, r := range got {
		if r.Node != "" && !o.DryRun {
			w.now.put(on(r.Node, r.Pod))
		}
	}
}

func (w *walk) evict() {
	names := slices.Sorted(maps.Keys(w.now.pods))
	if len(names) == 0 {
		return
	}
	var out []types.NamespacedName
	w.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if w.r.IntN(2) == 0 {
		// The pods that came last.
		slices.SortFunc(names, func(a, b string) int {
			if len(a) != len(b) {
				return len(b) - len(a)
			}
			return strings.Compare(b, a)
		})
	}
	for _, name := range names[:1+w.r.IntN(min(4, len(names)))] {
		out = append(out, types.NamespacedName{Namespace: "shop", Name: name})
	}
	e, err := w.s.Evict(out...)
	must(w.t, err)
	if w.r.IntN(2) == 0 {
		must(w.t, w.s.Restore(e))
		return
	}
	k := kept{evicted: e}
	for _, p := range out {
		k.pods = append(k.pods, w.now.pods[p.Name])
		delete(w.now.pods, p.Name)
	}
	w.kept = append(w.kept, k)
}

// restore restores pods that were evicted in some state before, reverted or not.
func (w *walk) restore() {
	if len(w.kept) == 0 {
		return
	}
	last := w.kept[max(0, len(w.kept)-4):]
	k := last[w.r.IntN(len(last))]
	can := true
	for _, p := range k.pods {
		can = can && w.s.HasNode(p.Spec.NodeName) && w.s.NodeOf("shop", p.Name) == ""
	}
	if err := w.s.Restore(k.evicted); can != (err == nil) {
		w.t.Fatalf("restored %t, want %t: %v", err == nil, can, err)
	}
	if can {
		for _, p := range k.pods {
			w.now.put(p)
		}
	}
}

func (w *walk) addNode() {
	name := fmt.Sprintf("node-%d", w.number)
	w.number++
	if len(w.gone) > 0 && w.r.IntN(2) == 0 {
		name = w.gone[w.r.IntN(len(w.gone))]
	}
	if w.s.HasNode(name) {
		return
	}
	n := node(name, "z"+strconv.Itoa(w.r.IntN(3)), "4")
	var pods []*corev1.Pod
	for range w.r.IntN(3) {
		pods = append(pods, pod(w.name(), "daemon", "100m"))
	}
	must(w.t, w.s.AddNode(n, pods...))
	w.now.nodes = append(w.now.nodes, n)
	for _, p := range pods {
		w.now.put(on(name, p))
	}
}

func (w *walk) removeNode() {
	if len(w.now.nodes) < 2 {
		return
	}
	at := w.r.IntN(len(w.now.nodes))
	name := w.now.nodes[at].Name
	must(w.t, w.s.RemoveNode(name))
	w.gone = append(w.gone, name)
	w.now.nodes = slices.Delete(slices.Clone(w.now.nodes), at, at+1)
	maps.DeleteFunc(w.now.pods, func(_ string, p *corev1.Pod) bool { return p.Spec.NodeName == name })
	maps.DeleteFunc(w.now.nominated, func(_ string, p *corev1.Pod) bool { return p.Status.NominatedNodeName == name })
}

func (w *walk) force() {
	p := drawn(w.r, w.name())
	if k := w.r.IntN(1 + 2*len(w.pending)); k < len(w.pending) && w.now.pods[w.pending[k].Name] == nil {
		p = w.pending[k]
	}
	p = on(w.now.nodes[w.r.IntN(len(w.now.nodes))].Name, p)
	must(w.t, w.s.AddPods(p))
	w.now.put(p)
}

// Every decision of a snapshot with a history equals the decision about the same objects without one.
func TestEqualsTheWholeCluster(t *testing.T) {
	client := dial(t)
	walks, steps := 8, 250
	if testing.Short() {
		walks, steps = 3, 40
	}
	for id := range walks {
		r := rand.New(rand.NewPCG(uint64(id), 1))
		now := world{pods: map[string]*corev1.Pod{}, nominated: map[string]*corev1.Pod{}}
		var running []*corev1.Pod
		for i := range 6 {
			now.nodes = append(now.nodes, node(fmt.Sprintf("base-%d", i), "z"+strconv.Itoa(i%3), "4"))
		}
		for i := range 10 {
			p := on(now.nodes[r.IntN(6)].Name, drawn(r, fmt.Sprintf("first-%d", i)))
			running = append(running, p)
			now.pods[p.Name] = p
		}
		var pending []*corev1.Pod
		for i := range 8 * (id % 2) { // without, equal pods share an entry
			p := pod(fmt.Sprintf("nominated-%d", i), "app-0", "1")
			p.Status.NominatedNodeName = now.nodes[r.IntN(6)].Name
			pending = append(pending, p)
			now.nominated[p.Name] = p
		}
		w := &walk{
			t: t, r: r, client: client, s: snapshot(t, client, slices.Clone(now.nodes), slices.Concat(running, pending)), now: now,
			id: id, pending: pending,
		}
		for range steps {
			w.step()
		}
		for _, n := range w.now.nodes {
			var got, want []string
			for _, p := range w.s.PodsOn(n.Name) {
				got = append(got, p.Name)
			}
			for name, p := range w.now.pods {
				if p.Spec.NodeName == n.Name {
					want = append(want, name)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("pods of %s: %s", n.Name, d)
			}
		}
	}
}
