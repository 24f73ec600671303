package live

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// PendingPod converts a pending pod of the cluster, with a template of its own. Its claims and disks are unread fields if storage objects
// are not read, and its claims of devices if their objects are not.
func (c *Cluster) PendingPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	c.mutex.Lock()
	e := c.model.environment // does not change once the cluster is read
	c.mutex.Unlock()
	return e.PodWithClaims(p)
}

// Claims are the claims of a pod that need attention. They are empty if storage objects are not read.
type Claims struct {
	// Missing are the claims that the cluster does not have.
	Missing []string
	// Waiting are the claims that get a volume, or the node for which a volume is provisioned, when the pod gets its node.
	Waiting []string
}

// ClaimsOf returns the claims of a pod that need attention, by their names.
func (c *Cluster) ClaimsOf(p *corev1.Pod) (out Claims) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	m := c.model
	if m.storage.claims == nil {
		return out
	}
	for _, v := range p.Spec.Volumes {
		var name string
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = p.Name + "-" + v.Name
		default:
			continue
		}
		claim := m.claims.now[objectKey{Namespace: p.Namespace, Name: name}]
		class := m.classes.now[claim.GetSpec().GetStorageClassName()]
		switch {
		case claim == nil:
			out.Missing = append(out.Missing, name)
		case claim.VolumeName == "" && class.GetVolumeBindingMode() == stowagev1.VolumeBindingMode_VOLUME_BINDING_MODE_WAIT_FOR_FIRST_CONSUMER:
			out.Waiting = append(out.Waiting, name)
		}
	}
	return out
}

// CSINode returns the CSINode of a node, nil if there is none or if storage objects are not read. It must not be changed.
func (c *Cluster) CSINode(name string) *storagev1.CSINode {
	if !c.ReadsVolumes() {
		return nil
	}
	o, _, err := c.informers.InformerFor(&storagev1.CSINode{}, nil).GetStore().GetByKey(name)
	if err != nil {
		return nil
	}
	out, _ := o.(*storagev1.CSINode)
	return out
}

// CSIDrivers returns the names of the CSIDrivers, none if storage objects are not read.
func (c *Cluster) CSIDrivers() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Sorted(maps.Keys(c.model.drivers.now))
}
