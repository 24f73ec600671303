package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// discoverAgain is the interval between attempts to discover an API.
const discoverAgain = time.Second

// serves reports whether the API server has a resource. It discovers the resource once: if a cluster adds it later, this
// process needs a restart. without names the feature that needs the resource.
func (c *Cluster) serves(ctx context.Context, resource schema.GroupVersionResource, without string) (bool, error) {
	version := resource.GroupVersion().String()
	for {
		list, err := discovery.ToServerResourcesInterfaceWithContext(c.api.Discovery()).
			ServerResourcesForGroupVersionWithContext(ctx, version)
		switch {
		case err == nil:
			if slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }) {
				return true, nil
			}
			c.log.Info("without "+without, "reason", version+" has no "+resource.Resource)
			return false, nil
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			c.log.Info("without "+without, "reason", err)
			return false, nil
		}
		c.log.Warn("cannot discover "+version, "error", err)
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(discoverAgain):
		}
	}
}

// deviceClassKind is the kind that is read even if the others are not.
var deviceClassKind = newKind(resourcev1.SchemeGroupVersion.WithResource("deviceclasses"), "DeviceClass", &resourcev1.DeviceClass{},
	func(api kubernetes.Interface) lister[*resourcev1.DeviceClassList] {
		return api.ResourceV1().DeviceClasses()
	},
	(*model).deviceClassSet, (*model).deviceClassGone)

// deviceKinds are the kinds that the rules of devices read, all of them or none, as DynamicResources of kube-scheduler. It does not read
// ResourceClaimTemplates: a controller creates the claims of pods.
var deviceKinds = []watchedKind{
	newKind(resourcev1.SchemeGroupVersion.WithResource("resourceslices"), "ResourceSlice", &resourcev1.ResourceSlice{},
		func(api kubernetes.Interface) lister[*resourcev1.ResourceSliceList] {
			return api.ResourceV1().ResourceSlices()
		},
		(*model).sliceSet, (*model).sliceGone),
	deviceClassKind,
	newKind(resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), "ResourceClaim", &resourcev1.ResourceClaim{},
		func(api kubernetes.Interface) lister[*resourcev1.ResourceClaimList] {
			return api.ResourceV1().ResourceClaims(metav1.NamespaceAll)
		},
		(*model).resourceClaimSet, (*model).resourceClaimGone),
	newKind(resourcev1.SchemeGroupVersion.WithResource("devicetaintrules"), "DeviceTaintRule", &resourcev1.DeviceTaintRule{},
		func(api kubernetes.Interface) lister[*resourcev1.DeviceTaintRuleList] {
			return api.ResourceV1().DeviceTaintRules()
		},
		(*model).taintRuleSet, (*model).taintRuleGone),
}

// watchDevices applies the events of the objects of devices to the model if the options have selectors, if the API server has all kinds, and
// if this process may read them. Otherwise it applies the events of DeviceClasses alone, if the API server serves them.
func (c *Cluster) watchDevices(ctx context.Context) error {
	served, err := c.serves(ctx, resourcev1.SchemeGroupVersion.WithResource("deviceclasses"),
		"DeviceClasses: the extended resources that they serve are taken from the nodes' allocatable")
	if err != nil || !served {
		return err
	}
	if c.selectors == nil {
		return deviceClassKind.listen(c)
	}
	without, err := c.unreadable(ctx, deviceKinds)
	if err != nil {
		return err
	}
	if len(without) > 0 {
		c.log.Warn("without devices: resource claims of pods are not read", "reason", errors.Join(without...))
		return deviceClassKind.listen(c)
	}
	c.update(func(m *model) { m.readDevices(c.selectors) })
	return c.listenTo(deviceKinds)
}

// ReadsDevices reports whether the objects of devices are read, once Run has begun to read the cluster: otherwise the resource claims of
// pods are unread fields.
func (c *Cluster) ReadsDevices() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.model.devices.objects != nil
}

// SlicesOf returns the slices of the pools that a node has alone, by name. They must not be changed.
func (c *Cluster) SlicesOf(node string) (out []*stowagev1.ResourceSlice) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.model.convertDevices()
	type pool struct{ driver, name string }
	shared := map[pool]bool{}
	_, all := c.model.slices.all(cmp.Compare[string])
	for _, s := range all {
		shared[pool{s.Driver, s.Pool}] = shared[pool{s.Driver, s.Pool}] || s.NodeName != node
	}
	return slices.DeleteFunc(all, func(s *stowagev1.ResourceSlice) bool { return shared[pool{s.Driver, s.Pool}] })
}

// DeviceClasses returns the extended resources of DeviceClasses, each with the name of one of its classes. It is never nil.
func (c *Cluster) DeviceClasses() map[string]string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	out := make(map[string]string, len(c.model.devices.extended))
	for class, resource := range c.model.devices.extended {
		out[resource] = max(out[resource], class)
	}
	return out
}

