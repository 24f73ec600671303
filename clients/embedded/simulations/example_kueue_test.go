package simulations_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// What Kueue asks of a simulator, restated from sigs.k8s.io/kueue (pkg/cache/scheduler/simulator, main of August 2026). In Kueue,
// the file imports that package instead of these types.
type (
	schedulingSimulator interface {
		Snapshot(ctx context.Context, nodes []*corev1.Node) (simulatorSnapshot, error)
		TrackPod(pod *corev1.Pod)
		UntrackPod(key types.NamespacedName)
	}
	simulatorSnapshot interface {
		FindFeasibleNodes(ctx context.Context, candidates iter.Seq[candidate], requirements *podRequirements,
			stats *nodeExclusionStats) ([]matchedCandidate, error)
	}
	candidate interface {
		GetID() string
		GetNode() *corev1.Node
	}
	matchedCandidate interface {
		candidate
		GetAffinityScore() int64
		SetAffinityScore(int64)
	}
	podRequirements    struct{ PodTemplate *corev1.PodTemplateSpec }
	nodeExclusionStats struct {
		Taints                                                    map[string]int
		NodeSelector, Affinity, TotalNodes, SchedulerLibraryNoFit int
	}
)

// kueueSimulator is a SchedulingSimulator. The pods of one snapshot and the next differ little, so that a snapshot is a fork of
// the last one with these differences.
type kueueSimulator struct {
	client  *stowage.Client
	profile *stowagev1.Profile

	mutex   sync.Mutex
	pods    map[types.NamespacedName]*corev1.Pod
	changed map[types.NamespacedName]bool // since last
	nodes   []*corev1.Node                // of last
	last    *simulate.Snapshot
}

func newKueueSimulator(client *stowage.Client) *kueueSimulator {
	return &kueueSimulator{
		client: client, pods: map[types.NamespacedName]*corev1.Pod{}, changed: map[types.NamespacedName]bool{},
		// Kueue counts the resources of nodes itself. Everything else is decided here.
		profile: &stowagev1.Profile{DisabledFilters: []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT}},
	}
}

func (k *kueueSimulator) TrackPod(p *corev1.Pod) {
	k.set(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, p)
}

func (k *kueueSimulator) UntrackPod(key types.NamespacedName) { k.set(key, nil) }

func (k *kueueSimulator) set(key types.NamespacedName, p *corev1.Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.changed[key] = true
	if delete(k.pods, key); p != nil {
		k.pods[key] = p
	}
}

func (k *kueueSimulator) Snapshot(ctx context.Context, nodes []*corev1.Node) (simulatorSnapshot, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var err error
	if k.last != nil && slices.Equal(k.nodes, nodes) { // informers have one object for each version of a node
		err = k.last.Transaction(func() error {
			for key := range k.changed {
				if k.last.NodeOf(key.Namespace, key.Name) != "" {
					if _, err := k.last.Evict(key); err != nil {
						return err
					}
				}
				if p := k.pods[key]; p != nil && k.last.HasNode(p.Spec.NodeName) {
					if err := k.last.AddPods(p); err != nil {
						return err
					}
				}
			}
			return nil
		})
	} else {
		cluster, failed := simulate.Objects(nodes, slices.Collect(maps.Values(k.pods)))
		if failed != nil {
			return nil, failed
		}
		k.last, err = simulate.New(ctx, k.client, cluster, simulate.Options{Profile: k.profile})
		k.nodes = slices.Clone(nodes)
	}
	if err != nil {
		k.last = nil
		return nil, err
	}
	clear(k.changed)
	return kueueSnapshot{k.last.Fork()}, nil
}

type kueueSnapshot struct{ *simulate.Snapshot }

