package eviction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubectl/pkg/drain"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestFiltersEqualKubectls drains pods with every combination of a controller, an annotation, volumes, a phase and a deletion
// timestamp, with every combination of flags.
func TestFiltersEqualKubectls(t *testing.T) {
	for _, force := range []bool{false, true} {
		for _, data := range []bool{false, true} {
			for _, ignore := range []bool{false, true} {
				flags := []string{
					fmt.Sprintf("--force=%t", force), fmt.Sprintf("--delete-emptydir-data=%t", data), fmt.Sprintf("--ignore-daemonsets=%t", ignore),
				}
				k := kubectl{drain.Helper{Force: force, DeleteEmptyDirData: data, IgnoreAllDaemonSets: ignore}}
				compareAll(t, filtered(), k.filter, flags...)
			}
		}
	}
}

// controllers are controllers of pods by name.
var controllers = map[string][]metav1.OwnerReference{
	"no controller":            nil,
	"ReplicaSet":               {controller("apps/v1", "ReplicaSet", "web")},
	"DaemonSet":                {controller("apps/v1", "DaemonSet", "agent")},
	"DaemonSet that is gone":   {controller("apps/v1", "DaemonSet", "gone")},
	"DaemonSet of extensions":  {controller("extensions/v1beta1", "DaemonSet", "agent")},
	"DaemonSet of a CRD":       {controller("apps.kruise.io/v1alpha1", "DaemonSet", "agent")},
	"StatefulSet":              {controller("apps/v1", "StatefulSet", "web")},
	"Job":                      {controller("batch/v1", "Job", "web")},
	"Node":                     {controller("v1", "Node", "n")},
	"owner without controller": {{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "agent"}},
}

// volumes are volumes of pods by name.
var volumes = map[string][]corev1.Volume{
	"no volumes":         nil,
	"emptyDir":           {{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	"emptyDir in memory": {{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}},
	"hostPath":           {{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}},
	"second is emptyDir": {
		{Name: "a", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		{Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	},
}

// filtered returns the situations.
func filtered() (out []situation) {
	for by, owners := range controllers {
		for with, vs := range volumes {
			for _, mirror := range []bool{false, true} {
				for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed} {
					for _, terminating := range []bool{false, true} {
						if mirror && strings.HasPrefix(by, "DaemonSet") {
							continue // the controller of a mirror pod is its Node
						}
						p := pod("web-1", conditions(phase))
						p.OwnerReferences, p.Spec.Volumes = owners, vs
						if mirror {
							p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
						}
						if terminating {
							p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, new(int64(30))
						}
						name := fmt.Sprintf("%s, %s, mirror %t, %s, terminating %t", by, with, mirror, phase, terminating)
						out = append(out, situation{name: name, pods: []*corev1.Pod{p}})
					}
				}
			}
		}
	}
	return out
}

// kubectl is kubectl drain with flags.
type kubectl struct{ flags drain.Helper }

// filter returns what kubectl drain does with the pod of a situation.
func (k kubectl) filter(t *testing.T, s *situation) map[string][]verdict {
	t.Helper()
	p := s.pods[0]
	client := fake.NewClientset(daemonSet(p.Namespace))
	client.PrependReactor("list", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		on := a.(clienttesting.ListAction).GetListRestrictions().Fields
		if !on.Matches(fields.Set{"spec.nodeName": p.Spec.NodeName}) {
			t.Fatalf("pods where %s", on)
		}
		return true, &corev1.PodList{Items: []corev1.Pod{*p}}, nil
	})
	helper := k.flags
	helper.Client = client
	list, errs := helper.GetPodsForDeletion(p.Spec.NodeName)
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case len(errs) == 1:
		return map[string][]verdict{p.Name: {blocked(reason(t, errs[0]))}}
	case len(errs) > 0:
		t.Fatal(errs)
	case ended:
		return map[string][]verdict{p.Name: {finished}}
	case len(list.Pods()) == 0:
		return map[string][]verdict{p.Name: {stays}}
	}
	return map[string][]verdict{p.Name: {evicted}}
}

// reason returns what the contract calls an error of kubectl.
func reason(t *testing.T, err error) stowagev1.BlockedReason {
	t.Helper()
	for text, reason := range map[string]stowagev1.BlockedReason{
		"Pods with local storage":          stowagev1.BlockedReason_BLOCKED_REASON_EMPTY_DIR,
		"Pods that declare no controller":  stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER,
		"DaemonSet-managed Pods":           stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET,
		`daemonsets.apps "gone" not found`: stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET_GONE,
	} {
		if strings.Contains(err.Error(), text) {
			return reason
		}
	}
	t.Fatal(err)
	return 0
}
