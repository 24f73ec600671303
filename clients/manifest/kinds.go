package manifest

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// kind is how to read one kind of object.
type kind struct {
	apiVersion string
	add        func(b *kube.Builder, raw []byte) (metav1.Object, error)
}

// kinds are those that decisions depend on.
var kinds = map[string]kind{
	"Node":                  {"v1", adder((*kube.Builder).AddNode)},
	"Namespace":             {"v1", adder((*kube.Builder).AddNamespace)},
	"Pod":                   {"v1", adder((*kube.Builder).AddPod)},
	"Service":               {"v1", adder((*kube.Builder).AddService)},
	"ReplicationController": {"v1", adder((*kube.Builder).AddReplicationController)},
	"Deployment":            {"apps/v1", adder((*kube.Builder).AddDeployment)},
	"ReplicaSet":            {"apps/v1", adder((*kube.Builder).AddReplicaSet)},
	"StatefulSet":           {"apps/v1", adder((*kube.Builder).AddStatefulSet)},
	"DaemonSet":             {"apps/v1", adder((*kube.Builder).AddDaemonSet)},
	"Job":                   {"batch/v1", adder((*kube.Builder).AddJob)},
	"CronJob":               {"batch/v1", adder((*kube.Builder).AddCronJob)},
}

type object interface {
	corev1.Node | corev1.Namespace | corev1.Pod | corev1.Service | corev1.ReplicationController |
		appsv1.Deployment | appsv1.ReplicaSet | appsv1.StatefulSet | appsv1.DaemonSet | batchv1.Job | batchv1.CronJob
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

// Kinds names the kinds that are read, in alphabetical order.
func Kinds() []string {
	return slices.Sorted(maps.Keys(kinds))
}

// itemKind is the kind of a typed list's items, which may leave it out.
func itemKind(list string) (string, bool) {
	return strings.CutSuffix(list, "List")
}
