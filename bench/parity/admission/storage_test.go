package admission_test

import (
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/kube/validate"
)

// TestStorageEqualsTheAPIServers compares which fields of storage objects are refused.
func TestStorageEqualsTheAPIServers(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range uint64(5 * cases) {
		o := dice{rand.New(rand.NewPCG(seed, 43))}.storage()
		want, got := paths(upstreamStorage(t, o)), paths(validate.Object(o))
		if d := gocmp.Diff(want, got); d != "" {
			text, _ := yaml.Marshal(o)
			t.Fatalf("seed %d: (-the API server +here)\n%s\n%s", seed, d, text)
		}
		if len(want) == 0 {
			accepted++
		} else {
			refused++
		}
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if min(accepted, refused) < cases/2 {
		t.Error("too few of either kind")
	}
}

func upstreamStorage(t *testing.T, o metav1.Object) field.ErrorList {
	defaulted := o.(runtime.Object).DeepCopyObject()
	legacyscheme.Scheme.Default(defaulted)
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(defaulted, runtime.InternalGroupVersioner)
	must(t, err)
	switch i := internal.(type) {
	case *core.PersistentVolume:
		return corevalidation.ValidatePersistentVolume(i, corevalidation.ValidationOptionsForPersistentVolume(i, nil))
	case *core.PersistentVolumeClaim:
		return corevalidation.ValidatePersistentVolumeClaim(i, corevalidation.ValidationOptionsForPersistentVolumeClaimCreate())
	case *storage.StorageClass:
		return storagevalidation.ValidateStorageClass(i)
	case *storage.CSINode:
		return storagevalidation.ValidateCSINode(i)
	case *storage.CSIStorageCapacity:
		return storagevalidation.ValidateCSIStorageCapacity(i, storagevalidation.CSIStorageCapacityValidateOptions{})
	case *storage.VolumeAttachment:
		return storagevalidation.ValidateVolumeAttachment(i)
	}
	t.Fatalf("%T", internal)
	return nil
}

var classNames = []string{"fast", "slow.example.com", "Fast", "-"}

func (d dice) modes() []corev1.PersistentVolumeAccessMode {
	return mostly(d, 3, [][]corev1.PersistentVolumeAccessMode{
		{"ReadWriteOnce"}, {"ReadOnlyMany", "ReadWriteMany"}, {"ReadWriteOncePod"}, nil, {"ReadWriteOncePod", "ReadWriteOnce"}, {"Mine"}, {"Mine", "ReadWriteOncePod"},
	})
}

func (d dice) amountsOfStorage() corev1.ResourceList {
	if d.often(5) {
		return mostly(d, 1, []corev1.ResourceList{nil, {"cpu": resource.MustParse("1")}, {"cpu": resource.MustParse("1"), "storage": resource.MustParse("1Gi")}})
	}
	return corev1.ResourceList{"storage": resource.MustParse(mostly(d, 2, []string{"1Gi", "100", "0", "-1"}))}
}

func (d dice) nodesOfVolume() *corev1.VolumeNodeAffinity {
	if d.often(30) {
		return nil
	}
	if d.often(5) {
		return &corev1.VolumeNodeAffinity{Required: mostly(d, 1, []*corev1.NodeSelector{nil, {}})}
	}
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: mostly(d, 4, labelNames), Operator: corev1.NodeSelectorOperator(mostly(d, 2, operators)), Values: []string{mostly(d, 4, labelValues)},
		}},
	}}}}
}

func (d dice) mode() *corev1.PersistentVolumeMode {
	return mostly(d, 3, []*corev1.PersistentVolumeMode{nil, new(corev1.PersistentVolumeBlock), new(corev1.PersistentVolumeFilesystem), new(corev1.PersistentVolumeMode("Tape"))})
}

func (d dice) claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: d.modes(), Selector: d.labelSelector(), VolumeMode: d.mode(), StorageClassName: mostly(d, 3, []*string{nil, new("fast"), new(""), new("-")}),
		Resources: corev1.VolumeResourceRequirements{Requests: d.amountsOfStorage()},
	}
}

