package simulations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/simulate"
)

// The part of Cluster Autoscaler's ClusterSnapshot that its scale-up estimator and its scale-down simulator use, restated from
// cluster-autoscaler/simulator/clustersnapshot (cluster-autoscaler-release-1.37). A node of the snapshot is a node and its pods.
type (
	nodeInfo struct {
		node *corev1.Node
		pods []*corev1.Pod
	}
	schedulingOptions struct{ IsNodeAcceptable func(*nodeInfo) bool }
	schedulingError   struct {
		predicate string
		reasons   []string
	}
)

func (e *schedulingError) Error() string {
	return fmt.Sprintf("predicate %q: %s", e.predicate, strings.Join(e.reasons, ", "))
}

// autoscalerSnapshot is such a ClusterSnapshot.
type autoscalerSnapshot struct {
	ctx context.Context // the autoscaler's calls have none
	s   *simulate.Snapshot
	// nodes are objects that the caller looks at; the snapshot has the ones that count.
	nodes map[string]*corev1.Node
}

func (a *autoscalerSnapshot) Fork()         { a.s.Begin() }
func (a *autoscalerSnapshot) Commit() error { return a.s.Commit() }
func (a *autoscalerSnapshot) Revert()       { _ = a.s.Revert() } // without a Fork it does nothing

func (a *autoscalerSnapshot) AddNodeInfo(n *nodeInfo) error {
	a.nodes[n.node.Name] = n.node
	return a.s.AddNode(n.node, n.pods...)
}

func (a *autoscalerSnapshot) RemoveNodeInfo(name string) error { return a.s.RemoveNode(name) }

func (a *autoscalerSnapshot) GetNodeInfo(name string) (*nodeInfo, error) {
	if !a.s.HasNode(name) {
		return nil, fmt.Errorf("node %s not found", name)
	}
	return &nodeInfo{a.nodes[name], a.s.PodsOn(name)}, nil
}

func (a *autoscalerSnapshot) ForceAddPod(p *corev1.Pod, node string) error {
	return a.s.AddPods(on(node, p))
}

func (a *autoscalerSnapshot) UnschedulePod(namespace, name, node string) error {
	if a.s.NodeOf(namespace, name) != node {
		return fmt.Errorf("pod %s/%s is not on node %s", namespace, name, node)
	}
	_, err := a.s.Evict(types.NamespacedName{Namespace: namespace, Name: name})
	return err
}

func (a *autoscalerSnapshot) SchedulePod(p *corev1.Pod, node string) error {
	_, err := a.schedule(p, []string{node}, simulate.ScheduleOptions{})
	return err
}

func (a *autoscalerSnapshot) CheckPredicates(p *corev1.Pod, node string) error {
	_, err := a.schedule(p, []string{node}, simulate.ScheduleOptions{DryRun: true})
	return err
}

func (a *autoscalerSnapshot) SchedulePodOnAnyNodeMatching(p *corev1.Pod, o schedulingOptions) (string, error) {
	var names []string
	for _, name := range a.s.NodeNames() {
		if n, _ := a.GetNodeInfo(name); o.IsNodeAcceptable(n) {
			names = append(names, name)
		}
	}
	return a.schedule(p, names, simulate.ScheduleOptions{FirstFit: true})
}

func (a *autoscalerSnapshot) schedule(p *corev1.Pod, names []string, o simulate.ScheduleOptions) (string, error) {
	var err error
	if o.Nodes, err = a.s.Nodes(names...); err != nil {
		return "", err
	}
	results, err := a.s.Schedule(a.ctx, []*corev1.Pod{p}, o)
	if err != nil {
		return "", err
	}
	if why := results[0].Why; why != nil {
		if len(why.Rejections) == 1 {
			return "", &schedulingError{why.Rejections[0].Plugin, why.Rejections[0].Reasons}
		}
		return "", &schedulingError{"", []string{why.Message}}
	}
	return results[0].Node, nil
}

// fresh is a copy of a template with another name.
func (n *nodeInfo) fresh(number int) *nodeInfo {
	out := &nodeInfo{node: n.node.DeepCopy()}
	out.node.Name = fmt.Sprintf("%s-e-%d", n.node.Name, number)
	out.node.Labels[corev1.LabelHostname] = out.node.Name
	for _, p := range n.pods {
		p = p.DeepCopy()
		p.Name = fmt.Sprintf("%s-e-%d", p.Name, number)
		out.pods = append(out.pods, p)
	}
	return out
}

// perPod estimates with the calls of the interface alone, pod by pod, as BinpackingNodeEstimator does for one equivalence group
// (estimator/binpacking_estimator.go tryToScheduleOnExistingNodes and tryToScheduleOnNewNodes, without its special case for
// hostname spread).
func perPod(a *autoscalerSnapshot, template *nodeInfo, pods []*corev1.Pod, most int) (nodes int, placed []string) {
	a.Fork()
	defer a.Revert()
	added, used, last := map[string]bool{}, map[string]bool{}, ""
	count := func(p *corev1.Pod, on string) {
		used[on] = true
		placed = append(placed, p.Name)
	}
	for i, p := range pods {
		found, err := a.SchedulePodOnAnyNodeMatching(p, schedulingOptions{func(n *nodeInfo) bool { return added[n.node.Name] }})
		if err == nil {
			count(p, found)
			continue
		}
		if last != "" && !used[last] || len(added) == most {
			break
		}
		n := template.fresh(i)
		if last = n.node.Name; a.AddNodeInfo(n) != nil {
			break
		}
		added[last] = true
		if a.SchedulePod(p, last) != nil {
			break
		}
		count(p, last)
	}
	return len(used), placed
}

