package simulate

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// delta returns the difference between a state and its anchor, nil for none.
func (b *base) delta(s *state) *stowagev1.ClusterDelta {
	if s.journal == nil {
		return nil
	}
	changes := make([]*change, 0, s.changes)
	for c := s.journal; c != nil; c = c.before {
		changes = append(changes, c)
	}
	d, was, seen := &stowagev1.ClusterDelta{}, &s.anchor.was, map[change]bool{}
	pods, came := map[string]*stowagev1.NodePodsDelta{}, 0
	for _, c := range slices.Backward(changes) {
		if c.template != nil {
			d.PodTemplates = append(d.PodTemplates, c.template)
			continue
		}
		what := *c
		what.before = nil
		if seen[what] {
			continue
		}
		seen[what] = true
		if c.claim+c.volume != "" {
			s.bound(c, d)
			continue
		}
		there, here := b.node(was, c.node), b.node(s, c.node)
		switch {
		case c.pod == "" && c.nominated == "":
			if here && !there {
				came++
			}
			if there && !here {
				d.RemovedNodes = append(d.RemovedNodes, c.node)
			}
		case there && here:
			to := pods[c.node]
			if to == nil {
				to = &stowagev1.NodePodsDelta{NodeName: c.node}
			}
			if c.nominated != "" {
				to.RemovedNominatedPods = append(to.RemovedNominatedPods, namespacedName(c.nominated))
			} else if !b.differ(was, s, c, to) {
				continue
			}
			if pods[c.node] == nil {
				pods[c.node] = to
				d.NodePods = append(d.NodePods, to)
			}
		}
	}
	// Nodes are added at the end, in the order of the changes.
	for _, name := range s.order.names[len(s.order.names)-came:] {
		d.Nodes = append(d.Nodes, b.full(s, name))
	}
	if len(d.PodTemplates)+len(d.RemovedNodes)+len(d.NodePods)+len(d.Nodes)+len(d.PersistentVolumeClaims)+len(d.PersistentVolumes) == 0 {
		return nil
	}
	return d
}

// bound adds a claim or a volume that was bound to a delta.
func (s *state) bound(c *change, d *stowagev1.ClusterDelta) {
	if claim, ok := s.claims.get(c.claim); ok {
		d.PersistentVolumeClaims = append(d.PersistentVolumeClaims, claim)
	}
	if volume, ok := s.volumes.get(c.volume); ok {
		d.PersistentVolumes = append(d.PersistentVolumes, volume)
	}
}

// differ adds the difference of one pod on a node to a delta, and reports whether there is any.
func (b *base) differ(was, now *state, c *change, to *stowagev1.NodePodsDelta) bool {
	before, after := b.at(was, c.node, c.pod), b.at(now, c.node, c.pod)
	if before == after {
		return false
	}
	if before != nil {
		to.RemovedPods = append(to.RemovedPods, namespacedName(c.pod))
	}
	if after != nil {
		to.Pods = append(to.Pods, after.pod)
	}
	return true
}

// full returns an added node with its pods.
func (b *base) full(s *state, name string) *stowagev1.Node {
	bare, _ := s.nodes.get(name)
	out := compact.Shallow(bare)
	out.PodCounts, out.Pods, out.NominatedPods, out.ClassIndex = nil, nil, nil, nil
	for _, p := range b.podsOn(s, name) {
		out.Pods = append(out.Pods, p.pod)
	}
	return out
}

func namespacedName(key string) *stowagev1.NamespacedName {
	namespace, name, _ := strings.Cut(key, "/")
	return &stowagev1.NamespacedName{Namespace: namespace, Name: name}
}
