package controlplane

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Annotations of claims by which a provisioner is called (sigs.k8s.io/sig-storage-lib-external-provisioner).
const (
	provisionerAnnotation  = "volume.kubernetes.io/storage-provisioner"
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
)

// provisioner provisions a volume for each claim that waits for one. kube-controller-manager binds the two.
type provisioner struct {
	client  kubernetes.Interface
	claims  listersv1.PersistentVolumeClaimLister
	nodes   listersv1.NodeLister
	classes storagelisters.StorageClassLister
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// RunProvisioner stands in for the provisioners of all CSI drivers until the context ends. A volume for a node can be used in the zone of
// the node.
func RunProvisioner(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := factory.Core().V1().PersistentVolumeClaims()
	p := &provisioner{
		client: client, claims: claims.Lister(), nodes: factory.Core().V1().Nodes().Lister(), classes: factory.Storage().V1().StorageClasses().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	see := func(o any) {
		if c, ok := o.(*corev1.PersistentVolumeClaim); ok {
			p.queue.Add(types.NamespacedName{Namespace: c.Namespace, Name: c.Name})
		}
	}
	if _, err := claims.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	defer context.AfterFunc(ctx, p.queue.ShutDown)()
	for {
		name, end := p.queue.Get()
		if end {
			return nil
		}
		if err := p.provision(ctx, name); err != nil && ctx.Err() == nil {
			p.queue.AddRateLimited(name)
		} else {
			p.queue.Forget(name)
		}
		p.queue.Done(name)
	}
}

func (p *provisioner) provision(ctx context.Context, name types.NamespacedName) error {
	claim, err := p.claims.PersistentVolumeClaims(name.Namespace).Get(name.Name)
	if err != nil || claim.Spec.VolumeName != "" || claim.Annotations[provisionerAnnotation] == "" || claim.DeletionTimestamp != nil {
		return unlessGone(err)
	}
	class, err := p.classes.Get(*claim.Spec.StorageClassName)
	if err != nil {
		return unlessGone(err)
	}
	out := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + string(claim.UID), Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class.Name, AccessModes: claim.Spec.AccessModes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			Capacity: corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: class.Provisioner, VolumeHandle: string(claim.UID),
			}},
		},
	}
	if on := claim.Annotations[selectedNodeAnnotation]; on != "" {
		node, err := p.nodes.Get(on)
		if err != nil {
			return unlessGone(err)
		}
		out.Spec.NodeAffinity = InZone(node.Labels[corev1.LabelTopologyZone])
	}
	_, err = p.client.CoreV1().PersistentVolumes().Create(ctx, out, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// unlessGone is no error for an object that is gone.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// InZone is the node affinity of a volume that can be used in a zone.
func InZone(zone string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}}
}
