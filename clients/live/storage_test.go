package live_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest/storage"
)

// user is a pod that uses claims.
func user(name string, claims ...string) *corev1.Pod {
	return storage.Use(makePod(name, name, corev1.LabelHostname), claims...)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(out T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func TestStorageEventsReachTheServer(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z2"), storage.Class(storage.Delayed),
		storage.Volume("v1", "z1", "one"), storage.Claim("one", "v1"))
	if !w.ReadsVolumes() {
		t.Fatal("the storage objects are not read")
	}
	core, csi := w.api.CoreV1(), w.api.StorageV1()
	one, two := user("one", "one"), user("two", "two")
	w.feasible(one, "a") // the zone of the volume
	w.feasible(two)      // there is no such claim
	must[*corev1.PersistentVolumeClaim](t)(core.PersistentVolumeClaims("default").Create(t.Context(), storage.Claim("two", ""), metav1.CreateOptions{}))
	w.soon(two, "a", "b") // a volume can be provisioned for either node
	chosen := storage.Claim("two", "")
	chosen.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "b"}
	must[*corev1.PersistentVolumeClaim](t)(core.PersistentVolumeClaims("default").Update(t.Context(), chosen, metav1.UpdateOptions{}))
	w.soon(two, "b")

	// The limit of the node, and what is attached there without a pod.
	must[*storagev1.CSINode](t)(csi.CSINodes().Create(t.Context(), storage.CSINode("a", 1), metav1.CreateOptions{}))
	must[*corev1.PersistentVolume](t)(core.PersistentVolumes().Create(t.Context(), storage.Volume("v3", "z1", ""), metav1.CreateOptions{}))
	must[*storagev1.VolumeAttachment](t)(csi.VolumeAttachments().Create(t.Context(), storage.Attachment("x", "a", "v3"), metav1.CreateOptions{}))
	w.soon(one)
	if err := core.PersistentVolumes().Delete(t.Context(), "v3", metav1.DeleteOptions{}); err != nil { // it counts no more
		t.Fatal(err)
	}
	w.soon(one, "a")
	must[*corev1.PersistentVolume](t)(core.PersistentVolumes().Create(t.Context(), storage.Volume("v3", "z1", ""), metav1.CreateOptions{}))
	w.soon(one)
	if err := csi.VolumeAttachments().Delete(t.Context(), "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one, "a")
	must[*storagev1.CSINode](t)(csi.CSINodes().Update(t.Context(), storage.CSINode("a", 0), metav1.UpdateOptions{}))
	w.soon(one)
	if err := csi.CSINodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one, "a")
	if err := core.PersistentVolumeClaims("default").Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one)
}

// TestAssumedPodsUseTheirClaims expects that a pod that is decided and not bound counts against the limit of its node, and has its
// ReadWriteOncePod claim for itself, also once it is bound.
func TestAssumedPodsUseTheirClaims(t *testing.T) {
	sole := storage.SoleClaim("sole", "v1")
	volume := storage.Volume("v1", "z1", "sole")
	volume.Spec.AccessModes = sole.Spec.AccessModes
	w := start(t, live.Options{}, makeNode("a", "z1"), makeNode("b", "z1"), storage.Class(storage.Delayed),
		volume, sole, storage.Volume("v2", "z1", "other"), storage.Claim("other", "v2"), storage.CSINode("a", 1))
	first, second, other := user("first", "sole"), user("second", "sole"), user("third", "other")
	w.feasible(second, "a", "b")
	w.feasible(other, "a", "b")
	if err := w.Assume(nil, live.Assumption{Pod: first, Node: "a"}); err != nil {
		t.Fatal(err)
	}
	w.feasible(second)
	w.feasible(other, "b")
	version := w.version()
	bound := on(first, "a")
	bound.Labels[corev1.LabelTopologyZone] = "z1" // as the API server does
	w.create(bound)
	eventually(t, "the event of the binding", func() bool { _, assumed := w.NodeOf(first.UID); return !assumed })
	if now := w.version(); now != version {
		t.Errorf("the event of the binding is a change: version %d, was %d", now, version)
	}
	w.feasible(second)
	if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(second, "a", "b")
}

// TestClaimsOfPodsByName expects that pods whose claims are named after them have claims of their own.
func TestClaimsOfPodsByName(t *testing.T) {
	objects := []runtime.Object{makeNode("a", "z1"), makeNode("b", "z2"), storage.Class(storage.Delayed), storage.CSINode("a", 2)}
	for _, name := range []string{"one", "two"} {
		p := makePod(name, name, corev1.LabelHostname)
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
		claim := storage.Claim(name+"-scratch", "v-"+name)
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: p.UID, Controller: new(true)}}
		objects = append(objects, on(p, "a"), claim, storage.Volume("v-"+name, "z1", name+"-scratch"))
	}
	w := start(t, live.Options{}, append(objects, storage.Volume("v3", "z1", "three"), storage.Claim("three", "v3"))...)
	three := user("three", "three")
	w.feasible(three)
	if err := w.api.CoreV1().Pods("default").Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(three, "a")

	// Another pod of the name does not control the claim, until that is gone.
	again := makePod("one", "one", corev1.LabelHostname)
	again.UID = "again"
	again.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	w.feasible(again, "a") // no event has shown it
	w.create(again)
	w.soon(again)
	claim := storage.Claim("one-scratch", "v-one")
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "one", UID: "again", Controller: new(true)}}
	must[*corev1.PersistentVolumeClaim](t)(w.api.CoreV1().PersistentVolumeClaims("default").Update(t.Context(), claim, metav1.UpdateOptions{}))
	w.soon(again, "a")
	if got := w.ClaimsOf(again); len(got.Missing)+len(got.Waiting) > 0 {
		t.Errorf("claims %+v", got)
	}
}

