package batch_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

var allocating = batch.Options{AllocateDevices: true}

// allocated returns the devices of a claim, and expects that it is reserved for a pod, and for no other.
func (w *world) allocated(claim, pod string) (out []string) {
	w.t.Helper()
	c, err := w.api.ResourceV1().ResourceClaims("default").Get(w.t.Context(), claim, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if c.Status.Allocation == nil || len(c.Status.ReservedFor) != 1 || c.Status.ReservedFor[0].UID != w.pod(pod).UID ||
		!slices.Contains(c.Finalizers, resourcev1.Finalizer) {
		w.t.Fatalf("%s: finalizers %v, status %+v", claim, c.Finalizers, c.Status)
	}
	for _, r := range c.Status.Allocation.Devices.Results {
		out = append(out, r.Pool+"/"+r.Device)
	}
	return out
}

// versions makes the API server refuse to update a claim unless the request has its version, and give it another one. The fake API server
// holds its lock while a reactor runs.
func (w *world) versions() {
	resource := resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	react := clienttesting.ReactionFunc(func(a clienttesting.Action) (bool, runtime.Object, error) {
		to := a.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
		now, err := w.api.Tracker().Get(resource, to.Namespace, to.Name)
		if err != nil {
			return true, nil, err
		}
		if is := now.(*resourcev1.ResourceClaim).ResourceVersion; is != to.ResourceVersion {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), to.Name, errors.New("it has changed"))
		}
		version, _ := strconv.Atoi(to.ResourceVersion)
		to.ResourceVersion = strconv.Itoa(version + 1)
		return true, to, w.api.Tracker().Update(resource, to, to.Namespace)
	})
	w.updateClaim.Store(&react)
}

// TestDevicesAreAllocated expects that each pod that is bound has devices of its own, on its node, and why the others wait.
func TestDevicesAreAllocated(t *testing.T) {
	objects := []runtime.Object{node("a", "8"), node("b", "8"), devices.NewClass(), devices.Slice("a", "old", 1), devices.Slice("b", "old", 2)}
	var pods []*corev1.Pod
	for i := range 4 {
		name := fmt.Sprint("p-", i)
		pods = append(pods, devices.Use(pod(name), name))
		objects = append(objects, devices.Claim(name, 1))
	}
	w := start(t, allocating, objects...)
	w.versions()
	w.create(pods...)
	var waits string
	eventually(t, func() error {
		var waiting []string
		for _, p := range pods {
			if w.pod(p.Name).Spec.NodeName == "" {
				waiting = append(waiting, p.Name)
			}
		}
		if len(waiting) != 1 {
			return fmt.Errorf("%v wait", waiting)
		}
		waits = waiting[0]
		return nil
	})
	w.waits(waits, "0/2 nodes are available: 2 cannot allocate all claims.")
	w.because(waits, corev1.PodReasonUnschedulable)
	taken := map[string]string{}
	for _, p := range pods {
		if p.Name == waits {
			continue
		}
		of := w.allocated(p.Name, p.Name)
		if on := w.pod(p.Name).Spec.NodeName; len(of) != 1 || taken[of[0]] != "" || !strings.HasPrefix(of[0], on+"/") {
			t.Errorf("%s on %s has %v; taken %v", p.Name, on, of, taken)
		}
		taken[of[0]] = p.Name
	}
	if _, err := w.api.ResourceV1().ResourceSlices().Create(t.Context(), devices.Slice("c", "old", 1), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.api.CoreV1().Nodes().Create(t.Context(), node("c", "8"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound(waits)
	if got := w.allocated(waits, waits); !slices.Equal(got, []string{"c/gpu-0"}) {
		t.Error(got)
	}
}

// TestASharedClaimIsReservedForEachPod expects that pods with one claim are on its node.
func TestASharedClaimIsReservedForEachPod(t *testing.T) {
	w := start(t, allocating, node("a", "8"), node("b", "8"), devices.NewClass(), devices.Slice("a", "old", 1), devices.Claim("one", 1))
	w.versions()
	w.create(devices.Use(pod("p-1"), "one"), devices.Use(pod("p-2"), "one"), devices.Use(pod("p-3"), "one"))
	w.bound("p-1", "p-2", "p-3")
	eventually(t, func() error {
		c, err := w.api.ResourceV1().ResourceClaims("default").Get(t.Context(), "one", metav1.GetOptions{})
		if err == nil && len(c.Status.ReservedFor) != 3 {
			err = fmt.Errorf("reserved for %v", c.Status.ReservedFor)
		}
		return err
	})
}

// TestAClaimFromATemplate expects that a pod is placed once the controller has created its claim, although no other object changes.
func TestAClaimFromATemplate(t *testing.T) {
	made := devices.Claim("p-made", 1)
	made.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "pod-p", Controller: new(true)}}
	w := start(t, allocating, node("a", "8"), devices.NewClass(), devices.Slice("a", "old", 1), made)
	p := pod("p")
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "made", ResourceClaimTemplateName: new("template")}}
	w.create(p)
	w.waits("p", "ResourceClaim not created yet")
	w.because("p", corev1.PodReasonSchedulingGated)
	p = w.pod("p")
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "made", ResourceClaimName: new("p-made")}}
	if _, err := w.api.CoreV1().Pods("default").UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound("p")
	w.allocated("p-made", "p")
}

