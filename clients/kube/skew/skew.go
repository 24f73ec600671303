// Package skew reads fields and kinds that not every supported release of k8s.io/api has, so that the conversion compiles with each of them.
// A field that the importing module's release lacks counts as absent, as that release's decoder drops it.
package skew

import (
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Operators of tolerations, since v1.35.
const (
	TolerationOpLt corev1.TolerationOperator = "Lt"
	TolerationOpGt corev1.TolerationOperator = "Gt"
)

// Fields of structs, nil where this release lacks them.
var (
	schedulingGroup  = index(reflect.TypeFor[corev1.PodSpec](), "SchedulingGroup") // since v1.36
	podGroupName     = innerIndex(reflect.TypeFor[corev1.PodSpec](), schedulingGroup, "PodGroupName")
	jobScheduling    = index(reflect.TypeFor[batchv1.JobSpec](), "Scheduling")          // since v1.37
	bindMountOptions = index(reflect.TypeFor[corev1.VolumeMount](), "BindMountOptions") // since v1.37
	declaredFeatures = index(reflect.TypeFor[corev1.NodeStatus](), "DeclaredFeatures")  // since v1.35
	podAllocated     = index(reflect.TypeFor[corev1.PodStatus](), "AllocatedResources") // since v1.35
	podActuated      = index(reflect.TypeFor[corev1.PodStatus](), "Resources")          // since v1.35
)

func index(of reflect.Type, field string) []int {
	f, _ := of.FieldByName(field)
	return f.Index
}

// innerIndex is index for the struct that a field points to.
func innerIndex(of reflect.Type, outer []int, field string) []int {
	if outer == nil {
		return nil
	}
	return index(of.FieldByIndex(outer).Type.Elem(), field)
}

// HasPodGroups reports whether this release has the field that names a pod's PodGroup.
func HasPodGroups() bool { return podGroupName != nil }

// PodGroupName returns spec.schedulingGroup.podGroupName of a pod.
func PodGroupName(s *corev1.PodSpec) *string {
	if !HasPodGroups() {
		return nil
	}
	group := reflect.ValueOf(s).Elem().FieldByIndex(schedulingGroup)
	if group.IsNil() {
		return nil
	}
	name, _ := reflect.TypeAssert[*string](group.Elem().FieldByIndex(podGroupName))
	return name
}

// SetPodGroupName sets spec.schedulingGroup.podGroupName of a pod.
func SetPodGroupName(s *corev1.PodSpec, name *string) {
	if !HasPodGroups() {
		return
	}
	field := reflect.ValueOf(s).Elem().FieldByIndex(schedulingGroup)
	group := reflect.New(field.Type().Elem())
	group.Elem().FieldByIndex(podGroupName).Set(reflect.ValueOf(name))
	field.Set(group)
}

// PodStatusResources returns status.allocatedResources and status.resources of a pod.
func PodStatusResources(s *corev1.PodStatus) (allocated corev1.ResourceList, actuated *corev1.ResourceRequirements) {
	if podAllocated == nil || podActuated == nil {
		return nil, nil
	}
	v := reflect.ValueOf(s).Elem()
	allocated, _ = reflect.TypeAssert[corev1.ResourceList](v.FieldByIndex(podAllocated))
	actuated, _ = reflect.TypeAssert[*corev1.ResourceRequirements](v.FieldByIndex(podActuated))
	return allocated, actuated
}

// SetPodStatusResources sets status.allocatedResources and status.resources of a pod.
func SetPodStatusResources(s *corev1.PodStatus, allocated corev1.ResourceList, actuated *corev1.ResourceRequirements) {
	if podAllocated == nil || podActuated == nil {
		return
	}
	v := reflect.ValueOf(s).Elem()
	v.FieldByIndex(podAllocated).Set(reflect.ValueOf(allocated))
	v.FieldByIndex(podActuated).Set(reflect.ValueOf(actuated))
}
