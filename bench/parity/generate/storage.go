package generate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The drivers and plugins of volumes.
const (
	diskDriver  = "disk.csi.test"
	poolDriver  = "pool.csi.test" // with capacities
	ebsDriver   = "ebs.csi.aws.com"
	gceDriver   = "pd.csi.storage.gke.io"
	ebsPlugin   = "kubernetes.io/aws-ebs"
	gcePlugin   = "kubernetes.io/gce-pd"
	noPlugin    = "kubernetes.io/no-provisioner"
	betaZone    = corev1.LabelFailureDomainBetaZone
	betaRegion  = corev1.LabelFailureDomainBetaRegion
	ebsZone     = "topology.ebs.csi.aws.com/zone"
	gceZone     = "topology.gke.io/zone"
	bound       = "pv.kubernetes.io/bind-completed"
	selected    = "volume.kubernetes.io/selected-node"
	betaClass   = "volume.beta.kubernetes.io/storage-class"
	gi          = int64(1) << 30
	deletedLong = "kubernetes.io/pvc-protection"
)

var csiDrivers = []string{diskDriver, poolDriver, ebsDriver, gceDriver}

// storage draws the storage objects that pods use. The nodes must be there.
func (d *draw) storage() {
	d.storageClasses()
	d.csiDrivers()
	for i, n := range d.c.Nodes {
		d.csiNode(n, i)
	}
	d.capacities()
	for range d.between(2, 14) {
		d.claim()
	}
	if d.chance(0.7) {
		for range d.between(1, 12) {
			d.freeVolume()
		}
	}
	for _, v := range d.c.Storage.PersistentVolumes {
		if len(d.c.Nodes) > 0 && d.chance(0.15) {
			d.attachment(v)
		}
	}
}

func (d *draw) storageClasses() {
	add := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
		if d.chance(0.93) {
			d.c.Storage.StorageClasses = append(d.c.Storage.StorageClasses, c)
		}
		return c
	}
	add("fast", diskDriver, storagev1.VolumeBindingWaitForFirstConsumer)
	add("slow", diskDriver, storagev1.VolumeBindingImmediate)
	add("local", noPlugin, storagev1.VolumeBindingWaitForFirstConsumer)
	add("pool", poolDriver, storagev1.VolumeBindingWaitForFirstConsumer)
	add("narrow", pick(d, diskDriver, poolDriver), storagev1.VolumeBindingWaitForFirstConsumer).AllowedTopologies = d.allowedTopologies()
	add("ebs", ebsPlugin, storagev1.VolumeBindingWaitForFirstConsumer)
	add("plain", "", storagev1.VolumeBindingImmediate).VolumeBindingMode = nil
	d.c.Storage.StorageClasses[len(d.c.Storage.StorageClasses)-1].Provisioner = diskDriver
}

func (d *draw) allowedTopologies() (out []corev1.TopologySelectorTerm) {
	for range d.between(1, 2) {
		term := corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: corev1.LabelTopologyZone, Values: some(d, 0.5, zones...)},
		}}
		if d.chance(0.3) {
			term.MatchLabelExpressions[0].Key = betaZone
		}
		if len(term.MatchLabelExpressions[0].Values) == 0 {
			term.MatchLabelExpressions[0].Values = []string{"z1"}
		}
		if d.chance(0.4) {
			term.MatchLabelExpressions = append(term.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{
				Key: "disk", Values: []string{pick(d, "ssd", "hdd")},
			})
		}
		out = append(out, term)
	}
	if len(out) == 2 && fmt.Sprint(out[0]) == fmt.Sprint(out[1]) {
		out = out[:1] // the API server refuses duplicates
	}
	return out
}

// csiDrivers draws the drivers. One at most keeps pods from nodes without it: kube-scheduler names any of several.
func (d *draw) csiDrivers() {
	required := pick(d, append(csiDrivers, "", "", "")...)
	for _, name := range csiDrivers {
		if d.chance(0.15) {
			continue
		}
		driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == poolDriver && d.chance(0.9) || name == diskDriver && d.chance(0.1) {
			driver.Spec.StorageCapacity = ptr(true)
		}
		if name == required {
			driver.Spec.PreventPodSchedulingIfMissing = ptr(true)
		}
		d.c.Storage.CSIDrivers = append(d.c.Storage.CSIDrivers, driver)
	}
}

