package generate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// disks are the names of disks that pods use without a claim, and of disks behind volumes.
var disks = []string{"vol-1", "vol-2", "vol-3"}

// storedVolumes gives a pod volumes. The names of its claims do not depend on its own.
func (d *draw) storedVolumes(pod *corev1.Pod, as role) {
	for range d.oneOrMore(4) {
		var source corev1.VolumeSource
		if d.chance(0.75) {
			source.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.claimName(pod.Namespace)}
			if as == pending && d.chance(0.02) {
				source.PersistentVolumeClaim.ClaimName = "absent"
			}
		} else {
			source = d.disk()
		}
		d.addVolume(pod, source)
	}
}

func (d *draw) addVolume(pod *corev1.Pod, source corev1.VolumeSource) {
	n := len(pod.Spec.Volumes)
	for slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == fmt.Sprintf("volume-%d", n) }) {
		n++
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("volume-%d", n), VolumeSource: source})
}

// claimName returns the name of a claim of a namespace.
func (d *draw) claimName(namespace string) string {
	var names []string
	for _, c := range d.c.Storage.PersistentVolumeClaims {
		if c.Namespace == namespace {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 || d.chance(0.05) {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: d.name("own")}}
		return d.drawnClaim(c).Name
	}
	return pick(d, names...)
}

func (d *draw) disk() (s corev1.VolumeSource) {
	readOnly, name := d.chance(0.4), pick(d, disks...)
	switch d.IntN(8) {
	case 0, 1:
		s.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly}
	case 2, 3:
		s.AWSElasticBlockStore = &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: name, ReadOnly: readOnly}
	case 4:
		s.ISCSI = &corev1.ISCSIVolumeSource{
			TargetPortal: "127.0.0.1", IQN: "iqn.2001-04.com.example:storage." + name, Lun: int32(d.IntN(2)), ReadOnly: readOnly,
		}
	case 5:
		s.RBD = &corev1.RBDVolumeSource{CephMonitors: some(d, 0.6, "a", "b", "c"), RBDImage: name, ReadOnly: readOnly}
		if len(s.RBD.CephMonitors) == 0 {
			s.RBD.CephMonitors = []string{"a"}
		}
		if d.chance(0.4) {
			s.RBD.RBDPool = pick(d, "rbd", "other")
		}
	case 6:
		s.Cinder = &corev1.CinderVolumeSource{VolumeID: name, ReadOnly: readOnly}
	default:
		s.HostPath = &corev1.HostPathVolumeSource{Path: "/tmp"}
	}
	return s
}

// ownVolumes gives a pod with a name claims with that name: of ephemeral volumes, and of a StatefulSet.
func (d *draw) ownVolumes(pod *corev1.Pod, as role) {
	if d.chance(0.1) {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "www-" + pod.Name}}
		d.addVolume(pod, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: d.drawnClaim(c).Name}})
	}
	if !d.chance(0.1) {
		return
	}
	template := &corev1.PersistentVolumeClaimTemplate{}
	d.claimSpec(&template.Spec)
	d.addVolume(pod, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: template}})
	name := pod.Name + "-" + pod.Spec.Volumes[len(pod.Spec.Volumes)-1].Name
	if d.chance(0.1) {
		return // it does not exist yet
	}
	c := d.drawnClaim(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name}})
	owner := metav1.OwnerReference{
		APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: types.UID(pod.Namespace + "/" + pod.Name), Controller: ptr(true),
	}
	c.OwnerReferences = []metav1.OwnerReference{owner}
	// As a nominated pod it would make kube-scheduler fail.
	if as == pending && !d.focus(nomination) && !d.focus(preemption) && !d.focus(queueing) {
		switch x := d.Float64(); {
		case x < 0.15:
			c.OwnerReferences[0].UID = "earlier"
		case x < 0.2:
			c.OwnerReferences = nil
		}
	}
}

// ownOnly takes the volumes from a copy of another pod whose claims have that pod's name.
func (d *draw) ownOnly(pod *corev1.Pod) {
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Ephemeral != nil || v.PersistentVolumeClaim != nil && strings.HasPrefix(v.PersistentVolumeClaim.ClaimName, "www-")
	})
}

// alsoFull makes some cases be about preemption and nominations, too.
func (d *draw) alsoFull() {
	switch x := d.Float64(); {
	case x < 0.3:
		d.likelihood[preemption], d.roomy = 0.98, d.chance(0.7)
	case x < 0.4:
		d.likelihood[nomination] = 0.97
	}
}

// alsoBinds makes a part of the cases have volumes or devices whose profile is about pods that come and go.
func (d *draw) alsoBinds() {
	if !d.focus(queueing) && !d.focus(preemption) && !d.focus(longQueue) && !d.focus(simulation) && !d.focus(grouping) {
		return
	}
	switch x := d.Float64(); {
	case x < 0.15:
		d.likelihood[storing] = 0.7
	case x > 0.85 && !d.focus(queueing) && !d.focus(grouping):
		d.likelihood[devicing] = 0.7
	}
}

// owns draws whether a pod has claims of its name. The replacement of an evicted pod has no name.
func (d *draw) owns() bool { return !d.focus(simulation) && !d.focus(grouping) && d.stores() }

// claimIn gives a pod that changes its namespace claims of that namespace.
func (d *draw) claimIn(namespace string, pod *corev1.Pod) {
	if pod.Namespace == namespace {
		return
	}
	pod.Namespace = namespace
	d.ownOnly(pod)
	for i := range pod.Spec.Volumes {
		if c := pod.Spec.Volumes[i].PersistentVolumeClaim; c != nil {
			c.ClaimName = d.claimName(namespace)
		}
	}
}

// stores draws whether a pod has volumes. Profiles without them draw nothing.
func (d *draw) stores() bool { return d.likelihood[storing] > 0 && d.has(storing) }
