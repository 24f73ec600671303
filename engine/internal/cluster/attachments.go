package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Attachment is a volume of a CSI driver, as nodes attach it.
type Attachment struct {
	Driver string
	// Handle is the volume's handle, or stands for the volume that a claim will get. It is empty for the claim that a pod without a
	// name has alone.
	Handle string
	// Migrated volumes count only on nodes with a CSINode.
	Migrated bool
}

// AttachmentOf returns what a volume of a pod is attached as, and whether it counts (pkg/scheduler/framework/plugins/nodevolumelimits/
// csi.go filterAttachableVolumes, v1.37).
func (s *State) AttachmentOf(v *Volume) (a Attachment, counts bool) {
	if v.Of == nil {
		a = Attachment{v.Disk.CSIDriver, v.Disk.VolumeHandle, true}
		return a, a.Driver != ""
	}
	claim, found := s.FindClaim(v)
	if !found {
		return a, false
	}
	if claim.Object != nil && claim.Object.VolumeName != "" {
		if of := s.storage.Volume(claim.Object.VolumeName); of != nil {
			a = Attachment{of.CSIDriver, of.VolumeHandle, of.InTreePlugin != ""}
			return a, a.Driver != "" && a.Handle != ""
		}
	}
	class := s.storage.Class(claim.Spec.StorageClassName)
	if class == nil || class.Provisioner == "" {
		return a, false
	}
	if a = (Attachment{Driver: class.Provisioner}); class.CSIDriver != "" {
		a.Driver, a.Migrated = class.CSIDriver, true
	}
	if v.Claim.Name != "" {
		a.Handle = "claim " + v.Claim.Namespace + "/" + v.Claim.Name // no volume has it: the API server allows no such handles of claims
	}
	return a, true
}

// LimitsOf returns by node how many volumes a driver can attach, -1 for no limit; nil if no node has one.
func (c *Cluster) LimitsOf(driver string) []int64 {
	list := c.CSINodes()
	limits, limited := make([]int64, len(list)), false
	for i, n := range list {
		limits[i] = -1
		if d := n.Driver(driver); d != nil && d.AllocatableCount != nil {
			limits[i], limited = int64(*d.AllocatableCount), true
		}
	}
	if !limited {
		return nil
	}
	out, number := make([]int64, c.Len()), c.CSINodeNumbers()
	for node := range out {
		out[node] = limits[number(uint32(node))]
	}
	return out
}

// Attached is what is attached to nodes of one driver.
type Attached struct {
	// Counts are the volumes of pods and of VolumeAttachments by node, each once.
	Counts []int64
	// pods are the nodes with pods that use an attachment, ascending.
	pods map[string][]uint32
	// own is, by node, the volumes of VolumeAttachments.
	own map[uint32]map[string]bool
}

// UsedOn reports whether a pod of a node uses an attachment.
func (a *Attached) UsedOn(node uint32, handle string) bool {
	_, found := slices.BinarySearch(a.pods[handle], node)
	return found
}

// Holds reports whether a VolumeAttachment of a node holds an attachment, whether or not pods use it.
func (a *Attached) Holds(node uint32, handle string) bool { return a.own[node][handle] }

// HeldWithout returns the number of volumes of VolumeAttachments of a node that are not used.
func (a *Attached) HeldWithout(node uint32, used func(handle string) bool) (n int64) {
	for handle := range a.own[node] {
		if !used(handle) {
			n++
		}
	}
	return n
}

// AttachedBy returns what is attached of a driver.
func (s *State) AttachedBy(driver string) *Attached {
	a := &Attached{Counts: make([]int64, s.Len()), pods: make(map[string][]uint32), own: make(map[uint32]map[string]bool)}
	lacks := s.WithCSINode(func(n *api.CSINode) bool { return n == nil })
	for _, g := range s.WithVolumes() {
		var seen []string
		for i := range g.Volumes {
			of, counts := s.AttachmentOf(&g.Volumes[i])
			if !counts || of.Driver != driver || of.Handle != "" && slices.Contains(seen, of.Handle) {
				continue
			}
			seen = append(seen, of.Handle)
			for node, pods := range g.All() {
				switch {
				case of.Migrated && lacks.Has(node):
				case of.Handle == "":
					a.Counts[node] += int64(pods)
				default:
					a.pods[of.Handle] = append(a.pods[of.Handle], node)
				}
			}
		}
	}
	for handle, nodes := range a.pods {
		slices.Sort(nodes)
		nodes = slices.Compact(nodes)
		a.pods[handle] = nodes
		for _, node := range nodes {
			a.Counts[node]++
		}
	}
	for node := range uint32(s.Len()) {
		for _, name := range s.AttachedTo(node) {
			v := s.storage.Volume(name)
			if v == nil || v.CSIDriver != driver || v.InTreePlugin != "" || a.own[node][v.VolumeHandle] {
				continue
			}
			if a.own[node] == nil {
				a.own[node] = make(map[string]bool)
			}
			if a.own[node][v.VolumeHandle] = true; !a.UsedOn(node, v.VolumeHandle) {
				a.Counts[node]++
			}
		}
	}
	return a
}
