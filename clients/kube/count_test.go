package kube_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

var errFull = errors.New("full")

// TestRoom adds workloads that become many pods: each is counted, and beyond the room nothing is added.
func TestRoom(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	meta := metav1.ObjectMeta{Name: "web", Namespace: "default"}
	for name, c := range map[string]struct {
		add             func(*kube.Builder) error
		atLeast, atMost int64
	}{
		"a Deployment": {func(b *kube.Builder) error {
			return b.AddDeployment(&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(1_000_000)), Selector: selector, Template: template}})
		}, 100 << 20, 200 << 20},
		"a StatefulSet": {func(b *kube.Builder) error {
			return b.AddStatefulSet(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(10_000)), Selector: selector, Template: template}})
		}, 10 << 20, 20 << 20},
		"a DaemonSet": {func(b *kube.Builder) error {
			return b.AddDaemonSet(&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}})
		}, 1 << 10, 4 << 10},
	} {
		for _, room := range []int64{c.atLeast - 1, c.atMost} {
			var took int64
			b := kube.NewBuilder(kube.Options{Room: func(bytes int64) error {
				if took += bytes; took > room {
					return errFull
				}
				return nil
			}})
			if err := b.AddNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
				t.Fatal(err)
			}
			err := c.add(b)
			if err == nil {
				_, err = b.Build()
			}
			if want := room < c.atLeast; errors.Is(err, errFull) != want || b.Full() != want || err != nil && errors.As(err, new(*kube.Misread)) {
				t.Errorf("%s in %d bytes, of which it takes %d: %v", name, room, took, err)
			}
		}
	}
}
