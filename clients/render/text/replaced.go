package text

import (
	"slices"

	"github.com/stowage-scheduler/stowage/clients/compact"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// turnover is the pods that rollouts put on nodes and take off them.
type turnover struct {
	added []addition
	gone  []*stowagev1.PodReference
}

// addition is a number of pods of a workload that come to a node. It is negative for pods of the queue that leave again.
type addition struct {
	node uint32
	name string
	pod  *stowagev1.Pod
	n    int
}

// turnover returns what the rollouts do, as far as they go.
func (p *Place) turnover() (out turnover) {
	for _, r := range p.Rollouts {
		of := p.Snapshot.Rollout(kube.Origin(r.Object))
		if of == nil {
			continue
		}
		for i := range r.Steps {
			p.take(&out, of, &r.Steps[i])
		}
	}
	return out
}

// take adds what a step does.
func (p *Place) take(out *turnover, of *kube.Rollout, s *whatif.Step) {
	revision := of.New
	if s.OldRevision {
		revision = of.Old
	}
	for _, name := range s.Placed {
		if pod, err := p.Snapshot.PendingPod(revision); err == nil {
			out.added = append(out.added, addition{p.index(name), of.Name, pod, 1})
		}
	}
	for _, l := range s.Left {
		if l.Node == "" {
			continue
		}
		at := p.index(l.Node)
		there := slices.ContainsFunc(p.Snapshot.Cluster.Nodes[at].GetPods(), func(pod *stowagev1.Pod) bool {
			return pod.GetName() == l.Name && compact.Template(p.Snapshot.Cluster, pod).GetNamespace() == of.Namespace
		})
		if there {
			out.gone = append(out.gone, &stowagev1.PodReference{Namespace: of.Namespace, Name: l.Name, NodeIndex: new(at), Count: 1})
		} else if pod, err := p.Snapshot.PendingPod(of.Old); err == nil {
			out.added = append(out.added, addition{at, of.Name, pod, -1})
		}
	}
}

// index returns the index of a node of the cluster.
func (p *Place) index(name string) uint32 {
	return uint32(max(0, slices.IndexFunc(p.Snapshot.Cluster.GetNodes(), func(n *stowagev1.Node) bool { return n.GetName() == name })))
}

// addTo adds the pods of a turnover to the names of new pods, by node name.
func (t *turnover) addTo(names map[string][]string, nodes []*stowagev1.Node) {
	for _, a := range t.added {
		node := nodes[a.node].GetName()
		if a.n > 0 {
			names[node] = append(names[node], a.name)
		} else if i := slices.Index(names[node], a.name); i >= 0 {
			names[node] = slices.Delete(names[node], i, i+1)
		}
	}
}
