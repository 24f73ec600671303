package convert

import (
	corev1 "k8s.io/api/core/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RunningPod is a pod on a node as a Builder converts it.
func RunningPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	o := new(Environment).RunningPod(p)
	return o.Pod, o.Err()
}

// WholePod is a pod with the amounts of a converted pod.
func WholePod(p *stowagev1.Pod) *corev1.Pod {
	return amountsOf(p.GetTemplate().GetSpec(), p.GetResourceStatus())
}
