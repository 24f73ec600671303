package batch_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/servertest/storage"
)

func inZone(n *corev1.Node, zone string) *corev1.Node {
	n.Labels[corev1.LabelTopologyZone] = zone
	return n
}

// TestPodsWithBoundClaims expects that pods go where their volumes are, that a limit of a node and a ReadWriteOncePod claim count for
// pods of one call, and the reason of the pods that wait for them.
func TestPodsWithBoundClaims(t *testing.T) {
	w := start(t, batch.Options{}, inZone(node("a", "8"), "z1"), inZone(node("b", "8"), "z2"), storage.Class(storage.Delayed),
		storage.CSINode("a", 1), storage.Volume("v1", "z1", "one"), storage.Claim("one", "v1"),
		storage.Volume("v2", "z1", "two"), storage.Claim("two", "v2"), storage.Volume("v3", "z2", "three"), storage.SoleClaim("three", "v3"))
	w.create(storage.Use(pod("p-1"), "one"), storage.Use(pod("p-2"), "two"), storage.Use(pod("p-3"), "three"), storage.Use(pod("p-4"), "three"))
	either := func(names ...string) (waits string) {
		t.Helper()
		eventually(t, func() error {
			i := slices.IndexFunc(names, func(name string) bool { return w.pod(name).Spec.NodeName == "" })
			if i < 0 || w.pod(names[1-i]).Spec.NodeName == "" {
				return fmt.Errorf("not exactly one of %v is bound", names)
			}
			waits = names[i]
			return nil
		})
		return waits
	}
	full, used := either("p-1", "p-2"), either("p-3", "p-4")
	w.waits(full, "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) exceed max volume count.")
	w.waits(used, "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.")
	for _, name := range []string{full, used} {
		w.because(name, corev1.PodReasonUnschedulable)
	}
	if _, err := w.api.StorageV1().CSINodes().Update(t.Context(), storage.CSINode("a", 2), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound(full)
}

func TestPodsWhoseClaimsWaitForThemAreLeftAlone(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "8"), storage.Class(storage.Delayed), storage.Class(storage.Immediate), storage.Claim("later", ""))
	const alone = "this scheduler leaves the pod alone, because it binds no volumes, and these claims wait for the pod's node: default/"
	claims := w.api.CoreV1().PersistentVolumeClaims("default")
	w.create(storage.Use(pod("delayed"), "later"))
	w.waits("delayed", alone+"later")
	w.because("delayed", corev1.PodReasonSchedulerError)

	// A claim that is bound without the pod.
	volume := storage.Volume("v2", "", "later")
	volume.Spec.NodeAffinity = nil
	if _, err := w.api.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.Update(t.Context(), storage.Claim("later", "v2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound("delayed")

	now := storage.Claim("now", "")
	now.Spec.StorageClassName = new(storage.Immediate)
	if _, err := claims.Create(t.Context(), now, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.create(storage.Use(pod("missing"), "gone"), storage.Use(pod("immediate"), "now"))
	w.waits("missing", `0/1 nodes are available: persistentvolumeclaim "gone" not found.`)
	w.waits("immediate", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
}
