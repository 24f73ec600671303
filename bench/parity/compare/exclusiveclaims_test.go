package compare_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// using adds volumes of claims to a pod.
func using(claims ...string) podOption {
	return func(p *corev1.Pod) {
		for i, c := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("volume-", i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c},
			}})
		}
	}
}

// The rows of kube-scheduler's TestReadWriteOncePodPreemption (test/integration/scheduler/preemption/misc/miscpreemption_test.go, v1.37.1):
// the pods that use the claims of the pod are evicted.
func TestReadWriteOncePodPreemption(t *testing.T) {
	for name, row := range map[string]struct {
		pods   []*corev1.Pod
		asking *corev1.Pod
		want   []string
	}{
		"preempt single pod": {pods(on("a", "victim", 0, 0, using("c1"))), asking(10, 0, using("c1")), []string{"a: victim"}},
		"preempt two pods": {
			pods(on("a", "victim-1", 0, 0, using("c1")), on("a", "victim-2", 0, 0, using("c2"))), asking(10, 0, using("c1", "c2")),
			[]string{"a: victim-1 victim-2"},
		},
		"preempt single pod with two volumes": {
			pods(on("a", "victim", 0, 0, using("c1", "c2"))), asking(10, 0, using("c1", "c2")), []string{"a: victim"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &scenario.Case{
				Name: name, Nodes: []*corev1.Node{zoned("a", "z1")}, Pods: row.pods, Queue: []scenario.Pending{{Pod: row.asking, Count: 1}},
			}
			for i := range 2 {
				addExclusive(&c.Storage, fmt.Sprint("c", i+1))
			}
			expectPreemption(t, agreed(t, c).Answers.Preempt[0].Preemption, c, row.want)
		})
	}
}

// addExclusive adds a claim for one pod at a time, and its volume.
func addExclusive(s *scenario.Storage, name string) {
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	amount := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	s.PersistentVolumes = append(s.PersistentVolumes, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: modes, Capacity: amount,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}},
	}})
	s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{volume.AnnBindCompleted: "true"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, VolumeName: "pv-" + name, Resources: corev1.VolumeResourceRequirements{Requests: amount},
		},
	})
}
