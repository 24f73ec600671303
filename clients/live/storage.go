package live

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// storage is what the model keeps of storage objects besides messages.
type storage struct {
	// claims reads claims; nil if the storage objects are not read.
	claims      *convert.Storage
	csiNodes    map[string]*stowagev1.CSINode
	attachments map[string]attachment
	toNode      map[string]map[string]bool // the names of the attachments to a node
	ofVolume    map[string]map[string]bool // the names of the attachments of a volume
	owned       owned
}

// attachment is a VolumeAttachment.
type attachment struct{ node, volume, attacher string }

func newStorage() storage {
	return storage{
		csiNodes: map[string]*stowagev1.CSINode{}, attachments: map[string]attachment{},
		toNode: map[string]map[string]bool{}, ofVolume: map[string]map[string]bool{}, owned: owned{},
	}
}

// readStorage makes the model read volumes. All storage objects of the cluster follow as events.
func (m *model) readStorage() {
	m.storage.claims = convert.NewStorage(true)
	m.environment = new(convert.NewEnvironment(m.storage.claims, m.devices.objects))
}

func (m *model) classSet(o *storagev1.StorageClass) {
	converted, err := convert.StorageClass(o)
	m.changed = m.classes.apply(m, o.Name, converted, err) || m.changed
}

func (m *model) classGone(o *storagev1.StorageClass) {
	m.changed = m.classes.apply(m, o.Name, nil, nil) || m.changed
}

func (m *model) driverSet(o *storagev1.CSIDriver) {
	m.changed = m.drivers.apply(m, o.Name, convert.CSIDriver(o), nil) || m.changed
}

func (m *model) driverGone(o *storagev1.CSIDriver) {
	m.changed = m.drivers.apply(m, o.Name, nil, nil) || m.changed
}

func (m *model) capacitySet(o *storagev1.CSIStorageCapacity) {
	converted, err := convert.CSIStorageCapacity(o)
	m.changed = m.capacities.apply(m, keyOf(o), converted, err) || m.changed
}

func (m *model) capacityGone(o *storagev1.CSIStorageCapacity) {
	m.changed = m.capacities.apply(m, keyOf(o), nil, nil) || m.changed
}

func (m *model) volumeSet(o *corev1.PersistentVolume) {
	converted, err := convert.PersistentVolume(o)
	m.setVolume(o.Name, converted, err)
}

func (m *model) volumeGone(o *corev1.PersistentVolume) { m.setVolume(o.Name, nil, nil) }

func (m *model) setVolume(name string, converted *stowagev1.PersistentVolume, err error) {
	if !m.volumes.apply(m, name, converted, err) {
		return
	}
	m.changed = true
	for a := range m.storage.ofVolume[name] {
		m.refresh(m.storage.attachments[a].node)
	}
}

func (m *model) claimSet(o *corev1.PersistentVolumeClaim) {
	converted, err := m.storage.claims.Claim(o)
	if owner := convert.ControllingPod(o); owner != nil && err == nil {
		converted.ControllerPod = m.storage.owned.put(m, keyOf(o), owner)
	}
	m.changed = m.claims.apply(m, keyOf(o), converted, err) || m.changed
}

func (m *model) claimGone(o *corev1.PersistentVolumeClaim) {
	m.storage.owned.drop(keyOf(o), convert.ControllingPod(o))
	m.changed = m.claims.apply(m, keyOf(o), nil, nil) || m.changed
}

func (m *model) csiNodeSet(o *storagev1.CSINode) {
	m.storage.csiNodes[o.Name] = convert.CSINode(o)
	m.refresh(o.Name)
}

func (m *model) csiNodeGone(o *storagev1.CSINode) {
	delete(m.storage.csiNodes, o.Name)
	m.refresh(o.Name)
}

func (m *model) attachmentSet(o *storagev1.VolumeAttachment) {
	m.attachmentGone(o) // its spec is immutable, but it may have been created again
	if volume := o.Spec.Source.PersistentVolumeName; volume != nil {
		a := attachment{node: o.Spec.NodeName, volume: *volume, attacher: o.Spec.Attacher}
		m.storage.attachments[o.Name] = a
		put(m.storage.toNode, a.node, o.Name, true)
		put(m.storage.ofVolume, a.volume, o.Name, true)
		m.refresh(a.node)
	}
}

func (m *model) attachmentGone(o *storagev1.VolumeAttachment) {
	a, known := m.storage.attachments[o.Name]
	if !known {
		return
	}
	delete(m.storage.attachments, o.Name)
	drop(m.storage.toNode, a.node, o.Name)
	drop(m.storage.ofVolume, a.volume, o.Name)
	m.refresh(a.node)
}

// attached returns the volumes that count as attached to a node: only volumes of CSI drivers count against the limits of a driver
// (pkg/scheduler/framework/plugins/nodevolumelimits/csi.go getNodeVolumeAttachmentInfo, v1.37).
func (m *model) attached(node string) []string {
	volumes := map[string]bool{}
	for name := range m.storage.toNode[node] {
		a := m.storage.attachments[name]
		if v := m.volumes.now[a.volume]; v != nil && v.InTreePlugin == "" && v.CsiDriver != "" && v.CsiDriver == a.attacher {
			volumes[a.volume] = true
		}
	}
	return slices.Sorted(maps.Keys(volumes))
}

// refresh applies a change of a node's storage objects.
func (m *model) refresh(name string) {
	if n := m.nodes[name]; n != nil && n.whole != nil {
		m.setWhole(compact.Shallow(n.whole))
	}
}

// setWhole sets a converted node, with its storage objects.
func (m *model) setWhole(converted *stowagev1.Node) {
	name := converted.Name
	converted.CsiNode, converted.AttachedVolumes = m.storage.csiNodes[name], m.attached(name)
	if _, err := encoding(converted); err != nil {
		m.refuseObject(name, converted.Labels, err)
		return
	}
	if n := m.nodes[name]; n != nil && same(n.whole, converted) {
		return // nothing has changed, also for a rejected node
	}
	m.refused.clear("Node", name)
	m.setNode(name, converted, converted)
}

// put sets a value in a map of maps.
func put[K, L comparable, V any](in map[K]map[L]V, of K, at L, v V) {
	if in[of] == nil {
		in[of] = map[L]V{}
	}
	in[of][at] = v
}

// drop removes a value from a map of maps.
func drop[K, L comparable, V any](in map[K]map[L]V, of K, at L) {
	if delete(in[of], at); len(in[of]) == 0 {
		delete(in, of)
	}
}
