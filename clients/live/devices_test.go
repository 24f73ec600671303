package live_test

import (
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

// claimant is a pod that uses resource claims.
func claimant(name string, claims ...string) *corev1.Pod {
	return devices.Use(makePod(name, name, corev1.LabelHostname), claims...)
}

// withDevices makes a fake API server serve resource.k8s.io/v1.
func withDevices(api *fake.Clientset) {
	served := &metav1.APIResourceList{GroupVersion: resourcev1.SchemeGroupVersion.String()}
	for _, r := range live.DeviceResources() {
		served.APIResources = append(served.APIResources, metav1.APIResource{Name: r.Resource})
	}
	api.Resources = append(api.Resources, served)
}

func TestDeviceEventsReachTheServer(t *testing.T) {
	w := startWith(t, live.Options{Selectors: cel.New()}, withDevices, makeNode("a", "z1"), makeNode("b", "z1"), devices.NewClass(),
		devices.Slice("a", "old", 1), devices.Claim("one", 1))
	if !w.ReadsDevices() {
		t.Fatal("the objects of devices are not read")
	}
	api := w.api.ResourceV1()
	claims, classes, pools, rules := api.ResourceClaims("default"), api.DeviceClasses(), api.ResourceSlices(), api.DeviceTaintRules()
	one, two := claimant("one", "one"), claimant("two", "two")
	w.feasible(one, "a")
	w.feasible(two) // there is no such claim
	must[*resourcev1.ResourceClaim](t)(claims.Create(t.Context(), devices.Claim("two", 1, devices.OfModel("new")), metav1.CreateOptions{}))
	w.soon(one, "a") // with another expression
	w.feasible(two)
	must[*resourcev1.ResourceSlice](t)(pools.Create(t.Context(), devices.Slice("b", "new", 1), metav1.CreateOptions{}))
	w.soon(two, "b")
	w.feasible(one, "a", "b")

	// A rule taints a device.
	must[*resourcev1.DeviceTaintRule](t)(rules.Create(t.Context(), devices.TaintRule("r", "b", "gpu-0"), metav1.CreateOptions{}))
	w.soon(two)
	must[*resourcev1.DeviceTaintRule](t)(rules.Update(t.Context(), devices.TaintRule("r", "a", "gpu-0"), metav1.UpdateOptions{}))
	w.soon(two, "b")
	w.feasible(one, "b")
	if err := rules.Delete(t.Context(), "r", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one, "a", "b")

	// A claim takes a device, and gives it back.
	must[*resourcev1.ResourceClaim](t)(claims.UpdateStatus(t.Context(), devices.Allocated(devices.Claim("two", 1, devices.OfModel("new")), "b", two, "gpu-0"), metav1.UpdateOptions{}))
	w.soon(one, "a")
	w.feasible(two, "b")
	if err := claims.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one, "a", "b")
	if err := pools.Delete(t.Context(), "b-gpus", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one, "a")
	if err := classes.Delete(t.Context(), devices.Class, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(one)
}

// TestAssumedClaimsCount expects that devices of a pod that is decided are not free, whatever earlier events about its claim arrive, until
// the pod is forgotten.
func TestAssumedClaimsCount(t *testing.T) {
	w := startWith(t, live.Options{Selectors: cel.New()}, withDevices, makeNode("a", "z1"), makeNode("b", "z1"), devices.NewClass(),
		devices.Slice("a", "old", 1), devices.Claim("one", 1), devices.Claim("two", 1))
	claims := w.api.ResourceV1().ResourceClaims("default")
	first, second := claimant("first", "one"), claimant("second", "two")
	w.feasible(second, "a")
	taken := devices.Allocated(devices.Claim("one", 1), "a", first, "gpu-0")
	assume := func() {
		t.Helper()
		if err := w.Assume(nil, live.Assumption{Pod: first, Node: "a", Claims: []*resourcev1.ResourceClaim{taken}}); err != nil {
			t.Fatal(err)
		}
	}
	assume()
	w.feasible(second)
	if got := w.ResourceClaim("default", "one"); got.Status.Allocation == nil {
		t.Error("the claim is not allocated")
	}
	earlier := devices.Claim("one", 1)
	earlier.Labels = map[string]string{"changed": "meanwhile"}
	must[*resourcev1.ResourceClaim](t)(claims.Update(t.Context(), earlier, metav1.UpdateOptions{}))
	eventually(t, "the event", func() bool { return w.ResourceClaim("default", "one").Labels["changed"] != "" })
	w.feasible(second)
	w.Forget(first.UID)
	w.feasible(second, "a")

	// What is written counts until an event shows it, even if the pod is forgotten.
	assume()
	w.ClaimWritten(taken)
	w.Forget(first.UID)
	w.feasible(second)
	must[*resourcev1.ResourceClaim](t)(claims.UpdateStatus(t.Context(), taken, metav1.UpdateOptions{}))
	must[*resourcev1.ResourceClaim](t)(claims.UpdateStatus(t.Context(), devices.Claim("one", 1), metav1.UpdateOptions{}))
	w.soon(second, "a")

	// Another claim of the name, or none.
	assume()
	again := devices.Claim("one", 1)
	again.UID = "again"
	if err := claims.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.soon(second, "a")
	must[*resourcev1.ResourceClaim](t)(claims.Create(t.Context(), again, metav1.CreateOptions{}))
	eventually(t, "the event", func() bool { o := w.ResourceClaim("default", "one"); return o != nil && o.UID == "again" })
	if err := w.Assume(nil, live.Assumption{Pod: first, Node: "a", Claims: []*resourcev1.ResourceClaim{taken}}); err == nil {
		t.Error("a claim that is gone is assumed")
	}
}

// TestWithoutTheRightsForDevices expects, for each kind that must not be listed or watched, or that the API server lacks, that claims are
// unread fields, that DeviceClasses are read all the same, and one line in the log.
func TestWithoutTheRightsForDevices(t *testing.T) {
	for _, of := range live.DeviceResources() {
		if of.Resource == "deviceclasses" {
			continue // nothing is read without them
		}
		for verb, reason := range map[string]error{
			"list": apierrors.NewForbidden(of.GroupResource(), "", nil), "none": apierrors.NewNotFound(of.GroupResource(), ""),
		} {
			t.Run(of.Resource+"/"+verb, func(t *testing.T) {
				var log syncedBuffer
				class := devices.NewClass()
				class.Spec.ExtendedResourceName = new("example.com/gpu")
				w := startWith(t, live.Options{Selectors: cel.New(), Log: slog.New(slog.NewTextHandler(&log, nil))}, func(api *fake.Clientset) {
					withDevices(api)
					api.PrependReactor("list", of.Resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, reason })
					api.PrependWatchReactor(of.Resource, func(clienttesting.Action) (bool, watch.Interface, error) { return true, nil, reason })
				}, makeNode("a", "z1"), class, devices.Slice("a", "old", 1), devices.Claim("one", 1))
				if w.ReadsDevices() || w.DeviceClasses()["example.com/gpu"] != devices.Class {
					t.Errorf("devices are read: %v, classes %v", w.ReadsDevices(), w.DeviceClasses())
				}
				p, err := w.PendingPod(claimant("one", "one"))
				if err != nil || len(p.Unread) != 1 || p.Unread[0].Field != "spec.resourceClaims[0]" || len(p.GetTemplate().Spec.ResourceClaims) > 0 {
					t.Errorf("%v, %v", p, err)
				}
				if text := log.String(); strings.Count(text, "without devices") != 1 || !strings.Contains(text, of.Resource) {
					t.Errorf("not one line about it:\n%s", text)
				}
			})
		}
	}
}

