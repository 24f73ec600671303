package snapshot

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage-scheduler/stowage/clients/simulate"
)

// Release writes the pods that New or Next read back to kube-scheduler's snapshot. Of s, only Next may be called afterwards.
func (s *ClusterSnapshot) Release() error {
	if s.first == nil { // it could not be read
		return nil
	}
	s.err = errors.New("the snapshot was released")
	err := s.view.write(s.first, s.view.written()...)
	for _, name := range s.view.written() {
		info, gone := s.view.snapshot.NodeInfos().Get(name)
		if err = errors.Join(err, gone); gone == nil {
			s.view.see(info)
		}
	}
	return err
}

// settled is how many changes of a snapshot every request repeats, before the server gets them as a part of a cluster.
const settled = 16

// Next returns the snapshot after an update of kube-scheduler's snapshot. It reads the nodes that changed since s, which was released.
// What differs from the cluster of New stays in memory.
func (s *ClusterSnapshot) Next() *ClusterSnapshot {
	if s.first == nil { // s could not be read
		return New(s.view.snapshot, s.frameworks)
	}
	out := &ClusterSnapshot{view: newView(s.view.snapshot), frameworks: s.frameworks, names: s.names}
	first, err := s.update(&out.view)
	if err != nil {
		out.err = err
		return out
	}
	out.first = first
	out.start()
	return out
}

// update returns the nodes and pods that kube-scheduler's snapshot has now. Pods leave nodes before others come, as a pod may have moved.
func (s *ClusterSnapshot) update(now *view) (*simulate.Snapshot, error) {
	infos, err := now.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	out := s.first.Fork()
	var changed []fwk.NodeInfo
	for _, info := range infos {
		now.see(info)
		if name := info.Node().Name; s.view.seen[name].generation != info.GetGeneration() {
			changed = append(changed, info)
		}
	}
	for name, was := range s.view.seen {
		if is := now.seen[name]; is.node == nil || is.node != was.node {
			if err := out.RemoveNode(name); err != nil {
				return nil, err
			}
		}
	}
	for _, info := range changed {
		name := info.Node().Name
		if was := s.view.seen[name]; was.node == info.Node() {
			gone := missing(was.pods, now.seen[name].pods)
			names := make([]types.NamespacedName, len(gone))
			for i, p := range gone {
				names[i] = types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
			}
			if _, err := out.Evict(names...); err != nil {
				return nil, err
			}
		}
	}
	for _, info := range changed {
		was, pods := s.view.seen[info.Node().Name], now.seen[info.Node().Name].pods
		if was.node == info.Node() {
			err = out.AddPods(missing(pods, was.pods)...)
		} else {
			err = out.AddNode(info.Node(), pods...)
		}
		if err != nil {
			return nil, err
		}
	}
	if out.Changes() > settled {
		err = out.Settle()
	}
	return out, err
}

// missing returns the pods of one list that are not in another.
func missing(of, in []*corev1.Pod) (out []*corev1.Pod) {
	known := make(map[*corev1.Pod]bool, len(in))
	for _, p := range in {
		known[p] = true
	}
	for _, p := range of {
		if !known[p] {
			out = append(out, p)
		}
	}
	return out
}
