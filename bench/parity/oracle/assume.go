package oracle

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Assume puts a stored pod on a node, as the scheduler does with a pod for which it has chosen one: it is no longer
// nominated. Each call assumes a pod of its own, so that a queue entry's pod may be assumed several times. It returns the claims that
// the pod binds, and the devices that its claims get.
func (s *Scheduler) Assume(pod *corev1.Pod, node uint32) ([]Binding, []Granted, error) {
	entry := slices.Index(s.Queue, pod)
	bound, err := s.reserve(pod, entry, node)
	if err != nil {
		return nil, nil, err
	}
	granted, err := s.grant(pod, entry, node)
	if err != nil {
		return nil, nil, err
	}
	assumed := pod.DeepCopy()
	if !NamesClaims(pod) {
		assumed.Name = fmt.Sprintf("%s-%d", pod.Name, s.assumed)
		assumed.UID = s.assumedUID(pod)
	}
	assumed.Spec.NodeName = s.Nodes[node].Name
	s.begin(assumed)
	s.assumed++
	if s.entries == nil {
		s.entries = make(map[types.UID]int)
	}
	s.entries[assumed.UID] = entry
	if err := s.scheduler.Cache.AssumePod(logr.Discard(), assumed); err != nil {
		return nil, nil, err
	}
	s.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	return bound, granted, s.refresh()
}

// begin gives an assumed pod of a case with groups a start time: a pod without one starts when kube-scheduler reads it, in the order
// of its tree of nodes. The contract requires the order of placing, after all pods that have started.
func (s *Scheduler) begin(pod *corev1.Pod) {
	if len(s.PodGroups) > 0 {
		at := time.Date(2200, 1, 1, 0, 0, 0, s.begun, time.UTC)
		pod.Status.StartTime = &metav1.Time{Time: at}
		s.begun++
	}
}
