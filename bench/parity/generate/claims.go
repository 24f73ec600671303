package generate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claim draws a claim, and what it is bound to.
func (d *draw) claim() *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("data-%d", d.IntN(12)), Namespace: d.podNamespace()}}
	for _, other := range d.c.Storage.PersistentVolumeClaims {
		if other.Namespace == c.Namespace && other.Name == c.Name {
			return other
		}
	}
	return d.drawnClaim(c)
}

// drawnClaim draws the rest of a claim with a name, and adds it.
func (d *draw) drawnClaim(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	c.UID = types.UID("claim " + c.Namespace + "/" + c.Name)
	d.claimSpec(&c.Spec)
	switch x := d.Float64(); {
	case x < 0.5:
		c.Spec.StorageClassName = ptr(pick(d, "fast", "slow", "", "gone", "local", "ebs"))
		d.bind(c)
		if d.chance(0.04) {
			c.Spec.VolumeName = "missing"
		}
	case x < 0.85:
		c.Spec.StorageClassName = ptr(pick(d, "fast", "pool", "pool", "local", "local", "narrow", "narrow", "ebs"))
		switch x := d.Float64(); {
		case x < 0.1:
			c.Annotations = map[string]string{selected: d.nodeName()}
		case x < 0.13:
			c.Annotations = map[string]string{selected: "node-0"}
		case x < 0.16 && *c.Spec.StorageClassName == "fast" && !d.tracked("fast"):
			c.Annotations, c.Spec.StorageClassName = map[string]string{betaClass: "fast"}, nil
		}
		if d.chance(0.1) {
			d.reserve(c)
		}
	case x < 0.9:
		c.Spec.StorageClassName = ptr(pick(d, "slow", "plain", "gone", ""))
	case x < 0.94:
		c.Spec.StorageClassName = ptr(pick(d, "fast", "slow", "local"))
		c.Spec.VolumeName = d.reserve(c).Name
		if d.chance(0.2) {
			c.Spec.VolumeName = "missing"
		}
	case x < 0.97:
		c.Spec.StorageClassName = ptr("fast")
		d.bind(c)
		c.Status.Phase = corev1.ClaimLost
	default:
		c.Spec.StorageClassName = ptr("fast")
		d.bind(c)
		c.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		c.Finalizers = []string{deletedLong}
	}
	d.c.Storage.PersistentVolumeClaims = append(d.c.Storage.PersistentVolumeClaims, c)
	return c
}

// tracked reports whether a class has capacities: kube-scheduler does not survive scoring a claim that has such a class in the annotation
// alone.
func (d *draw) tracked(class string) bool {
	return slices.ContainsFunc(d.c.Storage.CSIStorageCapacities, func(c *storagev1.CSIStorageCapacity) bool { return c.StorageClassName == class })
}

func (d *draw) claimSpec(s *corev1.PersistentVolumeClaimSpec) {
	s.AccessModes = d.accessModes()
	s.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: *bytesOf(d.claimSize())}
	if d.chance(0.15) {
		s.VolumeMode = ptr(pick(d, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem))
	}
	if d.chance(0.06) {
		s.VolumeAttributesClassName = ptr(pick(d, "gold", "silver"))
	}
	if d.chance(0.1) {
		s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick(d, "a", "b")}}
	}
}

func (d *draw) claimSize() int64 {
	return pick(d, gi, 2*gi, 3*gi, 5*gi, 10*gi, 10*gi+1, 25*gi)
}

