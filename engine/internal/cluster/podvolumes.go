package cluster

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Volume is a claim or a disk that a pod uses.
type Volume struct {
	// Claim is the name of the claim. It is empty for a disk, and for the claim that a pod without a name has alone.
	Claim ClaimName
	// Of is the claim in the pod's template; nil for a disk.
	Of   *api.PodClaim
	Disk api.Disk
}

// SameClaim reports whether two volumes of pods name one claim. Ephemeral volumes name none.
func (v *Volume) SameClaim(other *Volume) bool {
	named := func(v *Volume) bool { return v.Of != nil && !v.Of.Ephemeral && v.Claim.Name != "" }
	return named(v) && named(other) && v.Claim == other.Claim
}

// volumesOf returns the volumes of a pod.
func volumesOf(template *api.PodTemplate, pod string) []Volume {
	list := template.Spec.Volumes
	if len(list) == 0 {
		return nil
	}
	out := make([]Volume, len(list))
	for i := range list {
		of := list[i].Claim
		if of == nil {
			out[i].Disk = list[i].Disk
			continue
		}
		out[i].Of = of
		if pod != "" || !of.OfPod && !of.Ephemeral {
			out[i].Claim = ClaimName{Namespace: template.Namespace, Name: of.Of(pod)}
		}
	}
	return out
}

// Attaches reports whether pods use volumes that are bound or attached. What the rules of such a pod allow depends on the claims that
// other pods bound, and on volumes that several pods of a node share.
func Attaches(spec *api.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v api.PodVolume) bool { return v.Claim != nil || v.Disk.CSIDriver != "" })
}

// ClaimsOfPods reports whether the names of claims depend on the names of the pods.
func ClaimsOfPods(spec *api.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v api.PodVolume) bool { return v.Claim != nil && (v.Claim.OfPod || v.Claim.Ephemeral) })
}

// appendVolumes appends a key of volumes.
func appendVolumes(b []byte, volumes []Volume) []byte {
	for i := range volumes {
		v := &volumes[i]
		if v.Of == nil {
			d := &v.Disk
			b = append(b, 'd', byte(d.Kind), flag(d.ReadOnly))
			b = appendText(appendText(appendText(b, d.ID), d.CSIDriver), d.VolumeHandle)
			b = appendTexts(b, d.Monitors)
			continue
		}
		b = append(b, 'c', flag(v.Of.Ephemeral))
		b = appendText(appendText(b, v.Claim.Namespace), v.Claim.Name)
		if t := v.Of.Template; t != nil {
			b = append(b, 't')
			b = appendText(b, t.StorageClassName)
		}
	}
	return b
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// WithVolumes iterates over the groups whose pods have claims or disks, until the request ends.
func (s *State) WithVolumes() iter.Seq2[int, *Group] { return s.groupsAt(s.volumeGroups) }