// byNode is the same estimate with a call for each node that is added: the pods up to the first one that needs another node go in
// one call.
func byNode(ctx context.Context, s *simulate.Snapshot, template *nodeInfo, pods []*corev1.Pod, most int) (
	nodes int, placed []string, err error,
) {
	s = s.Fork()
	var added []string
	used := map[string]bool{}
	for len(pods) > 0 {
		o := simulate.ScheduleOptions{FirstFit: true, Stop: true}
		if o.Nodes, err = s.Nodes(added...); err != nil {
			return 0, nil, err
		}
		results, err := s.Schedule(ctx, pods, o)
		if err != nil {
			return 0, nil, err
		}
		progress := 0
		for _, r := range results {
			if r.Node != "" {
				progress++
				used[r.Node] = true
				placed = append(placed, r.Pod.Name)
			}
		}
		if pods = pods[progress:]; len(pods) == 0 || len(added) > 0 && !used[added[len(added)-1]] || len(added) == most {
			break
		}
		n := template.fresh(len(placed))
		if err := s.AddNode(n.node, n.pods...); err != nil {
			return 0, nil, err
		}
		added = append(added, n.node.Name)
	}
	return len(used), placed, nil
}

func autoscalerPods(app string, count int, change func(*corev1.Pod) *corev1.Pod) (out []*corev1.Pod) {
	for i := range count {
		out = append(out, change(pod(fmt.Sprintf("%s-%d", app, i), app, "600m")))
	}
	return out
}

func TestClusterAutoscaler(t *testing.T) {
	plain := func(p *corev1.Pod) *corev1.Pod { return p }
	full := []*corev1.Node{node("old-a", "z1", "1"), node("old-b", "z2", "1")}
	running := []*corev1.Pod{on("old-a", pod("r-0", "apart", "1")), on("old-b", pod("r-1", "spread", "1"))}
	known := map[string]*corev1.Node{"old-a": full[0], "old-b": full[1]}
	a := &autoscalerSnapshot{t.Context(), snapshot(t, dial(t), full, running), known}
	template := &nodeInfo{node("template", "z3", "2"), []*corev1.Pod{pod("daemon", "daemon", "200m")}}
	for _, c := range []struct {
		what  string
		pods  []*corev1.Pod
		most  int
		nodes int
		fit   int
	}{
		{"three a node", autoscalerPods("plain", 10, plain), 99, 4, 10},
		{"limited", autoscalerPods("plain", 10, plain), 2, 2, 6},
		{"apart", autoscalerPods("apart", 5, apart), 99, 5, 5},
		// One zone has a pod, one has none, and a new one comes: then the zone without keeps the new one at one pod.
		{"spread", autoscalerPods("spread", 5, spread), 99, 1, 1},
		{"too large", []*corev1.Pod{pod("large", "x", "9")}, 99, 0, 0},
	} {
		nodes, placed := perPod(a, template, c.pods, c.most)
		if nodes != c.nodes || len(placed) != c.fit {
			t.Errorf("%s: %d nodes for %d pods, want %d for %d", c.what, nodes, len(placed), c.nodes, c.fit)
		}
		again, same, err := byNode(t.Context(), a.s, template, c.pods, c.most)
		must(t, err)
		if again != nodes || !slices.Equal(same, placed) {
			t.Errorf("%s: %d nodes for %v by node, %d for %v by pod", c.what, again, same, nodes, placed)
		}
	}
	diff(t, []string{"old-a", "old-b"}, a.s.NodeNames())

	// Scale-down: can the pods of a node go elsewhere?
	must(t, a.AddNodeInfo(template.fresh(0)))
	a.Fork()
	n, err := a.GetNodeInfo("old-a")
	must(t, err)
	must(t, a.RemoveNodeInfo("old-a"))
	moved := on("", n.pods[0]) // as the autoscaler clears it
	found, err := a.SchedulePodOnAnyNodeMatching(moved, schedulingOptions{func(n *nodeInfo) bool { return n.node.Name != "old-a" }})
	must(t, err)
	diff(t, "template-e-0", found)
	must(t, a.UnschedulePod("shop", "r-0", "template-e-0"))
	must(t, a.ForceAddPod(moved, "old-b"))
	err = a.CheckPredicates(pod("p", "x", "1"), "old-b")
	diff(t, `predicate "NodeResourcesFit": Insufficient cpu`, err.Error())
	a.Revert()
	diff(t, "old-a", a.s.NodeOf("shop", "r-0"))
}