func (d *draw) accessModes() []corev1.PersistentVolumeAccessMode {
	switch x := d.Float64(); {
	case x < 0.25:
		return []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	case x < 0.7:
		return []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	return append(some(d, 0.4, corev1.ReadOnlyMany, corev1.ReadWriteMany), corev1.ReadWriteOnce)
}

// bind binds a claim to a volume of its own.
func (d *draw) bind(c *corev1.PersistentVolumeClaim) {
	v := d.reserve(c)
	v.Status.Phase = corev1.VolumeBound
	c.Spec.VolumeName = v.Name
	c.Annotations = map[string]string{bound: "yes"}
	c.Status.Phase = corev1.ClaimBound
}

// reserve draws a volume that refers to a claim.
func (d *draw) reserve(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	v := d.volume()
	v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	switch x := d.Float64(); {
	case x < 0.2:
		v.Spec.ClaimRef.UID = ""
	case x < 0.25:
		v.Spec.ClaimRef.UID = "another"
	}
	if c.Spec.StorageClassName != nil {
		v.Spec.StorageClassName = *c.Spec.StorageClassName
	}
	v.Spec.VolumeMode, v.Spec.AccessModes = c.Spec.VolumeMode, c.Spec.AccessModes
	if v.Spec.CSI != nil {
		v.Spec.VolumeAttributesClassName = c.Spec.VolumeAttributesClassName
	}
	if d.chance(0.9) {
		v.Spec.Capacity[corev1.ResourceStorage] = c.Spec.Resources.Requests[corev1.ResourceStorage]
	}
	return v
}

// freeVolume draws a volume that waits for a claim.
func (d *draw) freeVolume() {
	v := d.volume()
	v.Spec.StorageClassName = pick(d, "local", "local", "local", "fast", "narrow", "pool")
	v.Spec.Capacity[corev1.ResourceStorage] = *bytesOf(pick(d, gi, 2*gi, 4*gi, 10*gi, 11*gi, 20*gi, 40*gi))
	v.Spec.AccessModes = append(some(d, 0.7, corev1.ReadOnlyMany, corev1.ReadWriteMany), corev1.ReadWriteOnce)
	if d.chance(0.3) {
		v.Spec.AccessModes = d.accessModes()
	}
	if d.chance(0.93) {
		v.Status.Phase = corev1.VolumeAvailable
	}
	switch x := d.Float64(); {
	case x < 0.06:
		v.DeletionTimestamp, v.Finalizers = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, []string{"kubernetes.io/pv-protection"}
	case x < 0.1:
		v.Spec.VolumeMode = ptr(corev1.PersistentVolumeBlock)
	case x < 0.14 && v.Spec.CSI != nil:
		v.Spec.VolumeAttributesClassName = ptr("gold")
	case x < 0.18:
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprintf("data-%d", d.IntN(12))}
	}
	if d.chance(0.5) {
		if v.Labels == nil {
			v.Labels = map[string]string{}
		}
		v.Labels["tier"] = pick(d, "a", "b")
	}
}

// volume draws a volume somewhere, and adds it.
func (d *draw) volume() *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: d.name("pv")}}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: *bytesOf(d.claimSize())}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	zone := pick(d, zones...)
	switch x := d.Float64(); {
	case x < 0.45:
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: pick(d, csiDrivers...), VolumeHandle: "handle-" + v.Name}
		if d.chance(0.08) {
			v.Spec.CSI.VolumeHandle = "shared"
		}
		if v.Spec.CSI.Driver == ebsDriver && d.chance(0.2) {
			v.Spec.CSI.VolumeHandle = pick(d, disks...)
		}
	case x < 0.6:
		v.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt"}
		v.Spec.NodeAffinity = d.affinityTo(corev1.LabelHostname, d.nodeName())
	case x < 0.7:
		v.Spec.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(d, pick(d, disks...), "vol-"+v.Name, "aws://"+zone+"/vol-"+v.Name)}
	case x < 0.8:
		v.Spec.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: pick(d, pick(d, disks...), "pd-"+v.Name)}
	default:
		v.Spec.NFS = &corev1.NFSVolumeSource{Server: "nfs.test", Path: "/"}
	}
	d.place(v, zone)
	d.c.Storage.PersistentVolumes = append(d.c.Storage.PersistentVolumes, v)
	return v
}

// place draws where a volume can be used.
func (d *draw) place(v *corev1.PersistentVolume, zone string) {
	if v.Spec.NodeAffinity == nil {
		switch x := d.Float64(); {
		case x < 0.35:
			v.Spec.NodeAffinity = d.affinityTo(corev1.LabelTopologyZone, zone)
		case x < 0.45:
			v.Spec.NodeAffinity = d.affinityTo("rack", "1", "2", "3")
		case x < 0.5 && v.Spec.CSI != nil:
			v.Spec.NodeAffinity = d.affinityTo(ebsZone, zone)
		case x < 0.53:
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{d.nodeName()}}}},
			}}}
		}
	}
	if d.chance(0.4) {
		v.Labels = map[string]string{}
		for _, key := range some(d, 0.45, corev1.LabelTopologyZone, betaZone, corev1.LabelTopologyRegion, betaRegion) {
			switch {
			case strings.Contains(key, "zone"):
				v.Labels[key] = zone
			default:
				v.Labels[key] = pick(d, "r1", "r2")
			}
			if d.chance(0.2) && v.Spec.AWSElasticBlockStore == nil && v.Spec.GCEPersistentDisk == nil {
				v.Labels[key] = pick(d, "z1__z2", "z2__z3__z4", "r1__r2", "z1____z2", "")
			}
		}
	}
}

func (d *draw) affinityTo(key string, values ...string) *corev1.VolumeNodeAffinity {
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
	out := &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}
	if d.chance(0.1) {
		out.Required.NodeSelectorTerms = append(out.Required.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpExists}},
		})
	}
	return out
}
