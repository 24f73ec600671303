package live

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// difference adds the changes of a node to a delta, and reports whether there are any. The node may be nil.
func (n *node) difference(name string, before *was, d *stowagev1.ClusterDelta) bool {
	switch {
	case n == nil || n.message == nil:
		if before.message == nil {
			return false
		}
		d.RemovedNodes = append(d.RemovedNodes, name)
		return true
	case !same(n.now(), before.message):
		d.Nodes = append(d.Nodes, n.full())
		return true
	}
	moved := &stowagev1.NodePodsDelta{NodeName: name}
	for _, key := range sortedCounts(before.counts) {
		if was, is := before.counts[key], n.counts[key]; is < was {
			moved.RemovedPodCounts = append(moved.RemovedPodCounts, podCount(key, was-is))
		}
	}
	for _, key := range sortedCounts(n.counts) {
		if was, is := before.counts[key], n.counts[key]; is > was {
			moved.PodCounts = append(moved.PodCounts, podCount(key, is-was))
		}
	}
	if !maps.EqualFunc(before.named, n.named, same) || !maps.EqualFunc(before.nominated, n.nominated, same) {
		// A name identifies a pod only while it is unique. A terminating pod and its successor share one.
		d.Nodes = append(d.Nodes, n.full())
		return true
	}
	if len(moved.RemovedPodCounts)+len(moved.PodCounts) == 0 {
		return false
	}
	d.NodePods = append(d.NodePods, moved)
	return true
}

// without returns a delta that also removes pods from their nodes. It skips unknown pods.
func (m *model) without(b *base, pods []types.UID) *stowagev1.ClusterDelta {
	byNode := map[string][]types.UID{}
	for _, uid := range slices.Compact(slices.Sorted(slices.Values(pods))) {
		if p := m.pods[uid]; p != nil && m.nodes[p.node].message != nil {
			byNode[p.node] = append(byNode[p.node], uid)
		}
	}
	d := m.delta(b)
	if len(byNode) == 0 {
		return d
	}
	if d == nil {
		d = &stowagev1.ClusterDelta{}
	}
	listed := func(name string) bool { return byNode[name] != nil }
	d.NodePods = slices.DeleteFunc(d.NodePods, func(n *stowagev1.NodePodsDelta) bool { return listed(n.NodeName) })
	for _, name := range slices.Sorted(maps.Keys(byNode)) {
		n := m.nodes[name]
		left := &node{
			message: n.message, counts: maps.Clone(n.counts), named: maps.Clone(n.named), nominated: n.nominated,
			unclear: maps.Clone(n.unclear),
		}
		for _, uid := range byNode[name] {
			p := m.pods[uid]
			delete(left.unclear, uid)
			if p.named != nil {
				delete(left.named, uid)
			} else if left.counts[p.counted]--; left.counts[p.counted] == 0 {
				delete(left.counts, p.counted)
			}
		}
		// New nodes are indexed in the order in which the delta lists them.
		if at := slices.IndexFunc(d.Nodes, func(n *stowagev1.Node) bool { return n.Name == name }); at >= 0 {
			d.Nodes[at] = left.full()
		} else {
			d.Nodes = append(d.Nodes, left.full())
		}
	}
	return d
}
