package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	library "sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"
)

// TestLiveAgree changes live states at random, takes snapshots of both, and takes the steps of TestAgree in them. They are reverted.
func TestLiveAgree(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newBoth(t, seed)
			theirs, err := libraryState(t.Context(), b.o)
			b.must(err)
			ours, err := stowageState(t.Context(), b.o)
			b.must(err)
			b.running = map[string]*corev1.Pod{}
			for _, p := range b.o.pods {
				b.running[p.Name] = p
			}
			for range 12 {
				for range b.r.IntN(4) {
					b.change(theirs, ours)
				}
				b.library, err = theirs.snapshot()
				b.must(err)
				b.ours, err = ours.snapshot()
				b.must(err)
				b.must(b.library.everywhere(b.o))
				b.must(b.ours.everywhere(b.o))
				b.transaction(library.Revert) // the library's next snapshot has what was not reverted
			}
		})
	}
}

// change changes a pod or a node of both states.
func (b *both) change(theirs, ours *live) {
	names := slices.Sorted(maps.Keys(b.running))
	var p *corev1.Pod
	if len(names) > 0 {
		p = b.running[names[b.r.IntN(len(names))]]
	}
	i := b.r.IntN(len(b.o.nodes))
	logger := klog.Background()
	switch n := b.r.IntN(6); {
	case n == 0: // a pod is bound
		p = b.pod()
		p.Spec.NodeName = b.o.nodes[i].Name
		b.running[p.Name] = p
		b.must(theirs.AddPod(logger, p))
		b.must(ours.AddPod(logger, p))
	case n == 1 && p != nil: // a pod ends
		delete(b.running, p.Name)
		b.must(theirs.RemovePod(logger, p))
		b.must(ours.RemovePod(logger, p))
	case n == 2 && p != nil: // a pod is changed
		after := p.DeepCopy()
		after.Labels["app"] = b.pod().Labels["app"]
		b.running[p.Name] = after
		b.must(theirs.UpdatePod(logger, p, after))
		b.must(ours.UpdatePod(logger, p, after))
	case n == 3: // a node is changed
		before := b.o.nodes[i]
		after := before.DeepCopy()
		after.Spec.Unschedulable = !after.Spec.Unschedulable
		b.o.nodes[i] = after
		theirs.UpdateNode(logger, before, after)
		ours.UpdateNode(logger, before, after)
	case n == 4: // a node comes
		after := node(100 + b.created)
		b.created++
		b.o.nodes = append(b.o.nodes, after)
		theirs.AddNode(logger, after)
		ours.AddNode(logger, after)
	case n == 5 && len(b.o.nodes) > 1: // a node goes with its pods
		gone := b.o.nodes[i]
		b.o.nodes = slices.Delete(b.o.nodes, i, i+1)
		for _, name := range names {
			if p := b.running[name]; p.Spec.NodeName == gone.Name {
				delete(b.running, name)
				b.must(theirs.RemovePod(logger, p))
				b.must(ours.RemovePod(logger, p))
			}
		}
		b.must(theirs.RemoveNode(logger, gone))
		b.must(ours.RemoveNode(logger, gone))
	}
}
