package oracle

import (
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	storagev1conversion "k8s.io/kubernetes/pkg/apis/storage/v1"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// kindOf is what the API server does with objects of a kind that it stores.
type kindOf[T any, Internal any] struct {
	name     string
	defaults func(*T)
	convert  func(*T, *Internal, conversion.Scope) error
	validate func(*Internal) field.ErrorList
}

// admit returns objects as the API server stores them.
func (k kindOf[T, Internal]) admit(in []*T, copied func(*T) *T) (out []*T, err error) {
	for _, o := range in {
		object := copied(o)
		meta := any(object).(metav1.Object)
		if k.defaults != nil {
			k.defaults(object)
		}
		internal := new(Internal)
		if err := k.convert(object, internal, nil); err != nil {
			return nil, err
		}
		if errs := k.validate(internal); len(errs) > 0 {
			return nil, &InvalidError{Object: strings.Join([]string{k.name, meta.GetNamespace(), meta.GetName()}, " "), Errs: errs}
		}
		out = append(out, object)
	}
	return out, nil
}

var (
	classes = kindOf[storagev1.StorageClass, storage.StorageClass]{
		"StorageClass", storagev1conversion.SetObjectDefaults_StorageClass,
		storagev1conversion.Convert_v1_StorageClass_To_storage_StorageClass, storagevalidation.ValidateStorageClass,
	}
	drivers = kindOf[storagev1.CSIDriver, storage.CSIDriver]{
		"CSIDriver", storagev1conversion.SetObjectDefaults_CSIDriver,
		storagev1conversion.Convert_v1_CSIDriver_To_storage_CSIDriver, storagevalidation.ValidateCSIDriver,
	}
	csiNodes = kindOf[storagev1.CSINode, storage.CSINode]{
		"CSINode", nil, storagev1conversion.Convert_v1_CSINode_To_storage_CSINode, storagevalidation.ValidateCSINode,
	}
	capacities = kindOf[storagev1.CSIStorageCapacity, storage.CSIStorageCapacity]{
		"CSIStorageCapacity", nil, storagev1conversion.Convert_v1_CSIStorageCapacity_To_storage_CSIStorageCapacity,
		func(c *storage.CSIStorageCapacity) field.ErrorList {
			return storagevalidation.ValidateCSIStorageCapacity(c, storagevalidation.CSIStorageCapacityValidateOptions{})
		},
	}
	attachments = kindOf[storagev1.VolumeAttachment, storage.VolumeAttachment]{
		"VolumeAttachment", storagev1conversion.SetObjectDefaults_VolumeAttachment,
		storagev1conversion.Convert_v1_VolumeAttachment_To_storage_VolumeAttachment, storagevalidation.ValidateVolumeAttachment,
	}
	volumes = kindOf[corev1.PersistentVolume, core.PersistentVolume]{
		"PersistentVolume", corev1conversion.SetObjectDefaults_PersistentVolume,
		corev1conversion.Convert_v1_PersistentVolume_To_core_PersistentVolume,
		func(v *core.PersistentVolume) field.ErrorList {
			return validation.ValidatePersistentVolume(v, validation.ValidationOptionsForPersistentVolume(v, nil))
		},
	}
	claims = kindOf[corev1.PersistentVolumeClaim, core.PersistentVolumeClaim]{
		"PersistentVolumeClaim", corev1conversion.SetObjectDefaults_PersistentVolumeClaim,
		corev1conversion.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim,
		func(c *core.PersistentVolumeClaim) field.ErrorList {
			return validation.ValidatePersistentVolumeClaim(c, validation.ValidationOptionsForPersistentVolumeClaim(c, nil))
		},
	}
)

// storedStorage returns the storage objects as the API server stores them.
func storedStorage(in *scenario.Storage) (out scenario.Storage, err error) {
	var errs [7]error
	out.StorageClasses, errs[0] = classes.admit(in.StorageClasses, (*storagev1.StorageClass).DeepCopy)
	out.CSIDrivers, errs[1] = drivers.admit(in.CSIDrivers, (*storagev1.CSIDriver).DeepCopy)
	out.CSINodes, errs[2] = csiNodes.admit(in.CSINodes, (*storagev1.CSINode).DeepCopy)
	out.CSIStorageCapacities, errs[3] = capacities.admit(in.CSIStorageCapacities, func(c *storagev1.CSIStorageCapacity) *storagev1.CSIStorageCapacity {
		return inNamespace(c).(*storagev1.CSIStorageCapacity)
	})
	out.VolumeAttachments, errs[4] = attachments.admit(in.VolumeAttachments, (*storagev1.VolumeAttachment).DeepCopy)
	out.PersistentVolumes, errs[5] = volumes.admit(in.PersistentVolumes, (*corev1.PersistentVolume).DeepCopy)
	out.PersistentVolumeClaims, errs[6] = claims.admit(in.PersistentVolumeClaims, func(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
		return inNamespace(c).(*corev1.PersistentVolumeClaim)
	})
	return out, errors.Join(errs[:]...)
}

// addStorage adds the storage objects to the listers of a factory, before any other use of its informers. kube-scheduler takes volumes and
// capacities in the order of a map, the contract in the order of their names.
func addStorage(factory informers.SharedInformerFactory, s *scenario.Storage) error {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	factory.InformerFor(&corev1.PersistentVolume{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return sortedInformer{coreinformers.NewPersistentVolumeInformer(client, resync, indexers)}
	})
	factory.InformerFor(&storagev1.CSIStorageCapacity{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return sortedInformer{storageinformers.NewCSIStorageCapacityInformer(client, metav1.NamespaceAll, resync, indexers)}
	})
	core, of := factory.Core().V1(), factory.Storage().V1()
	return errors.Join(
		addObjects(of.StorageClasses().Informer().GetIndexer(), s.StorageClasses),
		addObjects(of.CSIDrivers().Informer().GetIndexer(), s.CSIDrivers),
		addObjects(of.CSINodes().Informer().GetIndexer(), s.CSINodes),
		addObjects(of.CSIStorageCapacities().Informer().GetIndexer(), s.CSIStorageCapacities),
		addObjects(of.VolumeAttachments().Informer().GetIndexer(), s.VolumeAttachments),
		addObjects(core.PersistentVolumes().Informer().GetIndexer(), s.PersistentVolumes),
		addObjects(core.PersistentVolumeClaims().Informer().GetIndexer(), s.PersistentVolumeClaims),
	)
}

func addObjects[T any](to cache.Indexer, objects []*T) error {
	var errs []error
	for _, o := range objects {
		errs = append(errs, to.Add(o))
	}
	return errors.Join(errs...)
}
