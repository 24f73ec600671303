package kube_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// ownedBy is a pod on a node, with a controller.
func ownedBy(name, apiVersion, kind, owner string, uid types.UID) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner, UID: uid, Controller: new(true)}}
	p.Spec.Containers, p.Spec.NodeName = []corev1.Container{{Name: "c"}}, "a"
	return p
}

func statedObjects(t *testing.T, objects ...metav1.Object) *kube.Snapshot {
	t.Helper()
	b := kube.NewBuilder(kube.Options{})
	for _, o := range objects {
		var err error
		switch o := o.(type) {
		case *corev1.Node:
			err = b.AddNode(o)
		case *corev1.Pod:
			err = b.AddPod(o)
		case *appsv1.ReplicaSet:
			err = b.AddReplicaSet(o)
		case *appsv1.Deployment:
			err = b.AddDeployment(o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWorkloads(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "rs"}}
	rs.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d", Controller: new(true)}}
	rollout := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api-2", UID: "rs2"}}
	rollout.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "api", UID: "r", Controller: new(true)}}
	hashed := ownedBy("cart-7-x", "apps/v1", "ReplicaSet", "cart-7", "gone")
	hashed.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "7"}
	alone := ownedBy("alone", "", "", "", "")
	alone.OwnerReferences = nil
	mirror := ownedBy("mirror", "v1", "Node", "a", "a")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	pods := []*corev1.Pod{
		ownedBy("web-1-x", "apps/v1", "ReplicaSet", "web-1", "rs"), ownedBy("web-1-y", "apps/v1", "ReplicaSet", "web-1", "rs"),
		ownedBy("api-2-x", "apps/v1", "ReplicaSet", "api-2", "rs2"), hashed,
		ownedBy("db-0", "apps/v1", "StatefulSet", "db", "s"), ownedBy("flow-1", "argoproj.io/v1alpha1", "Workflow", "flow", "w"),
		ownedBy("flow-2", "argoproj.io/v1alpha1", "Workflow", "flow", "w"), alone, mirror,
	}
	objects := []metav1.Object{rs, rollout, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	for _, p := range pods {
		objects = append(objects, p)
	}
	s := statedObjects(t, objects...)
	stated, err := s.SourcesOnNodes()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range stated {
		got = append(got, fmt.Sprintf("%d of %v, %v", g.Count, g.Origin, g.Path))
	}
	want := []string{
		"2 of Deployment shop/web, spec.template.spec", "1 of ReplicaSet shop/api-2, spec.template.spec",
		"1 of Deployment shop/cart, spec.template.spec", "1 of StatefulSet shop/db, spec.template.spec",
		"2 of Pod shop/flow-1, spec", "1 of Pod shop/alone, spec",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A pending pod of a ReplicaSet is listed with the Deployment, one of a manifest with the object of the manifest.
func TestPendingSources(t *testing.T) {
	pending := ownedBy("web-1-x", "apps/v1", "ReplicaSet", "web-1", "rs")
	pending.Labels, pending.Spec.NodeName = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "1"}, ""
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new"}}
	d.Spec.Replicas = new(int32(3))
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c"}}
	var got []string
	for _, g := range statedObjects(t, pending, d).PendingSources() {
		got = append(got, fmt.Sprintf("%d of %v, %v, %s", g.Count, g.Origin, g.Path, g.Pod.Namespace))
	}
	want := []string{"1 of Deployment shop/web, spec.template.spec, shop", "3 of Deployment shop/new, spec.template.spec, shop"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The objects of nodes and pods stay beside what they were converted to when the server refuses some of them.
func TestRefusedNodesLeaveOthersAligned(t *testing.T) {
	var objects []metav1.Object
	for _, name := range []string{"a", "b", "c"} {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		for i := range 2 {
			p := ownedBy(fmt.Sprintf("%s-%d", name, i), "apps/v1", "StatefulSet", name, "s")
			p.Spec.NodeName = name
			objects = append(objects, p)
		}
	}
	s := statedObjects(t, objects...)
	for range 2 { // a node is reduced first
		s.Refuse([]kube.Violation{{Field: "context.cluster.nodes[1]"}})
	}
	s.Refuse([]kube.Violation{{Field: "context.cluster.nodes[1].pods[0]"}})
	var got []string
	for i, n := range s.Cluster.Nodes {
		pods, err := s.PodsOn(i)
		if err != nil {
			t.Fatal(err)
		}
		for object, converted := range pods {
			if object.Name != converted.Name || object.Spec.NodeName != n.Name || s.NodeObjects()[i].Name != n.Name {
				t.Errorf("%s on %s stands beside %s of %s", object.Name, object.Spec.NodeName, converted.Name, n.Name)
			}
			got = append(got, object.Name)
		}
	}
	if d := cmp.Diff([]string{"a-0", "a-1", "c-1"}, got); d != "" {
		t.Error(d)
	}
}
