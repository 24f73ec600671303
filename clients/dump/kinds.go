package dump

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typednodev1 "k8s.io/client-go/kubernetes/typed/node/v1"
	typedpolicyv1 "k8s.io/client-go/kubernetes/typed/policy/v1"
	typedresourcev1 "k8s.io/client-go/kubernetes/typed/resource/v1"
	typedschedulingv1 "k8s.io/client-go/kubernetes/typed/scheduling/v1"
	typedschedulingv1alpha3 "k8s.io/client-go/kubernetes/typed/scheduling/v1alpha3"
	typedschedulingv1beta1 "k8s.io/client-go/kubernetes/typed/scheduling/v1beta1"
)

// kinds are the kinds that package manifest reads, in the order of listing.
var kinds = []kind{
	{"Pod", "pods", true, list(func(api kubernetes.Interface) typedcorev1.PodInterface {
		return api.CoreV1().Pods(metav1.NamespaceAll)
	})},
	{"Node", "nodes", true, list(func(api kubernetes.Interface) typedcorev1.NodeInterface {
		return api.CoreV1().Nodes()
	})},
	{"Namespace", "namespaces", false, list(func(api kubernetes.Interface) typedcorev1.NamespaceInterface {
		return api.CoreV1().Namespaces()
	})},
	{"Service", "services", false, list(func(api kubernetes.Interface) typedcorev1.ServiceInterface {
		return api.CoreV1().Services(metav1.NamespaceAll)
	})},
	{"ReplicationController", "replicationcontrollers", false, list(func(api kubernetes.Interface) typedcorev1.ReplicationControllerInterface {
		return api.CoreV1().ReplicationControllers(metav1.NamespaceAll)
	})},
	{"LimitRange", "limitranges", false, list(func(api kubernetes.Interface) typedcorev1.LimitRangeInterface {
		return api.CoreV1().LimitRanges(metav1.NamespaceAll)
	})},
	{"Deployment", "deployments", false, list(func(api kubernetes.Interface) typedappsv1.DeploymentInterface {
		return api.AppsV1().Deployments(metav1.NamespaceAll)
	})},
	{"ReplicaSet", "replicasets", false, list(func(api kubernetes.Interface) typedappsv1.ReplicaSetInterface {
		return api.AppsV1().ReplicaSets(metav1.NamespaceAll)
	})},
	{"StatefulSet", "statefulsets", false, list(func(api kubernetes.Interface) typedappsv1.StatefulSetInterface {
		return api.AppsV1().StatefulSets(metav1.NamespaceAll)
	})},
	{"DaemonSet", "daemonsets", false, list(func(api kubernetes.Interface) typedappsv1.DaemonSetInterface {
		return api.AppsV1().DaemonSets(metav1.NamespaceAll)
	})},
	{"Job", "jobs", false, list(func(api kubernetes.Interface) typedbatchv1.JobInterface {
		return api.BatchV1().Jobs(metav1.NamespaceAll)
	})},
	{"CronJob", "cronjobs", false, list(func(api kubernetes.Interface) typedbatchv1.CronJobInterface {
		return api.BatchV1().CronJobs(metav1.NamespaceAll)
	})},
	{"PodDisruptionBudget", "poddisruptionbudgets", false, list(func(api kubernetes.Interface) typedpolicyv1.PodDisruptionBudgetInterface {
		return api.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll)
	})},
	{"PriorityClass", "priorityclasses", false, list(func(api kubernetes.Interface) typedschedulingv1.PriorityClassInterface {
		return api.SchedulingV1().PriorityClasses()
	})},
	{"RuntimeClass", "runtimeclasses", false, list(func(api kubernetes.Interface) typednodev1.RuntimeClassInterface {
		return api.NodeV1().RuntimeClasses()
	})},
	{"DeviceClass", "deviceclasses", false, list(func(api kubernetes.Interface) typedresourcev1.DeviceClassInterface {
		return api.ResourceV1().DeviceClasses()
	})},
	{"PodGroup", "podgroups", false, list(func(api kubernetes.Interface) typedschedulingv1beta1.PodGroupInterface {
		return api.SchedulingV1beta1().PodGroups(metav1.NamespaceAll)
	})},
	{"Workload", "workloads", false, list(func(api kubernetes.Interface) typedschedulingv1beta1.WorkloadInterface {
		return api.SchedulingV1beta1().Workloads(metav1.NamespaceAll)
	})},
	{"CompositePodGroup", "compositepodgroups", false, list(func(api kubernetes.Interface) typedschedulingv1alpha3.CompositePodGroupInterface {
		return api.SchedulingV1alpha3().CompositePodGroups(metav1.NamespaceAll)
	})},
}
