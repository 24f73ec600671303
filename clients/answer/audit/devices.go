package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// devices finds claims that no pod uses, tainted devices in use, pools without devices, and nodes without free devices.
func (a *audit) devices() error {
	a.unusedClaims()
	a.taintedDevices()
	a.brokenPools()
	return a.fullOfDevices()
}

// unusedClaims finds claims that have devices, and that no pod has reserved.
func (a *audit) unusedClaims() {
	for _, c := range a.cluster.ResourceClaims {
		devices := c.GetAllocation().GetDevices()
		if len(devices) == 0 || len(c.GetReservedFor()) > 0 || c.GetTerminating() {
			continue
		}
		a.found = append(a.found, review.Finding{
			Severity: review.Warning, Rule: UnusedClaim, Object: resourceClaim(c),
			Message: fmt.Sprintf("it has %s, and no pod has reserved it", words.Devices(devices)),
		})
	}
}

func resourceClaim(c *stowagev1.ResourceClaim) review.Object {
	return review.Object{Kind: "ResourceClaim", Namespace: c.GetNamespace(), Name: c.GetName()}
}

// taintedDevices finds devices with a NoExecute taint that the claim does not tolerate: the pods of the claim are evicted
// (k8s.io/kubernetes pkg/controller/devicetainteviction, v1.37.1).
func (a *audit) taintedDevices() {
	type deviceKey struct{ driver, pool, device string }
	taints := map[deviceKey][]*stowagev1.DeviceTaint{}
	for _, s := range a.cluster.ResourceSlices {
		for _, d := range s.GetDevices() {
			key := deviceKey{s.GetDriver(), s.GetPool(), d.GetName()}
			for _, t := range d.GetTaints() {
				if t.GetEffect() == stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_EXECUTE {
					taints[key] = append(taints[key], t)
				}
			}
		}
	}
	if len(taints) == 0 {
		return
	}
	for _, c := range a.cluster.ResourceClaims {
		pods, on := a.reserving(c)
		for _, d := range c.GetAllocation().GetDevices() {
			for _, t := range taints[deviceKey{d.GetDriver(), d.GetPool(), d.GetDevice()}] {
				if pods == 0 || toleratesDevice(requestOf(c.GetSpec(), d.GetRequest()), t) {
					continue
				}
				a.found = append(a.found, review.Finding{
					Severity: review.Warning, Rule: TaintedDevice, Object: resourceClaim(c), Pods: pods, Nodes: a.nodeNames(on),
					Message: fmt.Sprintf("its device %s has the taint %s, which evicts its pods",
						words.Device(d.GetDriver(), d.GetPool(), d.GetDevice()), words.DeviceTaint(t)),
				})
			}
		}
	}
}

// reserving counts the pods on nodes that have reserved a claim.
func (a *audit) reserving(c *stowagev1.ResourceClaim) (pods int, on map[int]bool) {
	on = map[int]bool{}
	for _, name := range c.GetReservedFor() {
		if i, found := a.named[podKey{cmp.Or(c.GetNamespace(), corev1.NamespaceDefault), name}]; found {
			pods++
			on[a.pods[i].node] = true
		}
	}
	return pods, on
}

// requestOf returns the request of an allocated device, nil if the claim has none of that name.
func requestOf(s *stowagev1.ResourceClaimSpec, name string) *stowagev1.ExactDeviceRequest {
	name, sub, _ := strings.Cut(name, "/")
	for _, r := range s.GetRequests() {
		if r.GetName() != name {
			continue
		}
		if r.GetExactly() != nil {
			return r.GetExactly()
		}
		for _, of := range r.GetFirstAvailable() {
			if of.GetName() == sub {
				return of.GetRequest()
			}
		}
	}
	return nil
}

// toleratesDevice reports whether a request tolerates a taint (k8s.io/dynamic-resource-allocation/resourceclaim/devicetoleration.go
// ToleratesTaint, v0.37).
func toleratesDevice(r *stowagev1.ExactDeviceRequest, t *stowagev1.DeviceTaint) bool {
	return slices.ContainsFunc(r.GetTolerations(), func(o *stowagev1.DeviceToleration) bool {
		effect := o.GetEffect() == stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_UNSPECIFIED || o.GetEffect() == t.GetEffect()
		return effect && (o.GetKey() == "" || o.GetKey() == t.GetKey()) && (o.GetExists() || o.GetValue() == t.GetValue())
	})
}

// brokenPools finds pools that give no devices: slices are missing, or a device is there twice.
func (a *audit) brokenPools() {
	type poolKey struct{ driver, pool string }
	newest := map[poolKey][]*stowagev1.ResourceSlice{}
	var order []poolKey
	for _, s := range a.cluster.ResourceSlices {
		key := poolKey{s.GetDriver(), s.GetPool()}
		switch of := newest[key]; {
		case len(of) == 0:
			newest[key], order = []*stowagev1.ResourceSlice{s}, append(order, key)
		case s.GetGeneration() > of[0].GetGeneration():
			newest[key] = []*stowagev1.ResourceSlice{s}
		case s.GetGeneration() == of[0].GetGeneration():
			newest[key] = append(of, s)
		}
	}
	for _, key := range order {
		of := newest[key]
		message := ""
		if want := max(1, of[0].GetSliceCount()); int64(len(of)) != want {
			message = fmt.Sprintf("it has %d of %d slices of generation %d, and gives no devices", len(of), want, of[0].GetGeneration())
		} else if name := deviceTwice(of); name != "" {
			message = fmt.Sprintf("it has device %s twice, and gives no devices", name)
		}
		if message != "" {
			a.found = append(a.found, review.Finding{
				Severity: review.Warning, Rule: BrokenPool, Object: review.Object{Kind: "ResourceSlice", Name: of[0].GetName()},
				Message: fmt.Sprintf("pool %s of %s: %s", key.pool, key.driver, message),
			})
		}
	}
}

// deviceTwice returns the name of a device that is there twice, empty if there is none.
func deviceTwice(all []*stowagev1.ResourceSlice) string {
	seen := map[string]bool{}
	for _, s := range all {
		for _, d := range s.GetDevices() {
			if seen[d.GetName()] {
				return d.GetName()
			}
			seen[d.GetName()] = true
		}
	}
	return ""
}

// fullOfDevices finds nodes without a free device of a driver. Devices that several nodes can use are not considered.
func (a *audit) fullOfDevices() error {
	if len(a.cluster.ResourceSlices) == 0 {
		return nil
	}
	nodes, err := fill.Of(a.cluster)
	if err != nil {
		return err
	}
	for i := range nodes.All {
		name := a.cluster.Nodes[i].GetName()
		for _, resource := range nodes.All[i].Drivers() {
			has, taken := nodes.All[i].Allocatable[resource], nodes.All[i].Requested[resource]
			if taken.Cmp(has) < 0 {
				continue
			}
			a.found = append(a.found, review.Finding{
				Severity: review.Note, Rule: DevicesTaken, Object: review.Object{Kind: "Node", Name: name}, Nodes: []string{name},
				Message: fmt.Sprintf("no device of %s is free, of %s", strings.TrimPrefix(string(resource), fill.DevicesPrefix), has.String()),
			})
		}
	}
	return nil
}
