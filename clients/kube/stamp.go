package kube

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// stamp is equal pods that a workload's controller would create.
type stamp struct {
	pod   *corev1.Pod
	count uint32
	// claims is the number of the pod's volumes, the first ones, that come from volume claim templates.
	claims int
	// adds is what the controller adds to the template that is not read, and what follows.
	adds string
}

// owner is the controller of stamped pods.
type owner struct {
	apiVersion, kind, name, namespace string
}

// pod returns a pod from a template as the controller would create it, with additional labels.
func (o owner) pod(t *corev1.PodTemplateSpec, name string, labels map[string]string) *corev1.Pod {
	t = t.DeepCopy()
	isController := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: o.namespace,
			Labels:    map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: o.apiVersion, Kind: o.kind, Name: o.name, Controller: &isController,
			}},
		},
		Spec: t.Spec,
	}
	maps.Copy(p.Labels, t.Labels)
	maps.Copy(p.Labels, labels)
	return p
}

// templateHash identifies the revision of a workload. It is stable, but not the value that a real cluster's controllers
// compute, which depends on the Go types of their release.
func templateHash(t *corev1.PodTemplateSpec) (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write(text)
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}
