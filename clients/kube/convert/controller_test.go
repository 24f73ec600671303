package convert_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Controllers are set, with names where default spreading looks them up, so that the pods of two Jobs share a template.
func TestController(t *testing.T) {
	for _, test := range []struct {
		owner metav1.OwnerReference
		want  *stowagev1.ControllerReference
	}{
		{
			metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true)},
			&stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"},
		},
		{
			metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: new(true)},
			&stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "DaemonSet"},
		},
		{
			metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "report", Controller: new(true)},
			&stowagev1.ControllerReference{ApiVersion: "batch/v1", Kind: "Job"},
		},
		{metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "settings"}, nil},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", OwnerReferences: []metav1.OwnerReference{test.owner}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
		pod.OwnerReferences[0].UID = "1"
		got, err := convert.PendingPod(pod)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.GetTemplate().Controller, protocmp.Transform()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.owner.Kind, diff)
		}
	}
}
