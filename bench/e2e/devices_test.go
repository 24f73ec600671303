package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

// deviceWorld is a cluster of nodes with GPUs, of which the first node has old ones, as the driver of the nodes would publish them. There is
// also a GPU that some nodes reach over the network, in two parts.
func deviceWorld(t *testing.T, s *stack.Stack, nodes, each int) {
	t.Helper()
	deleteAll(t, s)
	ctx, api := t.Context(), s.Client.ResourceV1()
	must(t, controlplane.FakeNodes(ctx, s.Client, nodes, 2))
	class := devices.NewClass()
	class.UID = ""
	class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: parameters("class")}}
	_, err := api.DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
	must(t, err)
	for i := range nodes {
		model := "new"
		if i == 0 {
			model = "old"
		}
		slice := devices.Slice(fmt.Sprintf("node-%05d", i), model, each)
		slice.UID = ""
		_, err := api.ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
		must(t, err)
	}
	remote := devices.Slice("remote", "remote", 1)
	remote.UID, remote.Spec.NodeName = "", nil
	remote.Spec.NodeSelector = controlplane.InZone("zone-1").Required
	remote.Spec.Devices[0].AllowMultipleAllocations = new(true)
	remote.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("8Gi")}}
	_, err = api.ResourceSlices().Create(ctx, remote, metav1.CreateOptions{})
	must(t, err)
}

