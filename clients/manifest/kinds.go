package manifest

import (
	"maps"
	"slices"
	"strings"

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// kind is the reader of one kind.
type kind struct {
	apiVersions []string
	empty       func() metav1.Object
	add         func(*kube.Builder, metav1.Object) error
}

// schedulingVersions are the versions of scheduling.k8s.io that share one shape of PodGroups and Workloads.
var schedulingVersions = []string{"scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"}

// deviceVersions are the versions of resource.k8s.io that share one shape of DeviceClasses.
var deviceVersions = []string{"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"}

// claimVersions are the versions of resource.k8s.io that share one shape of claims and slices.
var claimVersions = deviceVersions[:2]

// taintVersions are the versions of resource.k8s.io that share one shape of DeviceTaintRules.
var taintVersions = []string{"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"}

// kinds are the kinds that decisions depend on.
var kinds = map[string]kind{
	"Node":                  reads([]string{"v1"}, (*kube.Builder).AddNode),
	"Namespace":             reads([]string{"v1"}, (*kube.Builder).AddNamespace),
	"Pod":                   reads([]string{"v1"}, (*kube.Builder).AddPod),
	"Service":               reads([]string{"v1"}, (*kube.Builder).AddService),
	"ReplicationController": reads([]string{"v1"}, (*kube.Builder).AddReplicationController),
	"Deployment":            reads([]string{"apps/v1"}, (*kube.Builder).AddDeployment),
	"ReplicaSet":            reads([]string{"apps/v1"}, (*kube.Builder).AddReplicaSet),
	"StatefulSet":           reads([]string{"apps/v1"}, (*kube.Builder).AddStatefulSet),
	"DaemonSet":             reads([]string{"apps/v1"}, (*kube.Builder).AddDaemonSet),
	"Job":                   reads([]string{"batch/v1"}, (*kube.Builder).AddJob),
	"CronJob":               reads([]string{"batch/v1"}, (*kube.Builder).AddCronJob),
	"PodGroup":              readsAny[schedulingv1beta1.PodGroup](schedulingVersions, (*kube.Builder).AddPodGroup),
	"CompositePodGroup":     readsAny[schedulingv1alpha3.CompositePodGroup]([]string{"scheduling.k8s.io/v1alpha3"}, (*kube.Builder).AddCompositePodGroup),
	"Workload":              readsAny[schedulingv1beta1.Workload](schedulingVersions, (*kube.Builder).AddWorkload),
	"LimitRange":            reads([]string{"v1"}, (*kube.Builder).AddLimitRange),
	"PriorityClass":         reads([]string{"scheduling.k8s.io/v1"}, (*kube.Builder).AddPriorityClass),
	"RuntimeClass":          reads([]string{"node.k8s.io/v1"}, (*kube.Builder).AddRuntimeClass),
	"DeviceClass":           reads(deviceVersions, (*kube.Builder).AddDeviceClass),
	"ResourceSlice":         reads(claimVersions, (*kube.Builder).AddResourceSlice),
	"ResourceClaim":         reads(claimVersions, (*kube.Builder).AddResourceClaim),
	"ResourceClaimTemplate": reads(claimVersions, (*kube.Builder).AddResourceClaimTemplate),
	"DeviceTaintRule":       readsAny[resourcev1.DeviceTaintRule](taintVersions, (*kube.Builder).AddDeviceTaintRule),
	"PodDisruptionBudget":   reads([]string{"policy/v1"}, (*kube.Builder).AddPodDisruptionBudget),
	"PersistentVolume":      reads([]string{"v1"}, (*kube.Builder).AddPersistentVolume),
	"PersistentVolumeClaim": reads([]string{"v1"}, (*kube.Builder).AddPersistentVolumeClaim),
	"StorageClass":          reads([]string{"storage.k8s.io/v1"}, (*kube.Builder).AddStorageClass),
	"CSINode":               reads([]string{"storage.k8s.io/v1"}, (*kube.Builder).AddCSINode),
	"CSIDriver":             reads([]string{"storage.k8s.io/v1"}, (*kube.Builder).AddCSIDriver),
	"CSIStorageCapacity":    reads([]string{"storage.k8s.io/v1"}, (*kube.Builder).AddCSIStorageCapacity),
	"VolumeAttachment":      reads([]string{"storage.k8s.io/v1"}, (*kube.Builder).AddVolumeAttachment),
}

// nodeTemplates reads Nodes as templates.
var nodeTemplates = reads([]string{"v1"}, (*kube.Builder).AddNodeTemplate)

type readable interface {
	corev1.Node | corev1.Namespace | corev1.Pod | corev1.Service | corev1.ReplicationController |
		appsv1.Deployment | appsv1.ReplicaSet | appsv1.StatefulSet | appsv1.DaemonSet | batchv1.Job | batchv1.CronJob |
		schedulingv1beta1.PodGroup | schedulingv1beta1.Workload | schedulingv1alpha3.CompositePodGroup |
		corev1.LimitRange | schedulingv1.PriorityClass | nodev1.RuntimeClass | resourcev1.DeviceClass |
		resourcev1.ResourceSlice | resourcev1.ResourceClaim | resourcev1.ResourceClaimTemplate | resourcev1.DeviceTaintRule |
		corev1.PersistentVolume | corev1.PersistentVolumeClaim |
		storagev1.StorageClass | storagev1.CSINode | storagev1.CSIDriver | storagev1.CSIStorageCapacity | storagev1.VolumeAttachment |
		policyv1.PodDisruptionBudget | controller.CustomWorkload
}

func reads[T readable](apiVersions []string, add func(*kube.Builder, *T) error) kind {
	return kind{
		apiVersions: apiVersions,
		empty:       func() metav1.Object { return any(new(T)).(metav1.Object) },
		add:         func(b *kube.Builder, o metav1.Object) error { return add(b, any(o).(*T)) },
	}
}

// readsAny is reads for a kind that the builder accepts as any type.
func readsAny[T readable](apiVersions []string, add func(*kube.Builder, metav1.Object) error) kind {
	return reads(apiVersions, func(b *kube.Builder, o *T) error { return add(b, any(o).(metav1.Object)) })
}

// ofOthers reports whether an object shares only the name of the kind and belongs to another project's API group, such as
// Volcano's PodGroup or Kueue's Workload; name is kubectl's name of its kind.
func (k kind) ofOthers(t metav1.TypeMeta) (name string, other bool) {
	group, _, _ := strings.Cut(t.APIVersion, "/")
	if !strings.Contains(group, ".") {
		return "", false
	}
	other = !slices.ContainsFunc(k.apiVersions, func(v string) bool { return strings.HasPrefix(v, group+"/") })
	return t.Kind + "." + group, other && len(k.apiVersions) > 0
}

// Kinds names the kinds that are read, in alphabetical order.
func Kinds() []string {
	return slices.Sorted(maps.Keys(kinds))
}

// itemKind is the kind of a typed list's items, which may omit it.
func itemKind(list string) (string, bool) {
	return strings.CutSuffix(list, "List")
}
