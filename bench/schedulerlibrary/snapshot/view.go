package snapshot

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage-scheduler/stowage/clients/simulate"
)

// view is kube-scheduler's snapshot, in which readers expect the pods of each node.
type view struct {
	snapshot *cache.Snapshot
	seen     map[string]seen // by node
	changed  map[string]bool // nodes that were written
}

// seen is what a node had when it was read.
type seen struct {
	generation int64
	node       *corev1.Node
	pods       []*corev1.Pod
}

func newView(s *cache.Snapshot) view {
	return view{snapshot: s, seen: map[string]seen{}, changed: map[string]bool{}}
}

// see notes what a node has.
func (v *view) see(info fwk.NodeInfo) {
	v.seen[info.Node().Name] = seen{info.GetGeneration(), info.Node(), podsOf(info)}
}

func podsOf(info fwk.NodeInfo) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(info.GetPods()))
	for _, p := range info.GetPods() {
		out = append(out, p.GetPod())
	}
	return out
}

// written returns the nodes that were written.
func (v *view) written() []string { return slices.Collect(maps.Keys(v.changed)) }

// write writes the pods of nodes.
func (v *view) write(s *simulate.Snapshot, nodes ...string) error {
	for _, node := range nodes {
		v.changed[node] = true
		info, err := v.snapshot.NodeInfos().Get(node)
		if err != nil {
			return err
		}
		missing := map[types.UID]*corev1.Pod{}
		for _, p := range s.PodsOn(node) {
			missing[p.UID] = p
		}
		var gone []*corev1.Pod
		for _, p := range info.GetPods() {
			if uid := p.GetPod().UID; missing[uid] == nil {
				gone = append(gone, p.GetPod())
			} else {
				delete(missing, uid)
			}
		}
		for _, p := range gone {
			if err := info.RemovePod(klog.Background(), p); err != nil {
				return err
			}
		}
		for _, p := range missing {
			p = p.DeepCopy()
			p.Spec.NodeName = node
			pod, err := framework.NewPodInfo(p)
			if err != nil {
				return err
			}
			info.AddPodInfo(pod)
		}
	}
	return nil
}