func parameters(of string) resourcev1.DeviceConfiguration {
	return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
		Driver: devices.Driver, Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"of":%q}`, of)},
	}}
}

// createClaim creates a claim.
func createClaim(t *testing.T, s *stack.Stack, name string, spec resourcev1.ResourceClaimSpec) {
	t.Helper()
	c := devices.Claim(name, 1)
	c.UID, c.Spec = "", spec
	_, err := s.Client.ResourceV1().ResourceClaims("default").Create(t.Context(), c, metav1.CreateOptions{})
	must(t, err)
}

// createClaimant creates a pod that uses claims, and if templates is not empty, claims that are created for it from templates.
func createClaimant(t *testing.T, s *stack.Stack, name, schedulerName string, claims, templates []string) {
	t.Helper()
	p := devices.Use(sized(name, "1", schedulerName), claims...)
	p.Name, p.Namespace = name, "default"
	for _, template := range templates {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, corev1.PodResourceClaim{Name: template, ResourceClaimTemplateName: &template})
	}
	_, err := s.Client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{})
	must(t, err)
}

// devicesIntact waits until each bound pod has devices on its node that are reserved for it, and expects that no device is given out twice. It
// returns what each claim has, by a name that does not depend on the scheduler.
func devicesIntact(t *testing.T, s *stack.Stack) map[string]*resourcev1.AllocationResult {
	t.Helper()
	var out map[string]*resourcev1.AllocationResult
	eventually(t, patience, func() error {
		out = map[string]*resourcev1.AllocationResult{}
		list, err := s.Client.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		pods, err := s.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		by, claims := map[string]string{}, map[string]*resourcev1.ResourceClaim{}
		for i := range list.Items {
			c := &list.Items[i]
			claims[c.Name] = c
			name := c.Name
			if owner := metav1.GetControllerOfNoCopy(c); owner != nil {
				name = owner.Name + " " + c.Annotations["resource.kubernetes.io/pod-claim-name"]
			}
			out[name] = c.Status.Allocation
			if c.Status.Allocation == nil {
				continue
			}
			for _, r := range c.Status.Allocation.Devices.Results {
				id := r.Driver + "/" + r.Pool + "/" + r.Device
				if by[id] != "" && r.ShareID == nil {
					t.Fatalf("the claims %s and %s have the device %s", by[id], c.Name, id)
				}
				by[id] = c.Name
			}
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Spec.NodeName == "" || p.DeletionTimestamp != nil {
				continue
			}
			for _, name := range claimsOfPod(p) {
				c := claims[name]
				reserved := c != nil && slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.UID })
				if !reserved || c.Status.Allocation == nil || !slices.Contains(c.Finalizers, resourcev1.Finalizer) {
					t.Fatalf("%s on %s has the claim %s: %+v", p.Name, p.Spec.NodeName, name, c)
				}
				for _, r := range c.Status.Allocation.Devices.Results {
					if r.Pool != "remote" && r.Pool != p.Spec.NodeName {
						t.Fatalf("%s on %s has %+v", p.Name, p.Spec.NodeName, r)
					}
				}
			}
		}
		return nil
	})
	return out
}

// claimsOfPod returns the names of a pod's claims.
func claimsOfPod(p *corev1.Pod) (out []string) {
	for _, c := range p.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			out = append(out, *c.ResourceClaimName)
		}
	}
	for _, c := range p.Status.ResourceClaimStatuses {
		if c.ResourceClaimName != nil {
			out = append(out, *c.ResourceClaimName)
		}
	}
	return out
}

// TestDevices takes pods with resource claims through every scheduler, and expects of each the nodes, the reasons and the allocations that
// plain kube-scheduler writes, with configurations, tolerations, shares and the nodes of network-attached devices.
func TestDevices(t *testing.T) {
	compareSchedulers(t, claimants, cmpopts.IgnoreFields(resourcev1.AllocationResult{}, "AllocationTimestamp"),
		cmpopts.IgnoreFields(resourcev1.DeviceRequestAllocationResult{}, "ShareID"))
}

// claimants creates pods with claims, one after the other, and returns what became of the pods and of their claims.
func claimants(t *testing.T, s *stack.Stack, schedulerName string) observed {
	t.Helper()
	var said []string
	deviceWorld(t, s, 2, 3)
	settle := func(what, has string, pods int) {
		t.Helper()
		said = append(said, what+": "+strings.Join(outcomeOf(t, s, what+"-", pods, has), ", "))
		devicesIntact(t, s)
	}
	spec := devices.Spec(2, devices.OfModel("old"))
	spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{{Requests: []string{"gpu"}, DeviceConfiguration: parameters("claim")}}
	_, err := s.Client.ResourceV1().ResourceClaimTemplates("default").Create(t.Context(), &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "pair"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec},
	}, metav1.CreateOptions{})
	must(t, err)
	createClaimant(t, s, "pair-0", schedulerName, nil, []string{"pair"})
	settle("pair", "never", 1)
	createClaimant(t, s, "more-0", schedulerName, nil, []string{"pair"})
	settle("more", "cannot allocate all claims", 1)

	// A list, of which the second request is there, with a toleration and the rest of the node.
	list := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{
			{Name: "next", DeviceClassName: devices.Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
				Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: devices.OfModel("next")}}}},
			{Name: "any", DeviceClassName: devices.Class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 3,
				Selectors:   []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: devices.OfModel("new")}}},
				Tolerations: []resourcev1.DeviceToleration{{Key: "broken", Operator: resourcev1.DeviceTolerationOpExists}}},
		}}},
		Config: []resourcev1.DeviceClaimConfiguration{{Requests: []string{"gpu/next"}, DeviceConfiguration: parameters("next")},
			{Requests: []string{"gpu/any"}, DeviceConfiguration: parameters("any")}},
	}}
	createClaim(t, s, "list", list)
	rule := devices.TaintRule("rule", "node-00001", "gpu-1")
	rule.UID = ""
	_, err = s.Client.ResourceV1().DeviceTaintRules().Create(t.Context(), rule, metav1.CreateOptions{})
	must(t, err)
	createClaimant(t, s, "list-0", schedulerName, []string{"list"}, nil)
	settle("list", "never", 1)
	createClaimant(t, s, "list-1", schedulerName, []string{"list"}, nil) // shares the claim
	settle("list", "never", 2)

	// Parts of the device that the nodes of a zone reach.
	part := devices.Spec(1, devices.OfModel("remote"))
	part.Devices.Requests[0].Exactly.Capacity = &resourcev1.CapacityRequirements{
		Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("3Gi")}}
	for i := range 3 {
		name := fmt.Sprint("part-", i)
		createClaim(t, s, name, part)
		createClaimant(t, s, name, schedulerName, []string{name}, nil)
		settle("part", "cannot allocate all claims", i+1)
	}
	// What a pod gives back, a pod that waits gets.
	must(t, s.Client.CoreV1().Pods("default").Delete(t.Context(), "pair-0", metav1.DeleteOptions{}))
	settle("more", "never", 1)
	return observed{said, devicesIntact(t, s)}
}

// killedClaimants is the number of pods in a burst, each with two devices of its own.
const killedClaimants = 40

// TestDevicesKilled kills schedulers with SIGKILL while they allocate devices, and expects that all pods are bound, and that no device is given
// out twice.
func TestDevicesKilled(t *testing.T) {
	c := start(t)
	for _, s := range schedulers {
		s.start(t, c)
	}
	for _, s := range schedulers[1:] {
		t.Run(s.name, func(t *testing.T) {
			deviceWorld(t, c, 10, 8) // exactly as many devices as the pods need
			for i := range killedClaimants {
				createClaim(t, c, fmt.Sprint("burst-", i), devices.Spec(2, `device.attributes["`+devices.Driver+`"].model != "remote"`))
			}
			must(t, controlplane.Parallel(t.Context(), killedClaimants, func(_ context.Context, i int) error {
				createClaimant(t, c, fmt.Sprint("burst-", i), s.pods, []string{fmt.Sprint("burst-", i)}, nil)
				return nil
			}))
			for kill := range 2 {
				eventually(t, patience, func() error { // in the middle
					claims, err := c.Client.ResourceV1().ResourceClaims("default").List(t.Context(), metav1.ListOptions{})
					if err != nil {
						return err
					}
					allocated := 0
					for _, c := range claims.Items {
						if c.Status.Allocation != nil {
							allocated++
						}
					}
					if allocated <= 10*kill {
						err = fmt.Errorf("%d claims are allocated", allocated)
					}
					return err
				})
				s.kill(t, c)
			}
			pods := outcomeOf(t, c, "burst-", killedClaimants, "never")
			given := devicesIntact(t, c)
			taken := 0
			for _, name := range slices.Sorted(maps.Keys(given)) {
				if given[name] == nil {
					t.Errorf("%s has no devices", name)
					continue
				}
				taken += len(given[name].Devices.Results)
			}
			if taken != 2*killedClaimants {
				t.Errorf("%d devices are taken", taken)
			}
			t.Logf("%d pods are bound, %d devices taken", len(pods), taken)
		})
	}
}
