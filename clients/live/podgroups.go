package live

import (
	"context"
	"maps"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// watchPodGroups applies the events of PodGroups to the model if the API server serves scheduling.k8s.io/v1beta1.
func (c *Cluster) watchPodGroups(ctx context.Context) error {
	if !c.podGroups {
		return nil
	}
	served, err := c.serves(ctx, schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups"),
		"PodGroups: pods that name one wait for it")
	if err != nil || !served {
		return err
	}
	return listen(c, c.informers.SchedulingV1beta1().PodGroups().Informer(), (*model).podGroupSet, (*model).podGroupGone)
}

func (m *model) podGroupSet(g *schedulingv1beta1.PodGroup) {
	key := keyOf(g)
	before := m.podGroups[key]
	m.podGroups[key] = g
	m.changed = m.changed || before == nil || !sameGroup(before, g) // retries the group's pods
	m.setGroup(g.Namespace+"/"+g.Name, g)
}

// setGroup adds a group to the snapshot. Of a group that does not convert, it adds the fields that preemption reads.
func (m *model) setGroup(name string, g *schedulingv1beta1.PodGroup) {
	converted, err := convert.PodGroup(g)
	if err != nil {
		converted = convert.RunningPodGroup(g)
	}
	m.changed = m.groups.apply(m, name, converted, nil) || m.changed
}

// sameGroup reports whether two states of a PodGroup lead to the same decisions. It cannot compare generations, which the API
// server does not count for PodGroups (pkg/registry/scheduling/podgroup/strategy.go, v1.37), and each attempt writes the status.
func sameGroup(a, b *schedulingv1beta1.PodGroup) bool {
	return a.UID == b.UID && apiequality.Semantic.DeepEqual(a.Spec, b.Spec) && maps.Equal(a.Annotations, b.Annotations)
}

func (m *model) podGroupGone(g *schedulingv1beta1.PodGroup) {
	delete(m.podGroups, keyOf(g))
	m.groups.apply(m, g.Namespace+"/"+g.Name, nil, nil)
	m.changed = true
}

// PodGroup returns a PodGroup, nil if there is none or without Options.PodGroups.
func (c *Cluster) PodGroup(namespace, name string) *schedulingv1beta1.PodGroup {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.model.podGroups[objectKey{Namespace: namespace, Name: name}]
}