func TestPodsWithClaimsAreLeftAloneByDefault(t *testing.T) {
	w := start(t, batch.Options{}, node("a", "8"), devices.NewClass(), devices.Slice("a", "old", 1), devices.Claim("one", 1))
	w.create(devices.Use(pod("p"), "one"))
	w.waits("p", "this scheduler leaves the pod alone, because it allocates no devices (allocate-devices), and the pod has resource claims: one")
	w.because("p", corev1.PodReasonSchedulerError)
}

func TestDevicesWithBindingConditionsAreLeftAlone(t *testing.T) {
	slice := devices.Slice("a", "old", 1)
	slice.Spec.Devices[0].BindingConditions, slice.Spec.Devices[0].BindingFailureConditions = []string{"ready"}, []string{"failed"}
	w := start(t, allocating, node("a", "8"), devices.NewClass(), slice, devices.Claim("one", 1))
	w.create(devices.Use(pod("p"), "one"), pod("other"))
	w.waits("p", "this scheduler leaves the pod alone, because devices of the claim default/one have binding conditions, for which it does not wait")
	w.bound("other")
}

// TestClaimsOfAnEarlierAttempt expects that a pod whose claim is allocated goes where its device is, and that it gets another one if it does
// not fit there.
func TestClaimsOfAnEarlierAttempt(t *testing.T) {
	fits, full := devices.Use(pod("fits"), "one"), devices.Use(pod("full"), "two")
	shared := devices.Allocated(devices.Claim("three", 1), "b", nil, "gpu-1")
	shared.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "x", UID: "x"}, {Resource: "pods", Name: "y", UID: "y"}}
	w := start(t, allocating, node("a", "8"), node("b", "0"), devices.NewClass(), devices.Slice("a", "old", 2), devices.Slice("b", "old", 2),
		devices.Allocated(devices.Claim("one", 1), "a", fits, "gpu-1"), devices.Allocated(devices.Claim("two", 1), "b", full, "gpu-0"), shared)
	w.create(fits, full, devices.Use(pod("stays"), "three"))
	w.bound("fits", "full")
	if got := w.pod("fits").Spec.NodeName + w.pod("full").Spec.NodeName; got != "aa" {
		t.Error(got)
	}
	if got := w.allocated("two", "full"); !slices.Equal(got, []string{"a/gpu-0"}) {
		t.Error(got)
	}
	w.waits("stays", "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node.")
	if c, err := w.api.ResourceV1().ResourceClaims("default").Get(t.Context(), "three", metav1.GetOptions{}); err != nil || c.Status.Allocation == nil {
		t.Errorf("a claim of other pods has lost its devices: %+v, %v", c, err)
	}
}

// TestClaimsThatChangeMeanwhile expects that a claim is written again after a conflict, that one which somebody else allocated decides where
// its pod goes, and that a lost answer changes nothing.
func TestClaimsThatChangeMeanwhile(t *testing.T) {
	for _, c := range []struct {
		what   string
		answer func(w *world, c *resourcev1.ResourceClaim) error
		want   string
	}{
		{"a conflict", func(*world, *resourcev1.ResourceClaim) error {
			return apierrors.NewConflict(resourcev1.Resource("resourceclaims"), "one", errors.New("changed"))
		}, "a/gpu-0"},
		{"a lost answer", func(w *world, c *resourcev1.ResourceClaim) error {
			if err := w.api.Tracker().Update(resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), c, "default"); err != nil {
				return err
			}
			return apierrors.NewTimeoutError("lost", 0)
		}, "a/gpu-0"},
		{"allocated by somebody else", func(w *world, _ *resourcev1.ResourceClaim) error {
			if err := w.api.Tracker().Update(resourcev1.SchemeGroupVersion.WithResource("resourceclaims"),
				devices.Allocated(devices.Claim("one", 1), "b", nil, "gpu-0"), "default"); err != nil {
				return err
			}
			return apierrors.NewConflict(resourcev1.Resource("resourceclaims"), "one", errors.New("changed"))
		}, "b/gpu-0"},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := start(t, allocating, node("a", "8"), node("b", "1"), devices.NewClass(), devices.Slice("a", "old", 1), devices.Slice("b", "old", 1),
				devices.Claim("one", 1))
			var done atomic.Bool
			react := clienttesting.ReactionFunc(func(a clienttesting.Action) (bool, runtime.Object, error) {
				if a.GetSubresource() != "status" || !done.CompareAndSwap(false, true) {
					return false, nil, nil
				}
				return true, nil, c.answer(w, a.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim))
			})
			w.updateClaim.Store(&react)
			w.create(devices.Use(pod("p"), "one"))
			w.bound("p")
			if got := w.allocated("one", "p"); !slices.Equal(got, []string{c.want}) || w.pod("p").Spec.NodeName != c.want[:1] {
				t.Errorf("%v on %s", got, w.pod("p").Spec.NodeName)
			}
		})
	}
}

