package kube_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// TestWorkloadOf: a pod belongs to the Deployment of its ReplicaSet, whether that was added or only its name shows it.
func TestWorkloadOf(t *testing.T) {
	controlled := func(kind, name, uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: new(true)}}
	}
	rs := func(name, uid string, owners []metav1.OwnerReference) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID(uid), OwnerReferences: owners},
			Spec: appsv1.ReplicaSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}},
			},
		}
	}
	b := kube.NewBuilder(kube.Options{})
	for _, added := range []*appsv1.ReplicaSet{
		rs("odd-name", "of-deployment", controlled("Deployment", "web", "d")), rs("web-5d4", "alone", nil),
		rs("ring", "ring", controlled("ReplicaSet", "ring", "ring")),
	} {
		if err := b.AddReplicaSet(added); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		owners []metav1.OwnerReference
		hash   string
		want   string
	}{
		{nil, "", "Pod shop/p"},
		{controlled("ReplicaSet", "odd-name", "of-deployment"), "", "Deployment shop/web"},
		{controlled("ReplicaSet", "web-5d4", "alone"), "5d4", "ReplicaSet shop/web-5d4"},
		{controlled("ReplicaSet", "web-5d4", "not-added"), "5d4", "Deployment shop/web"},
		{controlled("ReplicaSet", "web-5d4", "not-added"), "", "ReplicaSet shop/web-5d4"},
		{controlled("StatefulSet", "db", "not-added"), "", "StatefulSet shop/db"},
		{controlled("ReplicaSet", "ring", "ring"), "", "ReplicaSet shop/ring"},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "shop", OwnerReferences: test.owners}}
		if test.hash != "" {
			p.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: test.hash}
		}
		if got := s.WorkloadOf(p).String(); got != test.want {
			t.Errorf("%v: %s, want %s", test.owners, got, test.want)
		}
	}
}
