package kube

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// storageSet is the storage objects whose messages depend on other objects.
type storageSet struct {
	*convert.Storage
	claims      []addedClaim
	nodes       map[string]addedCSINode
	attachments []*storagev1.VolumeAttachment
	detaching   int
}

type addedClaim struct {
	object *corev1.PersistentVolumeClaim
	at     string
}

type addedCSINode struct {
	object  *storagev1.CSINode
	message *stowagev1.CSINode
	at      string
}

func newStorageSet(s *convert.Storage) storageSet {
	return storageSet{Storage: s, nodes: map[string]addedCSINode{}}
}

// AddStorageClass adds a StorageClass.
func (b *Builder) AddStorageClass(s *storagev1.StorageClass) error {
	return b.stored(Origin{Kind: "StorageClass", Name: s.Name}, func() error {
		out, err := convert.StorageClass(s)
		b.storage.AddClass(s)
		put(b, &b.cluster.StorageClasses, out, err)
		return err
	})
}

// AddCSIDriver adds a CSIDriver.
func (b *Builder) AddCSIDriver(d *storagev1.CSIDriver) error {
	return b.stored(Origin{Kind: "CSIDriver", Name: d.Name}, func() error {
		put(b, &b.cluster.CsiDrivers, convert.CSIDriver(d), nil)
		return nil
	})
}

// AddCSIStorageCapacity adds a CSIStorageCapacity.
func (b *Builder) AddCSIStorageCapacity(s *storagev1.CSIStorageCapacity) error {
	return b.stored(object.Of("CSIStorageCapacity", s), func() error {
		out, err := convert.CSIStorageCapacity(s)
		put(b, &b.cluster.CsiStorageCapacities, out, err)
		return err
	})
}

// AddCSINode adds a CSINode. The node may be added before or after it.
func (b *Builder) AddCSINode(n *storagev1.CSINode) error {
	return b.stored(Origin{Kind: "CSINode", Name: n.Name}, func() error {
		b.storage.nodes[n.Name] = addedCSINode{n, convert.CSINode(n), b.objects.at}
		return nil
	})
}

// AddVolumeAttachment adds a VolumeAttachment. Its node and its volume may be added before or after it.
func (b *Builder) AddVolumeAttachment(a *storagev1.VolumeAttachment) error {
	return b.stored(Origin{Kind: "VolumeAttachment", Name: a.Name}, func() error {
		b.storage.attachments = append(b.storage.attachments, a)
		return nil
	})
}

// AddPersistentVolume adds a PersistentVolume.
func (b *Builder) AddPersistentVolume(v *corev1.PersistentVolume) error {
	return b.stored(Origin{Kind: "PersistentVolume", Name: v.Name}, func() error {
		out, err := convert.PersistentVolume(v)
		b.storage.AddVolume(v)
		put(b, &b.cluster.PersistentVolumes, out, err)
		return err
	})
}

// AddPersistentVolumeClaim adds a PersistentVolumeClaim. The pods that use it may be added before or after it.
func (b *Builder) AddPersistentVolumeClaim(p *corev1.PersistentVolumeClaim) error {
	return b.stored(object.Of("PersistentVolumeClaim", p), func() error {
		b.storage.AddClaim(p)
		b.storage.claims = append(b.storage.claims, addedClaim{p, b.objects.at})
		return nil
	})
}

// stored adds a storage object. One that does not convert counts as missing.
func (b *Builder) stored(o Origin, add func() error) error {
	if err := b.objects.once(o); err != nil {
		return err
	}
	return b.objects.misread(o, false, add())
}

// put adds a message to a list of the cluster, unless there is an error.
func put[M proto.Message](b *Builder, list *[]M, out M, err error) {
	if err == nil {
		*list = append(*list, out)
		b.objects.place(out, "")
	}
}