// storage draws a storage object.
func (d dice) storage() metav1.Object {
	meta := metav1.ObjectMeta{Name: "o"}
	drivers := []string{"csi.example.com", "Csi.Example.Com", "", "-", "a-name-that-is-longer-than-the-sixty-three-characters-of-a-csi-driver.example.com"}
	switch d.IntN(6) {
	case 0:
		v := &corev1.PersistentVolume{ObjectMeta: meta, Spec: corev1.PersistentVolumeSpec{
			AccessModes: d.modes(), Capacity: d.amountsOfStorage(), StorageClassName: mostly(d, 2, classNames), VolumeMode: d.mode(), NodeAffinity: d.nodesOfVolume(),
			PersistentVolumeReclaimPolicy: mostly(d, 3, []corev1.PersistentVolumeReclaimPolicy{"", "Retain", "Delete", "Keep"}),
		}}
		if d.often(50) {
			v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: mostly(d, 2, drivers), VolumeHandle: mostly(d, 1, []string{"h", ""})}
		}
		if v.Spec.CSI == nil || d.often(5) {
			v.Spec.Local = &corev1.LocalVolumeSource{Path: mostly(d, 1, []string{"/mnt", ""})}
		}
		if d.often(3) {
			v.Spec.NFS, v.Spec.Local = &corev1.NFSVolumeSource{Server: "s", Path: "/p"}, nil
		}
		return v
	case 1:
		meta.Namespace = "ns"
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: d.claimSpec()}
	case 2:
		c := &storagev1.StorageClass{
			ObjectMeta: meta, Provisioner: mostly(d, 3, []string{"csi.example.com", "kubernetes.io/no-provisioner", "Example.Com/Nfs", "", "-", "a/b/c"}),
			ReclaimPolicy:     mostly(d, 2, []*corev1.PersistentVolumeReclaimPolicy{nil, new(corev1.PersistentVolumeReclaimRetain), new(corev1.PersistentVolumeReclaimRecycle)}),
			VolumeBindingMode: mostly(d, 2, []*storagev1.VolumeBindingMode{nil, new(storagev1.VolumeBindingWaitForFirstConsumer), new(storagev1.VolumeBindingMode("Late"))}),
		}
		for range d.IntN(3) {
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: append(slicesOf(c), corev1.TopologySelectorLabelRequirement{
				Key: mostly(d, 4, labelNames), Values: mostly(d, 2, [][]string{{"a"}, {"a", "b"}, nil, {"a", "a"}}),
			})}}
		}
		return c
	case 3:
		n := &storagev1.CSINode{ObjectMeta: meta}
		for range d.IntN(3) {
			n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{
				Name: mostly(d, 2, drivers), NodeID: mostly(d, 1, []string{"i", ""}),
				Allocatable: mostly(d, 2, []*storagev1.VolumeNodeResources{nil, {Count: new(int32(3))}, {Count: new(int32(-1))}}),
			})
		}
		return n
	case 4:
		meta.Namespace = "ns"
		return &storagev1.CSIStorageCapacity{
			ObjectMeta: meta, StorageClassName: mostly(d, 2, classNames), NodeTopology: d.labelSelector(),
			Capacity: mostly(d, 2, []*resource.Quantity{nil, new(resource.MustParse("1Gi")), new(resource.MustParse("-1"))}),
		}
	}
	return &storagev1.VolumeAttachment{ObjectMeta: meta, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: mostly(d, 2, drivers), NodeName: mostly(d, 1, []string{"n", "", "-"}),
		Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: mostly(d, 1, []*string{new("v"), nil, new("-"), new("")})},
	}}
}

func slicesOf(c *storagev1.StorageClass) []corev1.TopologySelectorLabelRequirement {
	if len(c.AllowedTopologies) == 0 {
		return nil
	}
	return c.AllowedTopologies[0].MatchLabelExpressions
}
