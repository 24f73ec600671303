package generate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
