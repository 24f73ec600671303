package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watchedKind is a kind of objects that is read if the API server has it, and if this process may read it.
type watchedKind struct {
	resource schema.GroupVersionResource
	kind     string
	// probe lists and watches the objects, as far as that shows whether it is possible.
	probe func(context.Context, kubernetes.Interface) error
	// listen applies the events of the objects to the model.
	listen func(*Cluster) error
}

// storageKinds are the kinds that the rules of volumes read, all of them or none: kube-scheduler's verdict depends on each.
var storageKinds = []watchedKind{
	newKind(storagev1.SchemeGroupVersion.WithResource("storageclasses"), "StorageClass", &storagev1.StorageClass{},
		func(api kubernetes.Interface) lister[*storagev1.StorageClassList] {
			return api.StorageV1().StorageClasses()
		},
		(*model).classSet, (*model).classGone),
	newKind(storagev1.SchemeGroupVersion.WithResource("csidrivers"), "CSIDriver", &storagev1.CSIDriver{},
		func(api kubernetes.Interface) lister[*storagev1.CSIDriverList] { return api.StorageV1().CSIDrivers() },
		(*model).driverSet, (*model).driverGone),
	newKind(storagev1.SchemeGroupVersion.WithResource("csistoragecapacities"), "CSIStorageCapacity", &storagev1.CSIStorageCapacity{},
		func(api kubernetes.Interface) lister[*storagev1.CSIStorageCapacityList] {
			return api.StorageV1().CSIStorageCapacities(metav1.NamespaceAll)
		},
		(*model).capacitySet, (*model).capacityGone),
	newKind(storagev1.SchemeGroupVersion.WithResource("csinodes"), "CSINode", &storagev1.CSINode{},
		func(api kubernetes.Interface) lister[*storagev1.CSINodeList] { return api.StorageV1().CSINodes() },
		(*model).csiNodeSet, (*model).csiNodeGone),
	newKind(storagev1.SchemeGroupVersion.WithResource("volumeattachments"), "VolumeAttachment", &storagev1.VolumeAttachment{},
		func(api kubernetes.Interface) lister[*storagev1.VolumeAttachmentList] {
			return api.StorageV1().VolumeAttachments()
		},
		(*model).attachmentSet, (*model).attachmentGone),
	newKind(corev1.SchemeGroupVersion.WithResource("persistentvolumes"), "PersistentVolume", &corev1.PersistentVolume{},
		func(api kubernetes.Interface) lister[*corev1.PersistentVolumeList] {
			return api.CoreV1().PersistentVolumes()
		},
		(*model).volumeSet, (*model).volumeGone),
	newKind(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), "PersistentVolumeClaim", &corev1.PersistentVolumeClaim{},
		func(api kubernetes.Interface) lister[*corev1.PersistentVolumeClaimList] {
			return api.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll)
		},
		(*model).claimSet, (*model).claimGone),
}

// StorageResources returns the resources that a Cluster lists and watches for volumes.
func StorageResources() []schema.GroupVersionResource { return resourcesOf(storageKinds) }

// DeviceResources returns the resources that a Cluster lists and watches for devices.
func DeviceResources() []schema.GroupVersionResource { return resourcesOf(deviceKinds) }

func resourcesOf(kinds []watchedKind) (out []schema.GroupVersionResource) {
	for _, k := range kinds {
		out = append(out, k.resource)
	}
	return out
}

// lister is a client of one kind, whose lists are of type L.
type lister[L metav1.ListInterface] interface {
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// apiObject is an object of the API server.
type apiObject interface {
	metav1.Object
	runtime.Object
}

// newKind returns a kind with its client and what its events do.
func newKind[O apiObject, L interface {
	metav1.ListInterface
	runtime.Object
}](resource schema.GroupVersionResource, kind string, example O, client func(kubernetes.Interface) lister[L], set, gone func(*model, O)) watchedKind {
	return watchedKind{
		resource: resource, kind: kind,
		probe: func(ctx context.Context, api kubernetes.Interface) error {
			first, err := client(api).List(ctx, metav1.ListOptions{Limit: 1})
			if err != nil {
				return err
			}
			w, err := client(api).Watch(ctx, metav1.ListOptions{ResourceVersion: first.GetResourceVersion(), TimeoutSeconds: new(int64(1))})
			if err == nil {
				w.Stop()
			}
			return err
		},
		listen: func(c *Cluster) error {
			return listen(c, c.informers.InformerFor(example, func(api kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
				from := client(api)
				return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
					ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return from.List(ctx, o) },
					WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
						return from.Watch(ctx, o)
					},
				}, api), example, resync, cache.Indexers{})
			}), set, gone)
		},
	}
}

// watchStorage applies the events of storage objects to the model if the API server has all of their kinds, and if this process may
// read them. It asks once: afterwards this process needs a restart.
func (c *Cluster) watchStorage(ctx context.Context) error {
	without, err := c.unreadable(ctx, storageKinds)
	if err != nil {
		return err
	}
	if len(without) > 0 {
		c.log.Warn("without volumes: claims and disks of pods are not read", "reason", errors.Join(without...))
		return nil
	}
	c.update((*model).readStorage)
	return c.listenTo(storageKinds)
}

// listenTo applies the events of kinds to the model.
func (c *Cluster) listenTo(kinds []watchedKind) error {
	for _, k := range kinds {
		if err := k.listen(c); err != nil {
			return err
		}
	}
	return nil
}

// unreadable returns why objects of some kinds cannot be read, none if all can.
func (c *Cluster) unreadable(ctx context.Context, kinds []watchedKind) (without []error, err error) {
	for _, k := range kinds {
		err := c.probe(ctx, &k)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			without = append(without, fmt.Errorf("%s: %w", k.resource.Resource, err))
		}
	}
	return without, nil
}

// probe returns why objects of a kind cannot be read, nil if they can. It waits for an API server that does not answer.
func (c *Cluster) probe(ctx context.Context, k *watchedKind) error {
	for {
		err := k.probe(ctx, c.api)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err) {
			return err
		}
		c.log.Warn("cannot read "+k.resource.Resource, "error", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(discoverAgain):
		}
	}
}

// ReadsVolumes reports whether storage objects are read, once Run has begun to read the cluster: otherwise the claims and disks of pods
// are unread fields.
func (c *Cluster) ReadsVolumes() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.model.storage.claims != nil
}
