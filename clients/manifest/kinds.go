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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// kind is the decoder of one kind.
type kind struct {
	apiVersions []string
	add         func(b *kube.Builder, raw []byte) (metav1.Object, error)
}

// schedulingVersions are the versions of scheduling.k8s.io that share one shape of PodGroups and Workloads.
var schedulingVersions = []string{"scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"}

// deviceVersions are the versions of resource.k8s.io that share one shape of DeviceClasses.
var deviceVersions = []string{"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"}

// kinds are the kinds that decisions depend on.
var kinds = map[string]kind{
	"Node":                  {[]string{"v1"}, adder((*kube.Builder).AddNode)},
	"Namespace":             {[]string{"v1"}, adder((*kube.Builder).AddNamespace)},
	"Pod":                   {[]string{"v1"}, adder((*kube.Builder).AddPod)},
	"Service":               {[]string{"v1"}, adder((*kube.Builder).AddService)},
	"ReplicationController": {[]string{"v1"}, adder((*kube.Builder).AddReplicationController)},
	"Deployment":            {[]string{"apps/v1"}, adder((*kube.Builder).AddDeployment)},
	"ReplicaSet":            {[]string{"apps/v1"}, adder((*kube.Builder).AddReplicaSet)},
	"StatefulSet":           {[]string{"apps/v1"}, adder((*kube.Builder).AddStatefulSet)},
	"DaemonSet":             {[]string{"apps/v1"}, adder((*kube.Builder).AddDaemonSet)},
	"Job":                   {[]string{"batch/v1"}, adder((*kube.Builder).AddJob)},
	"CronJob":               {[]string{"batch/v1"}, adder((*kube.Builder).AddCronJob)},
	"PodGroup":              {schedulingVersions, adder((*kube.Builder).AddPodGroup)},
	"CompositePodGroup":     {[]string{"scheduling.k8s.io/v1alpha3"}, adder((*kube.Builder).AddCompositePodGroup)},
	"Workload":              {schedulingVersions, adder((*kube.Builder).AddWorkload)},
	"LimitRange":            {[]string{"v1"}, adder((*kube.Builder).AddLimitRange)},
	"PriorityClass":         {[]string{"scheduling.k8s.io/v1"}, adder((*kube.Builder).AddPriorityClass)},
	"RuntimeClass":          {[]string{"node.k8s.io/v1"}, adder((*kube.Builder).AddRuntimeClass)},
	"DeviceClass":           {deviceVersions, adder((*kube.Builder).AddDeviceClass)},
	"PodDisruptionBudget":   {[]string{"policy/v1"}, adder((*kube.Builder).AddPodDisruptionBudget)},
}

type object interface {
	corev1.Node | corev1.Namespace | corev1.Pod | corev1.Service | corev1.ReplicationController |
		appsv1.Deployment | appsv1.ReplicaSet | appsv1.StatefulSet | appsv1.DaemonSet | batchv1.Job | batchv1.CronJob |
		schedulingv1beta1.PodGroup | schedulingv1beta1.Workload | schedulingv1alpha3.CompositePodGroup |
		corev1.LimitRange | schedulingv1.PriorityClass | nodev1.RuntimeClass | resourcev1.DeviceClass |
		policyv1.PodDisruptionBudget
}

func adder[T object](add func(*kube.Builder, *T) error) func(*kube.Builder, []byte) (metav1.Object, error) {
	return func(b *kube.Builder, raw []byte) (metav1.Object, error) {
		o := new(T)
		if err := decode(raw, o); err != nil {
			return nil, err
		}
		return any(o).(metav1.Object), add(b, o)
	}
}

// ofOthers reports whether an object shares only the name of the kind, and belongs to another project's API group, such as
// Volcano's PodGroup or Kueue's Workload; name is what kubectl calls its kind.
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
