package remedy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Workload is the object whose patch changes a pod: the one that has the pod's template, or the pod.
type Workload struct{ Kind, Namespace, Name string }

// WorkloadOf returns the workload of a pod and the object that it was read from. The ReplicaSet of a Deployment stands for the
// Deployment, whose name it begins with.
func WorkloadOf(o kube.Origin, pod *corev1.Pod) Workload {
	w := Workload(o)
	of := metav1.GetControllerOfNoCopy(pod)
	if o.Kind != "Pod" || of == nil {
		return w
	}
	w.Kind, w.Name = of.Kind, of.Name
	if hash := pod.Labels["pod-template-hash"]; w.Kind == "ReplicaSet" && hash != "" && strings.HasSuffix(w.Name, "-"+hash) {
		w.Kind, w.Name = "Deployment", strings.TrimSuffix(w.Name, "-"+hash)
	}
	return w
}

// templates are the fields of the pod template's spec, by kind of workload.
var templates = map[string][]string{
	"Pod":                   {"spec"},
	"Deployment":            {"spec", "template", "spec"},
	"ReplicaSet":            {"spec", "template", "spec"},
	"ReplicationController": {"spec", "template", "spec"},
	"StatefulSet":           {"spec", "template", "spec"},
	"DaemonSet":             {"spec", "template", "spec"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template", "spec"},
}

// fields returns where the spec is that a change is made in. The API server lets a pod get tolerations and lose scheduling gates; it
// refuses every other change of a pod's spec, and every change of a Job's template. The pods of a DaemonSet have a node affinity that
// its template must not have.
func (w Workload) fields(edits []*stowagev1.Change) ([]string, error) {
	fields, known := templates[w.Kind]
	tolerations, gates := true, true
	for _, c := range edits {
		tolerations = tolerations && c.GetAddedTolerations() != nil
		gates = gates && (c.GetAddedTolerations() != nil || c.GetRemovedSchedulingGates() != nil)
	}
	switch {
	case w.Kind == "Job":
		return nil, fmt.Errorf("the template of Job %s cannot be patched: create it anew", w.Name)
	case !known:
		return nil, fmt.Errorf("kubectl patches no pod template of %s %s: edit it", w.Kind, w.Name)
	case w.Kind == "Pod" && !gates:
		return nil, fmt.Errorf("the spec of pod %s cannot be patched: create it anew", w.Name)
	case w.Kind == "DaemonSet" && !tolerations:
		return nil, fmt.Errorf("its pods are not as the template of DaemonSet %s states them: edit it", w.Name)
	}
	return fields, nil
}

func (w Workload) command() string {
	return quote.Command("kubectl patch", []string{strings.ToLower(w.Kind), w.Name}, "--namespace="+w.Namespace, "--patch-file=/dev/stdin")
}
