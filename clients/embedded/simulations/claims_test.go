package simulations_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/simulate"
)

const storageClass = "standard"

func request() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: new(storageClass), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// withClaims returns a cluster of nodes a and b whose class waits for pods, with the claims data-db-0 to data-db-2. volumes are the nodes of
// volumes; with none, the class provisions them.
func withClaims(t *testing.T, volumes ...string) *simulate.Snapshot {
	t.Helper()
	b := kube.NewBuilder(kube.Options{SchedulerName: kube.AnyScheduler})
	must(t, b.AddNode(node("a", "z1", "8")))
	must(t, b.AddNode(node("b", "z2", "8")))
	class := &storagev1.StorageClass{Provisioner: "csi.example.com", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer)}
	class.Name, class.UID = storageClass, "u"
	if len(volumes) > 0 {
		class.Provisioner = "kubernetes.io/no-provisioner"
	}
	must(t, b.AddStorageClass(class))
	for i := range 3 {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", UID: "u"}, Spec: request()}
		c.Name = fmt.Sprint("data-db-", i)
		must(t, b.AddPersistentVolumeClaim(c))
	}
	for i, on := range volumes {
		v := &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
			StorageClassName: storageClass, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{on}}},
			}}}},
		}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}}
		v.Name, v.UID = fmt.Sprint("v", i), "u"
		must(t, b.AddPersistentVolume(v))
	}
	cluster, err := b.Build()
	must(t, err)
	s, err := simulate.New(t.Context(), dial(t), cluster, simulate.Options{})
	must(t, err)
	return s
}

func withClaim(name, cpu string) *corev1.Pod {
	p := pod(name, "db", cpu)
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name},
	}}}
	return p
}

// TestClaimsStayBound expects that a pod which comes back finds its claim where it was bound, in a later request, too.
func TestClaimsStayBound(t *testing.T) {
	for name, volumes := range map[string][]string{"provisioned": nil, "volumes": {"a", "b"}} {
		t.Run(name, func(t *testing.T) {
			s := withClaims(t, volumes...)
			diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-0", "6")))
			_, err := s.Evict(shop("db-0"))
			must(t, err)
			diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod("web", "web", "4")))
			before := s.Fork()
			if volumes != nil { // its volume is taken
				diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-1", "1")))
				diff(t, []string{""}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-2", "1")))
			}
			diff(t, []string{""}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-0", "6")))
			must(t, s.Settle())
			diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-0", "4")))
			diff(t, []string{"a"}, schedule(t, before, simulate.ScheduleOptions{DryRun: true}, withClaim("db-0", "1")))
		})
	}
}

// TestClaimsRevert expects that a reverted placement bound nothing.
func TestClaimsRevert(t *testing.T) {
	s := withClaims(t)
	s.Begin()
	diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-0", "1")))
	must(t, s.Revert())
	diff(t, []string{"a"}, schedule(t, s, simulate.ScheduleOptions{}, pod("web", "web", "8")))
	diff(t, []string{"b"}, schedule(t, s, simulate.ScheduleOptions{DryRun: true}, withClaim("db-0", "1")))
}

// TestClaimsOfTheirPods expects that pods which are equal except for their names have claims of their own.
func TestClaimsOfTheirPods(t *testing.T) {
	s := withClaims(t, "a", "b")
	diff(t, []string{"a", "b"}, schedule(t, s, simulate.ScheduleOptions{}, withClaim("db-0", "1"), withClaim("db-1", "1")))

	s = withClaims(t)
	template := &corev1.PodTemplateSpec{Spec: pod("", "", "5").Spec}
	template.Namespace, template.Name = "shop", "job"
	template.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: request()},
	}}}}
	results, err := s.ScheduleTemplate(t.Context(), template, 2, simulate.ScheduleOptions{})
	must(t, err)
	diff(t, []string{"a", "b"}, nodesOf(results))
}