func (k kueueSnapshot) FindFeasibleNodes(ctx context.Context, candidates iter.Seq[candidate], requirements *podRequirements,
	stats *nodeExclusionStats,
) ([]matchedCandidate, error) {
	leaves, names := map[string]matchedCandidate{}, []string{}
	for c := range candidates {
		name := c.GetNode().Name
		leaves[name], names = c.(matchedCandidate), append(names, name)
	}
	nodes, err := k.Nodes(names...)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{ObjectMeta: requirements.PodTemplate.ObjectMeta, Spec: requirements.PodTemplate.Spec}
	found, err := k.Fork().Feasible(ctx, pod, nodes) // a fork: callers may ask concurrently
	if err != nil {
		return nil, err
	}
	var out []matchedCandidate
	for _, name := range found.Nodes {
		out = append(out, leaves[name])
	}
	stats.TotalNodes += len(names)
	// Each node is in one rejection: Kueue's own counters, which its events show, come for free.
	for _, r := range found.Why.Rejections {
		switch r.Plugin {
		case "TaintToleration":
			if stats.Taints == nil {
				stats.Taints = map[string]int{}
			}
			stats.Taints[r.Reasons[0]] += len(r.Nodes)
		case "NodeAffinity":
			stats.Affinity += len(r.Nodes)
		default:
			stats.SchedulerLibraryNoFit += len(r.Nodes)
		}
	}
	return out, nil
}

type kueueLeaf struct {
	node  *corev1.Node
	score int64
}

func (l *kueueLeaf) GetID() string            { return l.node.Name }
func (l *kueueLeaf) GetNode() *corev1.Node    { return l.node }
func (l *kueueLeaf) GetAffinityScore() int64  { return l.score }
func (l *kueueLeaf) SetAffinityScore(s int64) { l.score = s }

// What a cycle of Kueue's topology-aware scheduling asks: a snapshot, and the feasible leaves for the pods of a workload.
func TestKueue(t *testing.T) {
	var simulator schedulingSimulator = newKueueSimulator(dial(t))
	nodes := []*corev1.Node{node("a", "z1", "1"), node("b", "z1", "1"), node("c", "z2", "1"), node("d", "z2", "1")}
	nodes[3].Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	ask := func(p *corev1.Pod, of ...int) (names []string, stats nodeExclusionStats) {
		t.Helper()
		snapshot, err := simulator.Snapshot(t.Context(), nodes)
		must(t, err)
		found, err := snapshot.FindFeasibleNodes(t.Context(), func(yield func(candidate) bool) {
			for _, i := range of {
				if !yield(&kueueLeaf{node: nodes[i]}) {
					return
				}
			}
		}, &podRequirements{PodTemplate: &corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}}, &stats)
		must(t, err)
		for _, c := range found {
			names = append(names, c.GetNode().Name)
		}
		return names, stats
	}
	port := pod("", "web", "9")
	port.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	names, stats := ask(port, 0, 1, 3)
	diff(t, []string{"a", "b"}, names)
	diff(t, nodeExclusionStats{Taints: map[string]int{"node(s) had untolerated taint(s)": 1}, TotalNodes: 3}, stats)
	held := port.DeepCopy()
	held.Name = "held"
	simulator.TrackPod(on("b", held))
	names, stats = ask(port, 0, 1, 2)
	diff(t, []string{"a", "c"}, names)
	diff(t, nodeExclusionStats{TotalNodes: 3, SchedulerLibraryNoFit: 1}, stats)
	// Affinity between pods, which Kueue's own plugins do not ask about.
	names, _ = ask(apart(pod("", "web", "9")), 0, 1, 2)
	diff(t, []string{"a", "c"}, names)
	simulator.TrackPod(on("a", held)) // it moves
	names, _ = ask(port, 0, 1, 2)
	diff(t, []string{"b", "c"}, names)
	simulator.UntrackPod(shop("held"))
	simulator.UntrackPod(shop("never"))
	names, _ = ask(port, 0, 1, 2)
	diff(t, []string{"a", "b", "c"}, names)
	nodes[0] = nodes[0].DeepCopy()
	nodes[0].Spec.Unschedulable = true
	names, _ = ask(port, 0, 1, 2)
	diff(t, []string{"b", "c"}, names)
}
