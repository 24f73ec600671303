package decode

import (
	"bytes"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Field numbers of PodTemplate.
const (
	templateNamespace = 1 + iota
	templateLabels
)

// ownTemplate reads a template whose memory nothing else shares, and reports whether it is valid. form is its canonical form.
func (r *reader) ownTemplate(raw []byte) (_ *api.PodTemplate, form []byte, ok bool) {
	to, added, found := r.to, *r.added, r.found
	r.to = &r.kept
	defer func() { r.to = to }()
	out := new(api.PodTemplate)
	form = bytes.Clone(raw)
	if *out, ok = read(r, path{}, form, (*reader).podTemplate); !ok {
		if form = usual(raw, new(stowagev1.PodTemplate)); form == nil {
			return nil, nil, false
		}
		*r.added, r.found = added, found
		*out, ok = read(r, path{}, form, (*reader).podTemplate)
	}
	return out, form, ok && len(r.violations) == 0
}

// controllerReference reads a controller reference. It has no name for kinds whose selectors kube-scheduler does not look up
// (pkg/scheduler/framework/plugins/helper/spread.go, v1.37). The controller of a mirror pod is its node.
func (r *reader) controllerReference(at *path, in *scan) api.ControllerReference {
	apiVersion, kind, name, gone := in.text(1), in.text(2), in.text(3), in.bool(4)
	r.length(at.field("name"), name, MaxNameBytes)
	switch [2]string{apiVersion, kind} {
	case [2]string{"v1", "ReplicationController"}:
		return api.ControllerReference{Kind: api.ReplicationController, Name: name}
	case [2]string{"apps/v1", "ReplicaSet"}:
		return api.ControllerReference{Kind: api.ReplicaSet, Name: name}
	case [2]string{"apps/v1", "StatefulSet"}:
		return api.ControllerReference{Kind: api.StatefulSet, Name: name}
	case [2]string{"apps/v1", "DaemonSet"}:
		return api.ControllerReference{Kind: api.DaemonSet, Gone: gone}
	case [2]string{"v1", "Node"}:
		if gone {
			return api.ControllerReference{Kind: api.OtherController, Gone: true}
		}
		return api.ControllerReference{Kind: api.DaemonSet, Mirror: true}
	case [2]string{}:
		return api.ControllerReference{}
	}
	return api.ControllerReference{Kind: api.OtherController}
}

func (r *reader) preemptionPolicy(at *path, in *scan, out *api.PodSpec) {
	policy := stowagev1.PreemptionPolicy(in.int32(13))
	out.NeverPreempts, _ = enum(r.problems, at, "preemption_policy", policy, false, true)
	if isDefault(policy) && !r.asStated {
		in.fail() // the canonical form leaves it out
	}
}

func isDefault(p stowagev1.PreemptionPolicy) bool {
	return p == stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY
}

// volumes reads the volumes that decisions depend on: images, claims and disks, and whether there is an emptyDir.
func (r *reader) volumes(at *path, in *scan, out *api.PodSpec) {
	for _, v := range list(r, at, in, 9, "volumes", MaxContainers, (*reader).volume) {
		switch v := v.(type) {
		case string:
			out.ImageVolumes = append(out.ImageVolumes, v)
		case api.PodVolume:
			out.Volumes = append(out.Volumes, v)
		default:
			out.EmptyDir = true
		}
	}
}

// volume reads a volume: the reference of an image, a claim or a disk, or nil for an emptyDir.
func (r *reader) volume(at *path, in *scan) any {
	switch {
	case in.nextIs(sized(1)):
		return one(r, at, in, 1, "image", func(_ *reader, _ *path, in *scan) string { return in.text(1) })
	case in.nextIs(sized(2)):
		one(r, at, in, 2, "empty_dir", func(*reader, *path, *scan) (none struct{}) { return none })
	case in.nextIs(sized(3)):
		claim := one(r, at, in, 3, "persistent_volume_claim", (*reader).persistentVolumeClaimVolumeSource)
		return api.PodVolume{Claim: &claim}
	case in.nextIs(sized(4)):
		claim := one(r, at, in, 4, "ephemeral", (*reader).ephemeralVolumeSource)
		claim.Ephemeral = true
		return api.PodVolume{Claim: &claim}
	case in.nextIs(sized(5)):
		return api.PodVolume{Disk: one(r, at, in, 5, "disk", (*reader).diskVolumeSource)}
	default:
		r.require(false, at.field("source"))
	}
	return nil
}

// mainContainer reads a container for which restart_policy has no effect.
func (r *reader) mainContainer(at *path, in *scan) api.Container {
	out := r.container(at, in)
	out.Sidecar = false
	return out
}
