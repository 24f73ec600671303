package api

import (
	"cmp"
	"slices"
	"strings"
)

// Storage is the storage objects of a cluster. Names are unique in each list, of claims and capacities in their namespaces.
type Storage struct {
	Classes    []StorageClass
	Drivers    []CSIDriver
	Capacities []StorageCapacity
	Volumes    []PersistentVolume
	Claims     []PersistentVolumeClaim
}

// Len returns the number of objects.
func (s *Storage) Len() int {
	return len(s.Classes) + len(s.Drivers) + len(s.Capacities) + len(s.Volumes) + len(s.Claims)
}

// Sort puts the objects into the order of their names.
func (s *Storage) Sort() {
	slices.SortFunc(s.Classes, func(a, b StorageClass) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Drivers, func(a, b CSIDriver) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Capacities, func(a, b StorageCapacity) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(s.Volumes, func(a, b PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Claims, func(a, b PersistentVolumeClaim) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// StorageChange is a change of storage objects.
type StorageChange struct {
	// Set are new objects, and objects that replace the ones of their names.
	Set Storage
	// Removed are the names of objects to remove. None of them is in Set.
	Removed StorageNames
}

// StorageNames are names of storage objects, by list.
type StorageNames struct {
	Classes, Drivers []string
	Capacities       []ObjectName
	Volumes          []string
	Claims           []ObjectName
}

// ObjectName is the name of an object of a namespace.
type ObjectName struct{ Namespace, Name string }

// Len returns the number of names.
func (n *StorageNames) Len() int {
	return len(n.Classes) + len(n.Drivers) + len(n.Capacities) + len(n.Volumes) + len(n.Claims)
}

// Len returns the number of changes.
func (c *StorageChange) Len() int { return c.Set.Len() + c.Removed.Len() }

// StorageClass is a class of volumes.
type StorageClass struct {
	Name string
	// Provisioner is empty or NoProvisioner if no volumes are provisioned.
	Provisioner       string
	VolumeBindingMode VolumeBindingMode
	// CSIDriver is the driver that a provisioner in the Kubernetes tree is migrated to; empty for none.
	CSIDriver string
	// AllowedTopologies are the nodes for which volumes are provisioned; nil for all.
	AllowedTopologies *NodeSelector
}

// NoProvisioner is the provisioner of classes whose volumes are created by hand.
const NoProvisioner = "kubernetes.io/no-provisioner"

// VolumeBindingMode is when claims of a class are bound.
type VolumeBindingMode uint8

// The modes. NoBindingMode is a class without one, which is an error.
const (
	NoBindingMode VolumeBindingMode = iota
	BindImmediately
	WaitForFirstConsumer
)

// CSIDriver is a CSI driver of the cluster.
type CSIDriver struct {
	Name string
	// StorageCapacity is whether claims are provisioned only where a StorageCapacity has room for them.
	StorageCapacity bool
	// PreventPodSchedulingIfMissing is whether pods need a node with the driver.
	PreventPodSchedulingIfMissing bool
}

// StorageCapacity is what a driver can still provide for a class to some nodes.
type StorageCapacity struct {
	Namespace, Name  string
	StorageClassName string
	NodeTopology     *LabelSelector // nil: no node
	// Capacity and MaximumVolumeSize are in bytes; nil if absent.
	Capacity, MaximumVolumeSize *int64
}

// Limit returns the greatest size of a volume, and whether there is one.
func (c *StorageCapacity) Limit() (bytes int64, ok bool) {
	switch {
	case c.MaximumVolumeSize != nil:
		return *c.MaximumVolumeSize, true
	case c.Capacity != nil:
		return *c.Capacity, true
	}
	return 0, false
}

// PersistentVolume is a volume of the cluster.
type PersistentVolume struct {
	Name                      string
	Labels                    Labels
	StorageClassName          string
	Capacity                  int64 // in bytes
	AccessModes               AccessModes
	VolumeMode                VolumeMode
	VolumeAttributesClassName string
	Claim                     *ClaimReference // nil if the volume is neither bound nor reserved
	Available                 bool
	Terminating               bool
	NodeAffinity              *NodeSelector // nil for all nodes
	// CSIDriver and VolumeHandle are the migrated volume's if InTreePlugin is not empty. They are empty for volumes of other kinds.
	CSIDriver, VolumeHandle string
	InTreePlugin            string
	// MigratedNodeAffinity counts instead of NodeAffinity on nodes where InTreePlugin is migrated; nil if they are the same.
	MigratedNodeAffinity *NodeSelector
}

// ClaimReference is the claim that a volume is bound to or reserved for.
type ClaimReference struct {
	Namespace, Name string
	UID             string // empty for any
}

// AccessModes are the access modes of a claim or a volume.
type AccessModes struct{ ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod bool }

// Has reports whether m has all modes of another set.
func (m AccessModes) Has(all AccessModes) bool {
	return (m.ReadWriteOnce || !all.ReadWriteOnce) && (m.ReadOnlyMany || !all.ReadOnlyMany) &&
		(m.ReadWriteMany || !all.ReadWriteMany) && (m.ReadWriteOncePod || !all.ReadWriteOncePod)
}

// VolumeMode is how a volume is used.
type VolumeMode uint8

// The modes. DefaultVolumeMode is the same as Filesystem.
const (
	DefaultVolumeMode VolumeMode = iota
	Filesystem
	Block
)

// PersistentVolumeClaim is a claim of a namespace.
type PersistentVolumeClaim struct {
	Namespace, Name string
	UID             string
	Spec            ClaimSpec
	VolumeName      string
	BindCompleted   bool
	// SelectedNode is the name of the node that a volume is provisioned for; empty for none.
	SelectedNode string
	Lost         bool
	Terminating  bool
	// ControllerPod is the name of the pod that controls the claim of an ephemeral volume.
	ControllerPod string
}

// Bound reports whether the claim is bound to its volume.
func (c *PersistentVolumeClaim) Bound() bool { return c.VolumeName != "" && c.BindCompleted }

// ClaimSpec is the part of a claim that the claims of one template share.
type ClaimSpec struct {
	StorageClassName          string
	StorageRequest            *int64 // in bytes; nil if absent
	AccessModes               AccessModes
	VolumeMode                VolumeMode
	Selector                  *LabelSelector // nil for all volumes
	VolumeAttributesClassName string
}

// Bytes returns the requested storage, 0 if it is absent.
func (s *ClaimSpec) Bytes() int64 {
	if s.StorageRequest == nil {
		return 0
	}
	return *s.StorageRequest
}

// CSINode is what a node says about its CSI drivers.
type CSINode struct {
	Drivers         []CSINodeDriver
	MigratedPlugins []string
}

// Driver returns a driver of the node, nil if it has none of that name.
func (n *CSINode) Driver(name string) *CSINodeDriver {
	if n == nil {
		return nil
	}
	for i := range n.Drivers {
		if n.Drivers[i].Name == name {
			return &n.Drivers[i]
		}
	}
	return nil
}

// CSINodeDriver is a CSI driver on a node.
type CSINodeDriver struct {
	Name string
	// AllocatableCount is the number of volumes that the driver can attach; nil for no limit.
	AllocatableCount *int32
}

// PodVolume is a volume of a pod that a storage object or a disk is behind.
type PodVolume struct {
	Claim *PodClaim // nil for a disk
	Disk  Disk
}

// PodClaim is a claim that a pod uses.
type PodClaim struct {
	// Name is the claim's name; with OfPod the part before the pod's name; of an ephemeral volume, the part behind it.
	Name      string
	OfPod     bool
	Ephemeral bool
	// Template is the claim that a controller creates if there is none of that name; nil if it is missing then.
	Template *ClaimSpec
}

// Of returns the name of the claim that a pod uses.
func (c *PodClaim) Of(pod string) string {
	switch {
	case c.Ephemeral:
		return pod + "-" + c.Name
	case c.OfPod:
		return c.Name + "-" + pod
	}
	return c.Name
}

// DiskKind is a kind of disk that conflicts with other uses of it on a node.
type DiskKind uint8

// The kinds. OtherDisk conflicts with nothing.
const (
	OtherDisk DiskKind = iota
	GCEPersistentDisk
	AWSElasticBlockStore
	ISCSI
	RBD
)

// Disk is a disk that pods use without a claim.
type Disk struct {
	Kind     DiskKind
	ID       string
	Monitors []string // of RBD
	ReadOnly bool
	// CSIDriver and VolumeHandle are the migrated volume's, empty if there is none.
	CSIDriver, VolumeHandle string
}