// devices is what the model keeps of the objects of devices besides messages.
type devices struct {
	// objects converts; nil if the objects are not read, except for DeviceClasses.
	objects  *convert.Devices
	extended map[string]string // extended resources by DeviceClass
	claims   map[objectKey]*resourcev1.ResourceClaim
	assumed  map[objectKey]*assumedClaim
	owned    owned
	// held are the devices that each claim has for itself, and taken are the claims by device.
	held  map[objectKey][]deviceID
	taken map[deviceID]map[objectKey]bool
}

// deviceID is the driver, the pool and the name of a device.
type deviceID [3]string

func newDevices() devices {
	return devices{
		extended: map[string]string{}, claims: map[objectKey]*resourcev1.ResourceClaim{}, assumed: map[objectKey]*assumedClaim{}, owned: owned{},
		held: map[objectKey][]deviceID{}, taken: map[deviceID]map[objectKey]bool{},
	}
}

// readDevices makes the model read devices. All of their objects follow as events.
func (m *model) readDevices(selectors convert.Selectors) {
	m.devices.objects = convert.NewDevices(selectors, true)
	m.environment = new(convert.NewEnvironment(m.storage.claims, m.devices.objects))
}

func (m *model) sliceSet(o *resourcev1.ResourceSlice) {
	m.devices.objects.AddSlice(o)
	m.markDevices()
}

func (m *model) sliceGone(o *resourcev1.ResourceSlice) {
	m.refused.clear("ResourceSlice", o.Name)
	m.devices.objects.RemoveSlice(o.Name)
	m.markDevices()
}

func (m *model) taintRuleSet(o *resourcev1.DeviceTaintRule) {
	m.refused.clear("DeviceTaintRule", o.Name)
	r, err := skew.ReadDeviceTaintRule(o)
	if err != nil {
		m.refused.report(m.log, "DeviceTaintRule", o.Name, err.Error())
		m.devices.objects.RemoveTaintRule(o.Name)
	} else {
		m.devices.objects.AddTaintRule(r)
	}
	m.markDevices()
}

func (m *model) taintRuleGone(o *resourcev1.DeviceTaintRule) {
	m.refused.clear("DeviceTaintRule", o.Name)
	m.devices.objects.RemoveTaintRule(o.Name)
	m.markDevices()
}

// markDevices marks the model as changed if slices and expressions have to be converted again.
func (m *model) markDevices() { m.changed = m.changed || m.devices.objects.Stale() }

// deviceClassSet applies a DeviceClass.
func (m *model) deviceClassSet(o *resourcev1.DeviceClass) {
	to := ""
	if o.Spec.ExtendedResourceName != nil {
		to = *o.Spec.ExtendedResourceName
	}
	m.setExtended(o.Name, to)
	if m.devices.objects != nil {
		m.devices.objects.AddClass(o)
		converted, err := convert.DeviceClass(o)
		m.changed = m.deviceClasses.apply(m, o.Name, converted, err) || m.changed
	}
}

func (m *model) deviceClassGone(o *resourcev1.DeviceClass) {
	m.setExtended(o.Name, "")
	if m.devices.objects != nil {
		m.devices.objects.RemoveClass(o.Name)
		m.changed = m.deviceClasses.apply(m, o.Name, nil, nil) || m.changed
	}
}

// setExtended sets the extended resource of a DeviceClass, "" for none.
func (m *model) setExtended(class, resource string) {
	if m.devices.extended[class] == resource {
		return
	}
	m.changed = true // retries pods that request the resource
	if m.devices.extended[class] = resource; resource == "" {
		delete(m.devices.extended, class)
	}
}

// convertDevices converts slices and evaluates expressions again if they may have changed: both depend on all slices.
func (m *model) convertDevices() {
	if m.devices.objects == nil || !m.devices.objects.Stale() {
		return
	}
	all := m.devices.objects.Convert()
	replace(m, &m.deviceTypes, all.Types)
	replace(m, &m.expressions, all.Expressions)
	there := map[string]bool{}
	for _, s := range all.Slices {
		there[s.Object.Name] = true
		if s.Err != nil {
			s.Slice = nil
		}
		m.slices.apply(m, s.Object.Name, s.Slice, s.Err)
	}
	m.slices.removeOthers(there)
}

// replace sets all objects of a part.
func replace[M interface {
	comparable
	proto.Message
	GetName() string
}](m *model, p *partOf[string, M], list []M) {
	there := make(map[string]bool, len(list))
	for _, o := range list {
		there[o.GetName()] = true
		p.apply(m, o.GetName(), o, nil)
	}
	p.removeOthers(there)
}
