package live

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// unendedPods selects pods that have not ended.
var unendedPods = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
).String()

// watch applies the informers' events to the model.
func (c *Cluster) watch() error {
	// The informer leaves out ended pods, as kube-scheduler's does (pkg/scheduler/scheduler.go newPodInformer, v1.37), because
	// Jobs leave many behind.
	pods := c.informers.InformerFor(&corev1.Pod{}, func(api kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewFilteredPodInformer(api, metav1.NamespaceAll, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			func(o *metav1.ListOptions) { o.FieldSelector = unendedPods })
	})
	core, apps := c.informers.CoreV1(), c.informers.AppsV1()
	for _, err := range []error{
		listen(c, pods, (*model).podSet, (*model).podGone),
		listen(c, core.Nodes().Informer(), (*model).nodeSet, func(m *model, n *corev1.Node) { m.nodeGone(n.Name) }),
		listen(c, core.Namespaces().Informer(), (*model).namespaceSet, (*model).namespaceGone),
		listenSelector(c, core.Services().Informer(), stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE,
			func(s *corev1.Service) (*stowagev1.WorkloadSelector, error) { return convert.ServiceSelector(s), nil }),
		listenSelector(c, core.ReplicationControllers().Informer(), stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER,
			func(rc *corev1.ReplicationController) (*stowagev1.WorkloadSelector, error) {
				return convert.ReplicationControllerSelector(rc), nil
			}),
		listenSelector[*appsv1.ReplicaSet](c, apps.ReplicaSets().Informer(), stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET, convert.ReplicaSetSelector),
		listenSelector[*appsv1.StatefulSet](c, apps.StatefulSets().Informer(), stowagev1.WorkloadKind_WORKLOAD_KIND_STATEFUL_SET, convert.StatefulSetSelector),
		listen(c, c.informers.PolicyV1().PodDisruptionBudgets().Informer(), (*model).budgetSet, (*model).budgetGone),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// listen applies the events of one informer to the model.
func listen[O metav1.Object](c *Cluster, informer cache.SharedIndexInformer, set, gone func(*model, O)) error {
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { c.update(func(m *model) { set(m, o.(O)) }) },
		UpdateFunc: func(before, o any) {
			c.update(func(m *model) {
				// After a broken watch, a deleted and recreated object arrives as an update.
				if before := before.(O); before.GetUID() != o.(O).GetUID() {
					gone(m, before)
				}
				set(m, o.(O))
			})
		},
		DeleteFunc: func(o any) {
			if unseen, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unseen.Obj
			}
			if o, ok := o.(O); ok {
				c.update(func(m *model) { gone(m, o) })
			}
		},
	})
	if err == nil {
		c.synced = append(c.synced, registration.HasSynced)
	}
	return err
}

func listenSelector[O metav1.Object](c *Cluster, informer cache.SharedIndexInformer, kind stowagev1.WorkloadKind,
	convert func(O) (*stowagev1.WorkloadSelector, error),
) error {
	key := func(o O) selectorKey { return selectorKey{kind, o.GetNamespace(), o.GetName()} }
	return listen(c, informer,
		func(m *model, o O) {
			selector, err := convert(o)
			m.changed = m.selectors.apply(m, key(o), selector, err) || m.changed
		},
		func(m *model, o O) { m.changed = m.selectors.apply(m, key(o), nil, nil) || m.changed })
}
