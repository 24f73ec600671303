package live

import (
	"context"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/informers/internalinterfaces"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Informers are the informers of a Cluster, one for each kind. They are client-go's, without its factory: the factory names the informers of
// every API of Kubernetes, and the linker keeps all of them.
type Informers struct {
	api     kubernetes.Interface
	running sync.WaitGroup

	mutex   sync.Mutex
	all     map[reflect.Type]cache.SharedIndexInformer
	started map[reflect.Type]bool
}

var _ internalinterfaces.SharedInformerFactory = (*Informers)(nil)

func newInformers(api kubernetes.Interface) *Informers {
	return &Informers{api: api, all: map[reflect.Type]cache.SharedIndexInformer{}, started: map[reflect.Type]bool{}}
}

// CoreV1 has the informers of the core group.
func (i *Informers) CoreV1() coreinformers.Interface {
	return coreinformers.New(i, metav1.NamespaceAll, nil)
}

// AppsV1 has the informers of the group apps.
func (i *Informers) AppsV1() appsinformers.Interface {
	return appsinformers.New(i, metav1.NamespaceAll, nil)
}

// PolicyV1 has the informers of the group policy.
func (i *Informers) PolicyV1() policyinformers.Interface {
	return policyinformers.New(i, metav1.NamespaceAll, nil)
}

// ResourceV1 has the informers of the group resource.k8s.io.
func (i *Informers) ResourceV1() resourceinformers.Interface {
	return resourceinformers.New(i, metav1.NamespaceAll, nil)
}

// SchedulingV1beta1 has the informers of the group scheduling.k8s.io.
func (i *Informers) SchedulingV1beta1() schedulinginformers.Interface {
	return schedulinginformers.New(i, metav1.NamespaceAll, nil)
}

// InformerFor returns the informer for objects of a type. The first call for a type creates it.
func (i *Informers) InformerFor(of runtime.Object, create internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	t := reflect.TypeOf(of)
	if i.all[t] == nil {
		i.all[t] = create(i.api, 0)
		_ = i.all[t].SetTransform(trimmed) // fails only for an informer that runs
	}
	return i.all[t]
}

// InformerName returns no name: the informers have no metrics.
func (*Informers) InformerName() *cache.InformerName { return nil }

// Start runs the informers that do not run yet, until the channel is closed.
func (i *Informers) Start(stop <-chan struct{}) { i.run(wait.ContextForChannel(stop)) }

// run runs the informers that do not run yet, until the context ends.
func (i *Informers) run(ctx context.Context) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	for t, informer := range i.all {
		if !i.started[t] {
			i.started[t] = true
			i.running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
}

// wait waits until all informers have ended.
func (i *Informers) wait() { i.running.Wait() }
