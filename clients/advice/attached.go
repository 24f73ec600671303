package advice

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// detached is advice to delete a pod of a node at its attach limit, whose volumes are detached then. Without that, as in preemption, the
// VolumeAttachments of the pod count as long as they exist.
func (q *Question) detached(ctx context.Context) ([]Advice, error) {
	if slices.ContainsFunc(q.Offered, func(c *stowagev1.Change) bool { return c.GetVictims() != nil }) {
		return nil, nil
	}
	var trials []trial
	shortages := q.Explanation.GetAttachShortages()
	for _, s := range shortages[:min(len(shortages), maximumMoves)] {
		node := q.Snapshot.Cluster.Nodes[s.GetNodeIndex()]
		pods := q.attaching(int(s.GetNodeIndex()), s)
		for _, p := range pods[:min(len(pods), maximumMoves)] {
			if len(trials) < maximumTrials {
				trials = append(trials, q.detaching(node, p))
			}
		}
	}
	all, err := q.try(ctx, trials)
	return all[:min(len(all), 1)], err
}

// attachingPod is a pod that leaves, and the attached volumes that no other pod of its node uses.
type attachingPod struct {
	kube.OnNode
	volumes []string
}

// attaching are the pods of a node that free enough attachments of a driver, the lowest priority first.
func (q *Question) attaching(node int, s *stowagev1.AttachShortage) []attachingPod {
	n := q.Snapshot.Cluster.Nodes[node]
	users, own := map[string]int{}, map[string][]string{}
	for _, p := range n.GetPods() {
		for _, v := range q.attachedVolumes(n, p, s.GetCsiDriver()) {
			users[v]++
			own[q.podKey(p)] = append(own[q.podKey(p)], v)
		}
	}
	var out []attachingPod
	for p := range q.Snapshot.OnNodes() {
		if p.Node != node || p.Pod.DeletionTimestamp != nil {
			continue
		}
		volumes := slices.DeleteFunc(own[p.Object.Namespace+"/"+p.Object.Name], func(v string) bool { return users[v] > 1 })
		if int64(len(volumes)) >= s.GetAttached()+s.GetAdded()-s.GetLimit() && len(volumes) > 0 {
			out = append(out, attachingPod{p, volumes})
		}
	}
	slices.SortStableFunc(out, func(a, b attachingPod) int { return cmp.Compare(priority(a.Pod), priority(b.Pod)) })
	return out
}

// podKey identifies a pod of the cluster.
func (q *Question) podKey(p *stowagev1.Pod) string {
	return cmp.Or(compact.Template(q.Snapshot.Cluster, p).GetNamespace(), corev1.NamespaceDefault) + "/" + p.GetName()
}

// attachedVolumes are the volumes of a driver that a pod uses and that are attached to its node.
func (q *Question) attachedVolumes(n *stowagev1.Node, p *stowagev1.Pod, driver string) []string {
	var out []string
	for _, claim := range compact.Claims(q.Snapshot.Cluster, p) {
		name := q.stored().claims[claim.GetNamespace()+"/"+claim.GetName()].GetVolumeName()
		if slices.Contains(n.GetAttachedVolumes(), name) && !slices.Contains(out, name) && q.stored().volumes[name].GetCsiDriver() == driver {
			out = append(out, name)
		}
	}
	return out
}

// detaching is the trial without a pod and its attachments.
func (q *Question) detaching(n *stowagev1.Node, p attachingPod) trial {
	without := compact.Shallow(n)
	without.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(o *stowagev1.Pod) bool { return q.podKey(o) == p.Object.Namespace+"/"+p.Object.Name })
	without.AttachedVolumes = slices.DeleteFunc(slices.Clone(n.AttachedVolumes), func(v string) bool { return slices.Contains(p.volumes, v) })
	return trial{
		Advice: Advice{
			Kind: DetachedVolume, Pod: p.Object,
			Text: fmt.Sprintf("%s/%s gone from %s and %s %s detached", p.Object.Namespace, p.Object.Name, n.GetName(),
				words.Noun("volume", len(p.volumes)), words.Names(p.volumes)),
			Fix: remedy.Deleted(p.Object.Namespace, p.Object.Name),
		},
		delta: &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{without}},
	}
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}
