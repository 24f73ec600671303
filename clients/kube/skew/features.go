package skew

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// HasDeclaredFeatures reports whether this release has the features that nodes declare.
func HasDeclaredFeatures() bool { return declaredFeatures != nil }

// DeclaredFeatures returns status.declaredFeatures of a node.
func DeclaredFeatures(s *corev1.NodeStatus) []string {
	if !HasDeclaredFeatures() {
		return nil
	}
	features, _ := reflect.TypeAssert[[]string](reflect.ValueOf(s).Elem().FieldByIndex(declaredFeatures))
	return features
}

// RequiredFeatures returns the features that a node must declare for kube-scheduler to take it, for a pod that is scheduled, in
// ascending order (k8s.io/component-helpers/nodedeclaredfeatures/features, v0.37: InferForScheduling of each).
func RequiredFeatures(s *corev1.PodSpec) []string {
	var out []string
	for _, f := range []struct {
		name   string
		needed func(*corev1.PodSpec) bool
	}{
		{"RestartAllContainersOnContainerExits", restartsAllContainers},
		{"UserNamespacesHostNetworkSupport", func(s *corev1.PodSpec) bool { return s.HostNetwork && s.HostUsers != nil && !*s.HostUsers }},
		{"VolumeBindMountOptions", hasBindMountOptions},
	} {
		if f.needed(s) {
			out = append(out, f.name)
		}
	}
	return out
}

func restartsAllContainers(s *corev1.PodSpec) bool {
	for _, containers := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			for _, rule := range containers[i].RestartPolicyRules {
				if rule.Action == "RestartAllContainers" { // since v1.35
					return true
				}
			}
		}
	}
	return false
}

func hasBindMountOptions(s *corev1.PodSpec) bool {
	if bindMountOptions == nil {
		return false
	}
	has := func(mounts []corev1.VolumeMount) bool {
		for i := range mounts {
			if reflect.ValueOf(&mounts[i]).Elem().FieldByIndex(bindMountOptions).Len() > 0 {
				return true
			}
		}
		return false
	}
	for _, containers := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			if has(containers[i].VolumeMounts) {
				return true
			}
		}
	}
	for i := range s.EphemeralContainers {
		if has(s.EphemeralContainers[i].VolumeMounts) {
			return true
		}
	}
	return false
}

// Untolerated reports whether one of a node's taints, of those with an effect that keeps pods away, is tolerated by none of the tolerations,
// without the operators Lt and Gt (k8s.io/api/core/v1 Toleration.ToleratesTaint, v1.37).
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) bool {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !tolerated(&taints[i], tolerations) {
			return true
		}
	}
	return false
}

func tolerated(taint *corev1.Taint, tolerations []corev1.Toleration) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			continue
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			if t.Value == taint.Value {
				return true
			}
		case corev1.TolerationOpExists:
			return true
		}
	}
	return false
}
