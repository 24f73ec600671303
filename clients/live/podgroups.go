package live

import (
	"context"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
)

// groupKey identifies a PodGroup.
type groupKey struct{ namespace, name string }

// watchPodGroups applies the events of PodGroups to the model if the API server has scheduling.k8s.io/v1beta1.
func (c *Cluster) watchPodGroups(ctx context.Context) error {
	if !c.podGroups {
		return nil
	}
	served, err := c.serves(ctx, schedulingv1beta1.SchemeGroupVersion.String(), "PodGroups: pods that name one wait for it")
	if err != nil || !served {
		return err
	}
	return listen(c, c.informers.Scheduling().V1beta1().PodGroups().Informer(), (*model).podGroupSet, (*model).podGroupGone)
}

func (m *model) podGroupSet(g *schedulingv1beta1.PodGroup) {
	m.podGroups[groupKey{g.Namespace, g.Name}] = g
	m.changed = true // its pods are decided again
}

func (m *model) podGroupGone(g *schedulingv1beta1.PodGroup) {
	delete(m.podGroups, groupKey{g.Namespace, g.Name})
	m.changed = true
}

// PodGroup returns a PodGroup, nil if there is none. It is read with Options.PodGroups only.
func (c *Cluster) PodGroup(namespace, name string) *schedulingv1beta1.PodGroup {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.model.podGroups[groupKey{namespace, name}]
}
