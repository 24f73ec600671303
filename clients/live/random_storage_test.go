package live_test

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/servertest/storage"
)

// randomKind draws, writes and reads the objects of one kind of storage objects.
type randomKind struct {
	// change creates, updates or deletes a random object.
	change func(*random, int) error
	// add adds the objects to a cluster that is built from them.
	add func(*kube.Builder) error
}

// writer is a client of one kind.
type writer[O any] interface {
	Create(context.Context, O, metav1.CreateOptions) (O, error)
	Update(context.Context, O, metav1.UpdateOptions) (O, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

func newRandomKind[O metav1.Object](client writer[O], draw func(r *random, step int) O, add func(*kube.Builder, O) error) randomKind {
	objects := map[string]O{}
	return randomKind{
		change: func(r *random, step int) error {
			o := draw(r, step)
			old, there := objects[o.GetName()]
			var err error
			switch {
			case !there:
				o.SetUID(types.UID(fmt.Sprintf("%s-%d", o.GetName(), step)))
				_, err = client.Create(r.t.Context(), o, metav1.CreateOptions{})
			case r.rng.IntN(4) == 0:
				err = client.Delete(r.t.Context(), o.GetName(), metav1.DeleteOptions{})
				delete(objects, o.GetName())
				return err
			default:
				o.SetUID(old.GetUID())
				_, err = client.Update(r.t.Context(), o, metav1.UpdateOptions{})
			}
			objects[o.GetName()] = o
			return err
		},
		add: func(b *kube.Builder) error {
			for _, name := range slices.Sorted(maps.Keys(objects)) {
				if err := add(b, objects[name]); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// volumeReasons are texts of rejections that depend on storage objects.
var volumeReasons = []string{
	"didn't match PersistentVolume's node affinity", "didn't find available persistent volumes to bind", "did not have enough free storage",
	"exceed max volume count", "CSI driver is not installed", "was not created for pod", "unbound immediate PersistentVolumeClaims",
	"not found", "already in-use by another pod",
}

// Few names, so that objects refer to each other.
const randomVolumes = 6

// randomStorage returns every kind of live.StorageResources, by its resource.
func randomStorage(w *world) map[schema.GroupVersionResource]randomKind {
	core, csi := w.api.CoreV1(), w.api.StorageV1()
	at := func(group schema.GroupVersion, resource string) schema.GroupVersionResource {
		return group.WithResource(resource)
	}
	classes := []string{storage.Immediate, storage.Delayed}
	zone := func(r *random) string { return fmt.Sprintf("z%d", r.rng.IntN(4)) }
	return map[schema.GroupVersionResource]randomKind{
		at(storagev1.SchemeGroupVersion, "storageclasses"): newRandomKind(csi.StorageClasses(), func(r *random, _ int) *storagev1.StorageClass {
			out := storage.Class(classes[r.rng.IntN(2)])
			if r.rng.IntN(3) == 0 {
				out.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
					Key: corev1.LabelTopologyZone, Values: []string{zone(r)}}}}}
			}
			return out
		}, (*kube.Builder).AddStorageClass),
		at(storagev1.SchemeGroupVersion, "csidrivers"): newRandomKind(csi.CSIDrivers(), func(r *random, _ int) *storagev1.CSIDriver {
			return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: storage.Driver},
				Spec: storagev1.CSIDriverSpec{StorageCapacity: new(r.rng.IntN(2) == 0), PreventPodSchedulingIfMissing: new(r.rng.IntN(4) == 0)}}
		}, (*kube.Builder).AddCSIDriver),
		at(storagev1.SchemeGroupVersion, "csistoragecapacities"): newRandomKind(csi.CSIStorageCapacities("default"), func(r *random, _ int) *storagev1.CSIStorageCapacity {
			z := zone(r)
			return &storagev1.CSIStorageCapacity{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "capacity-" + z}, StorageClassName: storage.Delayed,
				NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: z}},
				Capacity:     resource.NewQuantity(int64(r.rng.IntN(4))<<30, resource.BinarySI),
			}
		}, (*kube.Builder).AddCSIStorageCapacity),
		at(storagev1.SchemeGroupVersion, "csinodes"): newRandomKind(csi.CSINodes(), func(r *random, _ int) *storagev1.CSINode {
			return storage.CSINode(fmt.Sprintf("node-%d", r.rng.IntN(120)), int32(r.rng.IntN(2)))
		}, (*kube.Builder).AddCSINode),
		at(storagev1.SchemeGroupVersion, "volumeattachments"): newRandomKind(csi.VolumeAttachments(), func(r *random, _ int) *storagev1.VolumeAttachment {
			i := r.rng.IntN(8) // its spec is immutable
			return storage.Attachment(fmt.Sprintf("a-%d", i), fmt.Sprintf("node-%d", 10*i), fmt.Sprintf("v-%d", i%randomVolumes))
		}, (*kube.Builder).AddVolumeAttachment),
		at(corev1.SchemeGroupVersion, "persistentvolumes"): newRandomKind(core.PersistentVolumes(), func(r *random, _ int) *corev1.PersistentVolume {
			i, claim := r.rng.IntN(randomVolumes), ""
			if r.rng.IntN(2) == 0 {
				claim = fmt.Sprintf("claim-%d", i)
			}
			out := storage.Volume(fmt.Sprintf("v-%d", i), zone(r), claim)
			if claim != "" {
				out.Spec.ClaimRef.UID = ""
			}
			if r.rng.IntN(4) == 0 {
				out.Spec.CSI.Driver = "other.example.com"
			}
			return out
		}, (*kube.Builder).AddPersistentVolume),
		at(corev1.SchemeGroupVersion, "persistentvolumeclaims"): newRandomKind(core.PersistentVolumeClaims("default"), func(r *random, step int) *corev1.PersistentVolumeClaim {
			i, volume := r.rng.IntN(randomVolumes), ""
			if r.rng.IntN(2) == 0 {
				volume = fmt.Sprintf("v-%d", i)
			}
			out := storage.Claim(fmt.Sprintf("claim-%d", i), volume)
			switch r.rng.IntN(4) {
			case 0:
				out.Spec.StorageClassName = new(storage.Immediate)
			case 1:
				out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			case 2:
				r.scratch(out, step)
			}
			return out
		}, (*kube.Builder).AddPersistentVolumeClaim),
	}
}

// scratch makes a claim the one of an ephemeral volume, which may be of an earlier pod of the name, or of a later one.
func (r *random) scratch(claim *corev1.PersistentVolumeClaim, step int) {
	pod, uid := "new", types.UID("pod-new")
	if r.rng.IntN(2) == 0 {
		pod = fmt.Sprintf("pod-%d", r.rng.IntN(60))
		uid = types.UID(fmt.Sprintf("%s-%d", pod, step))
		if p := r.pods[pod]; p != nil && r.rng.IntN(2) == 0 {
			uid = p.UID
		}
	}
	claim.Name = pod + "-scratch"
	if pod == "new" && r.rng.IntN(2) == 0 {
		return
	}
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: uid, Controller: new(true)}}
}

// mount gives a pod claims, or none.
func (r *random) mount(p *corev1.Pod) {
	switch r.rng.IntN(3) {
	case 0:
		p.Spec.Volumes = user("", fmt.Sprintf("claim-%d", r.rng.IntN(randomVolumes))).Spec.Volumes
	case 1:
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	}
}

// change changes an object of storage or devices.
func (r *random) change(step int) error {
	return r.storage[r.kinds[r.rng.IntN(len(r.kinds))]].change(r, step)
}
