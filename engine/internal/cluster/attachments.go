package cluster

import "slices"

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
func (c *Cluster) AttachmentOf(v *Volume) (a Attachment, counts bool) {
	if v.Of == nil {
		a = Attachment{v.Disk.CSIDriver, v.Disk.VolumeHandle, true}
		return a, a.Driver != ""
	}
	claim, found := c.FindClaim(v)
	if !found {
		return a, false
	}
	if claim.Object != nil && claim.Object.VolumeName != "" {
		if of := c.storage.Volume(claim.Object.VolumeName); of != nil {
			a = Attachment{of.CSIDriver, of.VolumeHandle, of.InTreePlugin != ""}
			return a, a.Driver != "" && a.Handle != ""
		}
	}
	class := c.storage.Class(claim.Spec.StorageClassName)
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

// AttachmentsOf returns what volumes of a pod are attached as, each once. A volume counts on all nodes if one use of it does.
func (c *Cluster) AttachmentsOf(volumes []Volume) (out []Attachment) {
	for i := range volumes {
		a, counts := c.AttachmentOf(&volumes[i])
		if !counts {
			continue
		}
		same := func(b Attachment) bool { return a.Handle != "" && a.Driver == b.Driver && a.Handle == b.Handle }
		if at := slices.IndexFunc(out, same); at >= 0 {
			out[at].Migrated = out[at].Migrated && a.Migrated
		} else {
			out = append(out, a)
		}
	}
	return out
}

// AttachmentsBy is AttachmentsOf for one driver.
func (c *Cluster) AttachmentsBy(driver string, volumes []Volume) []Attachment {
	return slices.DeleteFunc(c.AttachmentsOf(volumes), func(a Attachment) bool { return a.Driver != driver })
}