func TestClaimsThatNeedAttention(t *testing.T) {
	now := storage.Claim("now", "")
	now.Spec.StorageClassName = new(storage.Immediate)
	prebound := storage.Claim("prebound", "v9")
	prebound.Annotations = nil
	w := start(t, live.Options{}, storage.Class(storage.Delayed), storage.Class(storage.Immediate),
		storage.Claim("later", ""), now, prebound, storage.Claim("bound", "v1"))
	got := w.ClaimsOf(user("p", "gone", "later", "now", "prebound", "bound"))
	if strings.Join(got.Missing, ",") != "gone" || strings.Join(got.Waiting, ",") != "later" {
		t.Errorf("claims %+v", got)
	}
}

// TestWithoutTheRightsForStorage expects, for each kind that must not be listed or watched, or that the API server lacks, that claims are
// unread fields, and one line in the log.
func TestWithoutTheRightsForStorage(t *testing.T) {
	for _, of := range live.StorageResources() {
		for verb, reason := range map[string]error{
			"list":  apierrors.NewForbidden(of.GroupResource(), "", nil),
			"watch": apierrors.NewForbidden(of.GroupResource(), "", nil),
			"none":  apierrors.NewNotFound(of.GroupResource(), ""),
		} {
			t.Run(of.Resource+"/"+verb, func(t *testing.T) {
				var log syncedBuffer
				forbid := func(api *fake.Clientset) {
					if verb != "watch" {
						api.PrependReactor("list", of.Resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, reason })
					}
					api.PrependWatchReactor(of.Resource, func(clienttesting.Action) (bool, watch.Interface, error) { return true, nil, reason })
				}
				w := startWith(t, live.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, forbid, makeNode("a", "z1"),
					storage.Class(storage.Delayed), storage.Volume("v1", "z1", "one"), storage.Claim("one", "v1"))
				if w.ReadsVolumes() {
					t.Error("the storage objects are read")
				}
				if got := w.ClaimsOf(user("one", "gone")); len(got.Missing) > 0 {
					t.Errorf("claims %+v", got)
				}
				p, err := w.PendingPod(user("one", "one"))
				if err != nil || len(p.Unread) != 1 || p.Unread[0].Field != "spec.volumes[0].persistentVolumeClaim" || len(p.GetTemplate().Spec.Volumes) > 0 {
					t.Errorf("%v, %v", p, err)
				}
				if text := log.String(); strings.Count(text, "without volumes") != 1 || !strings.Contains(text, of.Resource) {
					t.Errorf("not one line about it:\n%s", text)
				}
			})
		}
	}
}

// syncedBuffer is a buffer for a log.
type syncedBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *syncedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(p)
}

func (b *syncedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}

func TestRefusedStorageObjectsAreLeftOut(t *testing.T) {
	w := start(t, live.Options{}, makeNode("a", "z1"), storage.Class(storage.Delayed),
		storage.Volume("v1", "z1", "one"), storage.Claim("one", "v1"))
	one, none := user("one", "one"), makePod("none", "none", corev1.LabelHostname)
	w.feasible(one, "a")
	long := storage.Volume("v1", "z1", "one")
	long.Spec.CSI.VolumeHandle = strings.Repeat("x", 5000) // longer than the contract allows
	volumes := w.api.CoreV1().PersistentVolumes()
	must[*corev1.PersistentVolume](t)(volumes.Update(t.Context(), long, metav1.UpdateOptions{}))
	w.soon(one)
	w.feasible(none, "a")
	if n := w.refused("PersistentVolume"); n != 1 {
		t.Errorf("%d refused volumes", n)
	}
	odd := storage.Claim("odd", "")
	odd.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{"ReadSometimes"}
	must[*corev1.PersistentVolumeClaim](t)(w.api.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), odd, metav1.CreateOptions{}))
	eventually(t, "the claim is refused", func() bool { return w.refused("PersistentVolumeClaim") == 1 })
	must[*corev1.PersistentVolume](t)(volumes.Update(t.Context(), storage.Volume("v1", "z1", "one"), metav1.UpdateOptions{}))
	w.soon(one, "a")
	if n := w.refused("PersistentVolume"); n != 0 {
		t.Errorf("%d refused volumes", n)
	}
}
