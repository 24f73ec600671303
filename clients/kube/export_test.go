package kube

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RunningPod is a pod on a node as a Builder converts it.
func RunningPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	o := new(convert.Environment).RunningPod(p)
	return o.Pod, o.Err()
}
