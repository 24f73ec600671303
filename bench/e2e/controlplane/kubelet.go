package controlplane

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// running is the status that a kubelet reports for a running pod.
var running = []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}]}}`)

// kubelet does the two things for all nodes that other components wait for: it runs bound pods, and removes deleted pods.
type kubelet struct {
	client kubernetes.Interface
	pods   listersv1.PodLister
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// RunKubelet stands in for the kubelets of all nodes until the context ends.
func RunKubelet(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	k := &kubelet{
		client: client,
		pods:   pods.Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	informer := pods.Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    k.enqueue,
		UpdateFunc: func(_, o any) { k.enqueue(o) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil // what it is for was over before it had seen the pods
	}
	var workers sync.WaitGroup
	for range callers {
		workers.Go(func() { k.work(ctx) })
	}
	<-ctx.Done()
	k.queue.ShutDown()
	workers.Wait()
	return nil
}

func (k *kubelet) enqueue(o any) {
	if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" && (p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodPending) {
		k.queue.Add(types.NamespacedName{Namespace: p.Namespace, Name: p.Name})
	}
}

func (k *kubelet) work(ctx context.Context) {
	for {
		name, end := k.queue.Get()
		if end {
			return
		}
		if err := k.sync(ctx, name); err != nil && ctx.Err() == nil {
			k.queue.AddRateLimited(name)
		} else {
			k.queue.Forget(name)
		}
		k.queue.Done(name)
	}
}

func (k *kubelet) sync(ctx context.Context, name types.NamespacedName) error {
	p, err := k.pods.Pods(name.Namespace).Get(name.Name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case p.DeletionTimestamp != nil:
		now := int64(0)
		err = k.client.CoreV1().Pods(name.Namespace).Delete(ctx, name.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(p.UID))})
	case p.Status.Phase == corev1.PodPending:
		_, err = k.client.CoreV1().Pods(name.Namespace).Patch(ctx, name.Name, types.StrategicMergePatchType, running,
			metav1.PatchOptions{}, "status")
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
