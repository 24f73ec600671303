package rollout

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// decision decides a rollout in a cluster.
type decision func(*simulate.Snapshot, *change.Rollout) (*whatif.Rollout, error)

// judge finds new pods whose node would reject them after the rollout: old pods counted for their rules at placement, and are gone now.
// As in an audit, it removes each pod from its node and tries to place it there again.
func (r *run) judge() error {
	ended := r.s.Fork()
	seen := map[string]bool{}
	for _, p := range r.fresh {
		node := p.Spec.NodeName
		if seen[node] {
			continue
		}
		seen[node] = true
		off, err := ended.Evict(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
		if err != nil {
			return err
		}
		again := p.DeepCopy()
		again.Spec.NodeName, again.Status = "", corev1.PodStatus{}
		found, err := ended.Feasible(r.ctx, again, nil)
		if err != nil {
			return err
		}
		if err := ended.Restore(off); err != nil {
			return err
		}
		if why := found.Why.Rejection(node); why != nil {
			r.out.Broken = append(r.out.Broken, whatif.Broken{Node: node, Pods: r.freshOn(node), Message: strings.Join(why.Reasons, ", ")})
		}
	}
	return nil
}

// freshOn counts the new pods on a node.
func (r *run) freshOn(node string) (n int) {
	for _, p := range r.fresh {
		if p.Spec.NodeName == node {
			n++
		}
	}
	return n
}

// ownRevision tries the rollout of a Deployment whose spread constraints count the pods of the new revision alone.
func (r *run) ownRevision(before *simulate.Snapshot, again decision) error {
	const key = appsv1.DefaultDeploymentUniqueLabelKey
	other := *r.Rollout
	other.New = r.New.DeepCopy()
	changed := false
	for i := range other.New.Spec.TopologySpreadConstraints {
		k := &other.New.Spec.TopologySpreadConstraints[i]
		if k.WhenUnsatisfiable == corev1.DoNotSchedule && k.LabelSelector != nil && !slices.Contains(k.MatchLabelKeys, key) {
			k.MatchLabelKeys, changed = append(k.MatchLabelKeys, key), true
		}
	}
	if !changed || other.New.Labels[key] == "" {
		return nil
	}
	goes, err := again(before, &other)
	if err != nil {
		return err
	}
	if goes.Complete && len(goes.Broken) == 0 {
		r.out.MatchLabelKey = key
	}
	return nil
}