// store converts the storage objects that depend on others, once everything is added.
func (b *Builder) store() {
	pods := map[types.NamespacedName]types.UID{}
	if slices.ContainsFunc(b.storage.claims, func(c addedClaim) bool { return convert.ControllingPod(c.object) != nil }) {
		for p := range b.addedPods() {
			pods[types.NamespacedName{Namespace: object.Namespace(p), Name: p.Name}] = p.UID
		}
	}
	for _, c := range b.storage.claims {
		b.objects.at = c.at
		out, err := b.storage.Claim(c.object)
		if err != nil {
			_ = b.objects.misread(object.Of("PersistentVolumeClaim", c.object), false, err)
			continue
		}
		if out == nil {
			continue
		}
		if owner := convert.ControllingPod(c.object); owner != nil {
			if uid, there := pods[types.NamespacedName{Namespace: out.Namespace, Name: owner.Name}]; !there || uid == owner.UID {
				out.ControllerPod = owner.Name
			}
		}
		put(b, &b.cluster.PersistentVolumeClaims, out, nil)
	}
	for name, n := range b.storage.nodes {
		if i, ok := b.nodes.index[name]; ok {
			b.nodes.converted[i].CsiNode = n.message
			b.objects.places[n.message] = convert.Place{At: n.at, Path: "spec"}
		}
	}
	b.attach()
	if b.lacksClaims() {
		b.storage.Uncount()
	}
}

// lacksClaims reports whether a node that limits volumes has a pod whose claims were not added.
func (b *Builder) lacksClaims() bool {
	for node, residents := range b.nodes.residents {
		limited := slices.ContainsFunc(b.nodes.converted[node].GetCsiNode().GetDrivers(), func(d *stowagev1.CSINodeDriver) bool { return d.AllocatableCount != nil })
		if limited && slices.ContainsFunc(residents, func(r resident) bool { return b.storage.Lacks(r.source.Pod) }) {
			return true
		}
	}
	return false
}

// attach puts attached volumes on their nodes. Only volumes of CSI drivers count against the limits of a driver
// (pkg/scheduler/framework/plugins/nodevolumelimits/csi.go getNodeVolumeAttachmentInfo, v1.37).
func (b *Builder) attach() {
	attached := map[string]map[string]bool{}
	for _, a := range b.storage.attachments {
		name := a.Spec.Source.PersistentVolumeName
		if name == nil || b.storage.Volume(*name) == nil {
			continue
		}
		if csi := b.storage.Volume(*name).Spec.CSI; csi == nil || csi.Driver != a.Spec.Attacher {
			continue
		}
		if attached[a.Spec.NodeName] == nil {
			attached[a.Spec.NodeName] = map[string]bool{}
		}
		attached[a.Spec.NodeName][*name] = true
	}
	bound := map[types.NamespacedName]string{} // volumes by claim
	for _, c := range b.storage.claims {
		bound[types.NamespacedName{Namespace: object.Namespace(c.object), Name: c.object.Name}] = c.object.Spec.VolumeName
	}
	for node, volumes := range attached {
		i, ok := b.nodes.index[node]
		if !ok {
			continue
		}
		if b.options.DetachVolumes {
			b.storage.detaching += b.detach(i, volumes, bound)
		}
		b.nodes.converted[i].AttachedVolumes = slices.Sorted(maps.Keys(volumes))
	}
}

// detach leaves out the volumes that pods of a node use: as long as the pods are there, these count without a VolumeAttachment, too. It returns
// their number.
func (b *Builder) detach(node int, volumes map[string]bool, bound map[types.NamespacedName]string) int {
	before := len(volumes)
	for _, r := range b.nodes.residents[node] {
		p := r.source.Pod
		for i := range p.Spec.Volumes {
			claim := types.NamespacedName{Namespace: object.Namespace(p), Name: convert.ClaimName(p, &p.Spec.Volumes[i])}
			delete(volumes, bound[claim])
		}
	}
	return before - len(volumes)
}

// assume adds the classes that pods need and that were not added.
func (b *Builder) assume(out *Snapshot) {
	b.storage.Close()
	classes := b.storage.Assumed()
	b.cluster.StorageClasses = append(b.cluster.StorageClasses, classes...)
	for _, c := range classes {
		out.AssumedClasses = append(out.AssumedClasses, c.Name)
	}
	out.AssumedClaims, out.Detaching = b.storage.AssumedClaims(), b.storage.detaching
}