func TestRefusedDevicesAreLeftOut(t *testing.T) {
	w := startWith(t, live.Options{Selectors: cel.New()}, withDevices, makeNode("a", "z1"), devices.NewClass(), devices.Slice("a", "old", 1),
		devices.Claim("one", 1))
	one, none := claimant("one", "one"), makePod("none", "none", corev1.LabelHostname)
	w.feasible(one, "a")
	odd := devices.Slice("a", "old", 1)
	odd.Spec.Devices[0].Attributes["list"] = resourcev1.DeviceAttribute{} // without a value
	pools := w.api.ResourceV1().ResourceSlices()
	must[*resourcev1.ResourceSlice](t)(pools.Update(t.Context(), odd, metav1.UpdateOptions{}))
	w.soon(one)
	w.feasible(none, "a")
	if n := w.refused("ResourceSlice"); n != 1 {
		t.Errorf("%d refused slices", n)
	}
	long := devices.Slice("a", "old", 1)
	long.Spec.Driver = strings.Repeat("x", 300) // longer than the contract allows
	must[*resourcev1.ResourceSlice](t)(pools.Update(t.Context(), long, metav1.UpdateOptions{}))
	w.soon(none, "a")
	w.feasible(one)
	must[*resourcev1.ResourceSlice](t)(pools.Update(t.Context(), devices.Slice("a", "old", 1), metav1.UpdateOptions{}))
	w.soon(one, "a")
	if n := w.refused("ResourceSlice"); n != 0 {
		t.Errorf("%d refused slices", n)
	}
}