// csiNode draws the CSINode of a node, and the labels of its drivers.
func (d *draw) csiNode(n *corev1.Node, i int) {
	zone := n.Labels[corev1.LabelTopologyZone]
	if n.Labels != nil && zone != "" {
		for _, key := range some(d, 0.6, ebsZone, gceZone, betaZone) {
			n.Labels[key] = zone
		}
		if d.chance(0.1) {
			n.Labels[betaZone] = pick(d, zones...)
		}
		if d.chance(0.1) {
			delete(n.Labels, corev1.LabelTopologyZone)
		}
		if d.chance(0.3) {
			n.Labels[betaRegion] = pick(d, "r1", "r2")
		}
	}
	if d.chance(0.12) {
		return
	}
	c := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}
	for _, name := range some(d, 0.75, csiDrivers...) {
		driver := storagev1.CSINodeDriver{Name: name, NodeID: fmt.Sprintf("id-%d", i)}
		switch x := d.Float64(); {
		case x < 0.4:
		case x < 0.45:
			driver.Allocatable = &storagev1.VolumeNodeResources{}
		default:
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: ptr(int32(pick(d, 0, 1, 1, 2, 2, 3, 4, 6)))}
		}
		c.Spec.Drivers = append(c.Spec.Drivers, driver)
	}
	if plugins := some(d, 0.5, ebsPlugin, gcePlugin); len(plugins) > 0 {
		c.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: strings.Join(plugins, ",")}
	}
	d.c.Storage.CSINodes = append(d.c.Storage.CSINodes, c)
}

// capacities draws what drivers can provide: one object for each class and segment, or several.
func (d *draw) capacities() {
	for _, class := range []string{"pool", "narrow", "fast"} {
		if class == "fast" && d.chance(0.8) {
			continue
		}
		key := pick(d, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelHostname, "disk")
		for _, value := range d.valuesOf(key) {
			if d.chance(0.15) {
				continue
			}
			d.capacity(class, &metav1.LabelSelector{MatchLabels: map[string]string{key: value}})
		}
		if d.chance(0.2) {
			d.capacity(class, nil)
		}
		if d.chance(0.2) {
			d.capacity(class, pick(d, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "disk", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"ssd"}},
			}}))
		}
	}
}

func (d *draw) capacity(class string, topology *metav1.LabelSelector) {
	c := &storagev1.CSIStorageCapacity{
		ObjectMeta:       metav1.ObjectMeta{Namespace: pick(d, "default", "kube-system"), Name: d.name("capacity")},
		StorageClassName: class, NodeTopology: topology,
	}
	if d.chance(0.95) {
		c.Capacity = bytesOf(int64(pick(d, 0, 1, 2, 5, 10, 20, 50, 100)) * gi)
		// kube-scheduler does not survive scoring a capacity that has a maximum alone.
		if d.chance(0.3) {
			c.MaximumVolumeSize = bytesOf(int64(pick(d, 1, 3, 10, 200)) * gi)
		}
	}
	d.c.Storage.CSIStorageCapacities = append(d.c.Storage.CSIStorageCapacities, c)
}

// valuesOf returns the values that nodes have of a label.
func (d *draw) valuesOf(key string) (values []string) {
	for _, n := range d.c.Nodes {
		if v, ok := n.Labels[key]; ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

func bytesOf(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }

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

// attachment attaches a volume to a node, whether or not a pod uses it there.
func (d *draw) attachment(v *corev1.PersistentVolume) {
	a := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: d.name("attachment")}}
	a.Spec.NodeName, a.Spec.Attacher = pick(d, d.c.Nodes...).Name, diskDriver
	if v.Spec.CSI != nil {
		a.Spec.Attacher = v.Spec.CSI.Driver
	}
	a.Spec.Source.PersistentVolumeName = &v.Name
	if d.chance(0.05) {
		a.Spec.Source.PersistentVolumeName = ptr("missing")
	}
	d.c.Storage.VolumeAttachments = append(d.c.Storage.VolumeAttachments, a)
}