// TestWhatIsWrittenToAClaim expects the fields that kube-scheduler writes besides the names of devices: a choice of a list, tolerations,
// configurations, consumed capacity, and the nodes of a slice.
func TestWhatIsWrittenToAClaim(t *testing.T) {
	class := devices.NewClass()
	parameters := func(name string) resourcev1.DeviceConfiguration {
		return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
			Driver: devices.Driver, Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"of":%q}`, name)},
		}}
	}
	class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: parameters("class")}}
	slice := devices.Slice("a", "old", 2)
	slice.Spec.NodeName = nil
	slice.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists,
	}}}}}
	slice.Spec.Devices[0].AllowMultipleAllocations = new(true)
	slice.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8Gi")}}
	slice.Spec.Devices[1].Taints = []resourcev1.DeviceTaint{{Key: "old", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	claim := devices.Claim("one", 1)
	tolerations := []resourcev1.DeviceToleration{{Key: "old", Operator: resourcev1.DeviceTolerationOpExists}}
	claim.Spec.Devices = resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{
			{Name: "part", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: devices.Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
				Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("2Gi")}}}},
			{Name: "list", FirstAvailable: []resourcev1.DeviceSubRequest{
				{Name: "new", DeviceClassName: devices.Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
					Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: devices.OfModel("new")}}}},
				{Name: "old", DeviceClassName: devices.Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Tolerations: tolerations},
			}},
		},
		Config: []resourcev1.DeviceClaimConfiguration{
			{Requests: []string{"list"}, DeviceConfiguration: parameters("list")}, {Requests: []string{"list/new"}, DeviceConfiguration: parameters("new")},
			{DeviceConfiguration: parameters("all")},
		},
	}
	w := start(t, allocating, node("a", "8"), class, slice, claim)
	w.create(devices.Use(pod("p"), "one"))
	w.bound("p")
	w.allocated("one", "p")
	got, err := w.api.ResourceV1().ResourceClaims("default").Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a := got.Status.Allocation
	if a.AllocationTimestamp.IsZero() || a.Devices.Results[0].ShareID == nil {
		t.Errorf("no time or no share: %+v", a)
	}
	a.AllocationTimestamp, a.Devices.Results[0].ShareID = nil, nil
	want := &resourcev1.AllocationResult{NodeSelector: slice.Spec.NodeSelector, Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "part", Driver: devices.Driver, Pool: "a", Device: "gpu-0",
				ConsumedCapacity: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("2Gi")}},
			{Request: "list/old", Driver: devices.Driver, Pool: "a", Device: "gpu-1", Tolerations: tolerations},
		},
		Config: []resourcev1.DeviceAllocationConfiguration{
			{Source: resourcev1.AllocationConfigSourceClass, DeviceConfiguration: parameters("class")},
			{Source: resourcev1.AllocationConfigSourceClaim, Requests: []string{"list"}, DeviceConfiguration: parameters("list")},
			{Source: resourcev1.AllocationConfigSourceClaim, DeviceConfiguration: parameters("all")},
		},
	}}
	if d := gocmp.Diff(want, a); d != "" {
		t.Error(d)
	}
}

// TestGroupsWithClaims expects that a group whose devices do not suffice gets none, and that one whose devices suffice gets them.
func TestGroupsWithClaims(t *testing.T) {
	objects := []runtime.Object{node("a", "8"), devices.NewClass(), devices.Slice("a", "old", 2)}
	var pods []*corev1.Pod
	for i := range 3 {
		name := fmt.Sprint("p-", i)
		p := devices.Use(pod(name), name)
		p.Labels = map[string]string{"pod-group.scheduling.sigs.k8s.io/name": "g", "pod-group.scheduling.sigs.k8s.io/min-available": "3"}
		pods = append(pods, p)
		objects = append(objects, devices.Claim(name, 1))
	}
	w := start(t, allocating, objects...)
	w.create(pods...)
	w.waits("p-0", "pod group default/g")
	claims, err := w.api.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || slices.ContainsFunc(claims.Items, func(c resourcev1.ResourceClaim) bool { return c.Status.Allocation != nil }) {
		t.Errorf("%+v, %v", claims, err)
	}
	if _, err := w.api.ResourceV1().ResourceSlices().Update(t.Context(), devices.Slice("a", "old", 3), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.bound("p-0", "p-1", "p-2")
	taken := map[string]bool{}
	for _, p := range pods {
		taken[w.allocated(p.Name, p.Name)[0]] = true
	}
	if len(taken) != 3 {
		t.Errorf("devices %v", taken)
	}
}
