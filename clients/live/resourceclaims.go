package live

import (
	"slices"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// assumedClaim is a resource claim as it will be once the caller has written it. It counts until an event shows what was written, because
// earlier events may still arrive.
type assumedClaim struct {
	object  *resourcev1.ResourceClaim
	users   map[types.UID]bool // the assumed pods that it is for
	written bool               // the API server has stored object
}

// assumeClaims counts the claims of an assumed pod.
func (m *model) assumeClaims(pod types.UID, claims []*resourcev1.ResourceClaim) {
	for _, o := range claims {
		a := &assumedClaim{object: o, users: map[types.UID]bool{pod: true}}
		if before := m.devices.assumed[keyOf(o)]; before != nil {
			for user := range before.users {
				a.users[user] = true
			}
		}
		m.devices.assumed[keyOf(o)] = a
		m.setResourceClaim(keyOf(o))
	}
}

// releaseClaims ends the use of assumed claims by a pod. What was written counts until an event shows it.
func (m *model) releaseClaims(pod types.UID) {
	for key, a := range m.devices.assumed {
		if !a.users[pod] {
			continue
		}
		if delete(a.users, pod); len(a.users) == 0 && !a.written {
			delete(m.devices.assumed, key)
			m.setResourceClaim(key)
		}
	}
}

// ClaimWritten records that the API server has stored an assumed claim.
func (c *Cluster) ClaimWritten(stored *resourcev1.ResourceClaim) {
	c.update(func(m *model) {
		key := keyOf(stored)
		a := m.devices.assumed[key]
		if a == nil {
			a = &assumedClaim{users: map[types.UID]bool{}}
			m.devices.assumed[key] = a
		}
		if a.written && a.object.UID == stored.UID && older(stored, a.object) {
			return
		}
		a.object, a.written = stored, true
		m.deciding = true
		m.setResourceClaim(key)
	})
}

// exclusive returns the devices that a claim has for itself.
func exclusive(o *resourcev1.ResourceClaim) (out []deviceID) {
	if o == nil || o.Status.Allocation == nil {
		return nil
	}
	for _, r := range o.Status.Allocation.Devices.Results {
		if r.ShareID == nil && (r.AdminAccess == nil || !*r.AdminAccess) {
			out = append(out, deviceID{r.Driver, r.Pool, r.Device})
		}
	}
	return out
}

// takenFrom reports whether another claim has a device of a claim.
func (m *model) takenFrom(o *resourcev1.ResourceClaim) bool {
	return slices.ContainsFunc(exclusive(o), func(id deviceID) bool {
		by := m.devices.taken[id]
		return len(by) > 1 || len(by) == 1 && !by[keyOf(o)]
	})
}

// DevicesTaken reports whether another claim has a device of a claim.
func (c *Cluster) DevicesTaken(of *resourcev1.ResourceClaim) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.model.takenFrom(of)
}

// ResourceClaim returns a claim as decisions read it, nil if there is none. It must not be changed.
func (c *Cluster) ResourceClaim(namespace, name string) *resourcev1.ResourceClaim {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.model.resourceClaim(objectKey{Namespace: namespace, Name: name})
}

// resourceClaim returns a claim with what is assumed of it, nil if there is none.
func (m *model) resourceClaim(key objectKey) *resourcev1.ResourceClaim {
	o := m.devices.claims[key]
	a := m.devices.assumed[key]
	if o == nil || a == nil {
		return o
	}
	if a.written {
		return a.object
	}
	out := *o
	out.Status.Allocation, out.Status.ReservedFor = a.object.Status.Allocation, a.object.Status.ReservedFor
	return &out
}

func (m *model) resourceClaimSet(o *resourcev1.ResourceClaim) {
	m.devices.objects.AddClaim(o)
	m.devices.claims[keyOf(o)] = o
	if a := m.devices.assumed[keyOf(o)]; a != nil && (a.object.UID != o.UID || a.written && !older(o, a.object)) {
		delete(m.devices.assumed, keyOf(o))
	}
	m.setResourceClaim(keyOf(o))
}

func (m *model) resourceClaimGone(o *resourcev1.ResourceClaim) {
	m.devices.objects.RemoveClaim(o)
	m.devices.owned.drop(keyOf(o), convert.ControllingPod(o))
	delete(m.devices.claims, keyOf(o))
	delete(m.devices.assumed, keyOf(o))
	m.setResourceClaim(keyOf(o))
}

// older reports whether a version of a claim is older than another one. An API server of tests has no versions: there, the allocations are
// compared.
func older(a, than *resourcev1.ResourceClaim) bool {
	x, failed := strconv.ParseUint(a.ResourceVersion, 10, 64)
	y, alsoFailed := strconv.ParseUint(than.ResourceVersion, 10, 64)
	if failed != nil || alsoFailed != nil {
		return !apiequality.Semantic.DeepEqual(a.Status.Allocation, than.Status.Allocation)
	}
	return x < y
}

// setResourceClaim sets the message of a claim.
func (m *model) setResourceClaim(key objectKey) {
	o := m.resourceClaim(key)
	for _, id := range m.devices.held[key] {
		drop(m.devices.taken, id, key)
	}
	if m.devices.held[key] = exclusive(o); len(m.devices.held[key]) == 0 {
		delete(m.devices.held, key)
	}
	for _, id := range m.devices.held[key] {
		put(m.devices.taken, id, key, true)
	}
	if o == nil {
		m.changed = m.resourceClaims.apply(m, key, nil, nil) || m.changed
		return
	}
	converted, err := convert.ResourceClaim(o, m.bindingTimeout)
	if owner := convert.ControllingPod(o); owner != nil && err == nil {
		converted.ControllerPod = m.devices.owned.put(m, key, owner)
	}
	m.changed = m.resourceClaims.apply(m, key, converted, err) || m.changed
}
