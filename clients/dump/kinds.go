package dump

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind of objects to list.
type kind struct {
	name, resource string
	group          schema.GroupVersion
	// needed objects must be readable. Others may be forbidden, or not served.
	needed bool
	// list returns an empty list.
	list func() runtime.Object
}

// kinds are the kinds that package manifest reads, in the order of listing.
var kinds = []kind{
	{"Pod", "pods", corev1.SchemeGroupVersion, true, empty[corev1.PodList]},
	{"Node", "nodes", corev1.SchemeGroupVersion, true, empty[corev1.NodeList]},
	{"Namespace", "namespaces", corev1.SchemeGroupVersion, false, empty[corev1.NamespaceList]},
	{"Service", "services", corev1.SchemeGroupVersion, false, empty[corev1.ServiceList]},
	{"ReplicationController", "replicationcontrollers", corev1.SchemeGroupVersion, false, empty[corev1.ReplicationControllerList]},
	{"LimitRange", "limitranges", corev1.SchemeGroupVersion, false, empty[corev1.LimitRangeList]},
	{"Deployment", "deployments", appsv1.SchemeGroupVersion, false, empty[appsv1.DeploymentList]},
	{"ReplicaSet", "replicasets", appsv1.SchemeGroupVersion, false, empty[appsv1.ReplicaSetList]},
	{"StatefulSet", "statefulsets", appsv1.SchemeGroupVersion, false, empty[appsv1.StatefulSetList]},
	{"DaemonSet", "daemonsets", appsv1.SchemeGroupVersion, false, empty[appsv1.DaemonSetList]},
	{"Job", "jobs", batchv1.SchemeGroupVersion, false, empty[batchv1.JobList]},
	{"CronJob", "cronjobs", batchv1.SchemeGroupVersion, false, empty[batchv1.CronJobList]},
	{"PodDisruptionBudget", "poddisruptionbudgets", policyv1.SchemeGroupVersion, false, empty[policyv1.PodDisruptionBudgetList]},
	{"PriorityClass", "priorityclasses", schedulingv1.SchemeGroupVersion, false, empty[schedulingv1.PriorityClassList]},
	{"RuntimeClass", "runtimeclasses", nodev1.SchemeGroupVersion, false, empty[nodev1.RuntimeClassList]},
	{"DeviceClass", "deviceclasses", resourcev1.SchemeGroupVersion, false, empty[resourcev1.DeviceClassList]},
	{"ResourceSlice", "resourceslices", resourcev1.SchemeGroupVersion, false, empty[resourcev1.ResourceSliceList]},
	{"ResourceClaim", "resourceclaims", resourcev1.SchemeGroupVersion, false, empty[resourcev1.ResourceClaimList]},
	{"ResourceClaimTemplate", "resourceclaimtemplates", resourcev1.SchemeGroupVersion, false, empty[resourcev1.ResourceClaimTemplateList]},
	{"DeviceTaintRule", "devicetaintrules", resourcev1.SchemeGroupVersion, false, empty[resourcev1.DeviceTaintRuleList]},
	{"PodGroup", "podgroups", schedulingv1beta1.SchemeGroupVersion, false, empty[schedulingv1beta1.PodGroupList]},
	{"Workload", "workloads", schedulingv1beta1.SchemeGroupVersion, false, empty[schedulingv1beta1.WorkloadList]},
	{"CompositePodGroup", "compositepodgroups", schedulingv1alpha3.SchemeGroupVersion, false, empty[schedulingv1alpha3.CompositePodGroupList]},
	{"PersistentVolumeClaim", "persistentvolumeclaims", corev1.SchemeGroupVersion, false, empty[corev1.PersistentVolumeClaimList]},
	{"PersistentVolume", "persistentvolumes", corev1.SchemeGroupVersion, false, empty[corev1.PersistentVolumeList]},
	{"StorageClass", "storageclasses", storagev1.SchemeGroupVersion, false, empty[storagev1.StorageClassList]},
	{"CSINode", "csinodes", storagev1.SchemeGroupVersion, false, empty[storagev1.CSINodeList]},
	{"CSIDriver", "csidrivers", storagev1.SchemeGroupVersion, false, empty[storagev1.CSIDriverList]},
	{"CSIStorageCapacity", "csistoragecapacities", storagev1.SchemeGroupVersion, false, empty[storagev1.CSIStorageCapacityList]},
	{"VolumeAttachment", "volumeattachments", storagev1.SchemeGroupVersion, false, empty[storagev1.VolumeAttachmentList]},
}

// empty returns an empty list of a type.
func empty[L any, P interface {
	*L
	runtime.Object
}]() runtime.Object {
	return P(new(L))
}
