package place

import (
	"slices"

	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
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
func (a *Answer) turnover() (out turnover) {
	for _, r := range a.Rollouts {
		of := a.Snapshot.Rollout(kube.Origin(r.Object))
		if of == nil {
			continue
		}
		for i := range r.Steps {
			a.take(&out, of, &r.Steps[i])
		}
	}
	return out
}

// take adds what a step does.
func (a *Answer) take(out *turnover, of *change.Rollout, s *whatif.Step) {
	revision := of.New
	if s.OldRevision {
		revision = of.Old
	}
	for _, name := range s.Placed {
		if pod, err := a.Snapshot.PendingPod(revision); err == nil {
			out.added = append(out.added, addition{a.index(name), of.Name, pod, 1})
		}
	}
	for _, l := range s.Left {
		if l.Node == "" {
			continue
		}
		at := a.index(l.Node)
		there := slices.ContainsFunc(a.Snapshot.Cluster.Nodes[at].GetPods(), func(pod *stowagev1.Pod) bool {
			return pod.GetName() == l.Name && compact.Template(a.Snapshot.Cluster, pod).GetNamespace() == of.Namespace
		})
		if there {
			out.gone = append(out.gone, &stowagev1.PodReference{Namespace: of.Namespace, Name: l.Name, NodeIndex: new(at), Count: 1})
		} else if pod, err := a.Snapshot.PendingPod(of.Old); err == nil {
			out.added = append(out.added, addition{at, of.Name, pod, -1})
		}
	}
}

// index returns the index of a node of the cluster.
func (a *Answer) index(name string) uint32 {
	return uint32(max(0, slices.IndexFunc(a.Snapshot.Cluster.GetNodes(), func(n *stowagev1.Node) bool { return n.GetName() == name })))
}

// addTo adds the pods of a turnover to the names of new pods, by node name.
func (t *turnover) addTo(names map[string][]string, nodes []*stowagev1.Node) {
	for _, add := range t.added {
		node := nodes[add.node].GetName()
		if add.n > 0 {
			names[node] = append(names[node], add.name)
		} else if i := slices.Index(names[node], add.name); i >= 0 {
			names[node] = slices.Delete(names[node], i, i+1)
		}
	}
}

// Fill returns how full the nodes are before and after the answer.
func (a *Answer) Fill() (before, after *fill.Nodes, err error) {
	if before, err = fill.Of(a.Snapshot.Cluster); err != nil {
		return nil, nil, err
	}
	after = before.Clone()
	for i, placement := range a.Response.GetPlacements() {
		pod := a.Snapshot.Entry(i).Pods.GetPod()
		for _, node := range placement.GetNodes().GetIndexes() {
			after.Add(node, pod, 1)
		}
	}
	for _, c := range a.Response.GetClaimDevices() {
		after.Take(c.GetDevices())
	}
	for _, e := range a.Response.GetEvictions() {
		for _, v := range e.GetVictims() {
			after.Move(v, nil)
		}
	}
	turnover := a.turnover()
	for _, add := range turnover.added {
		after.Add(add.node, add.pod, add.n)
	}
	for _, gone := range turnover.gone {
		after.Move(gone, nil)
	}
	return before, after, nil
}

// Moved returns the names of new pods by node, and the pods that leave their nodes.
func (a *Answer) Moved() (added map[string][]string, gone []*stowagev1.PodReference) {
	added = map[string][]string{}
	for _, g := range a.Grouped(a.Response, nil) {
		for _, node := range g.Nodes {
			added[node] = append(added[node], g.Origin.Name)
		}
	}
	turnover := a.turnover()
	turnover.addTo(added, a.Snapshot.Cluster.GetNodes())
	for _, e := range a.Response.GetEvictions() {
		gone = append(gone, e.GetVictims()...)
	}
	return added, append(gone, turnover.gone...)
}
