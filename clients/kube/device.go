package kube

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// deviceSet is the objects of devices.
type deviceSet struct {
	*convert.Devices
	slices map[*resourcev1.ResourceSlice]string // the objects as From named them
	claims []addedResourceClaim
}

type addedResourceClaim struct {
	object *resourcev1.ResourceClaim
	at     string
}

func newDeviceSet(d *convert.Devices) deviceSet {
	return deviceSet{Devices: d, slices: map[*resourcev1.ResourceSlice]string{}}
}

// AddDeviceClass adds a DeviceClass.
func (b *Builder) AddDeviceClass(d *resourcev1.DeviceClass) error {
	return b.stored(Origin{Kind: "DeviceClass", Name: d.Name}, func() error {
		b.environment.AddDeviceClass(d)
		if b.options.Selectors == nil {
			return nil
		}
		out, err := convert.DeviceClass(d)
		put(b, &b.cluster.DeviceClasses, out, err)
		return err
	})
}

// AddResourceSlice adds a ResourceSlice.
func (b *Builder) AddResourceSlice(s *resourcev1.ResourceSlice) error {
	return b.stored(Origin{Kind: "ResourceSlice", Name: s.Name}, func() error {
		b.devices.AddSlice(s)
		b.devices.slices[s] = b.objects.at
		return nil
	})
}

// AddDeviceTaintRule adds a DeviceTaintRule, typed or unstructured, of any version of resource.k8s.io.
func (b *Builder) AddDeviceTaintRule(o metav1.Object) error {
	r, err := skew.ReadDeviceTaintRule(o)
	if err != nil {
		return err
	}
	return b.affect(Origin{Kind: "DeviceTaintRule", Name: r.Name}, func() { b.devices.AddTaintRule(r) })
}

// AddResourceClaim adds a ResourceClaim. The pods that use it may be added before or after it.
func (b *Builder) AddResourceClaim(r *resourcev1.ResourceClaim) error {
	return b.stored(object.Of("ResourceClaim", r), func() error {
		b.devices.AddClaim(r)
		b.devices.claims = append(b.devices.claims, addedResourceClaim{r, b.objects.at})
		return nil
	})
}

// AddResourceClaimTemplate adds a ResourceClaimTemplate. Pods that are not created yet have claims of it.
func (b *Builder) AddResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) error {
	return b.affect(object.Of("ResourceClaimTemplate", t), func() { b.devices.AddTemplate(t) })
}

// addDevices converts the objects of devices, once everything is added.
func (b *Builder) addDevices() {
	if b.options.Selectors == nil {
		return
	}
	all := b.devices.Convert()
	b.cluster.DeviceTypes, b.cluster.DeviceExpressions = all.Types, all.Expressions
	for _, s := range all.Slices {
		b.objects.at = b.devices.slices[s.Object]
		if s.Err != nil {
			_ = b.objects.misread(Origin{Kind: "ResourceSlice", Name: s.Object.Name}, false, s.Err)
			continue
		}
		put(b, &b.cluster.ResourceSlices, s.Slice, nil)
	}
	b.addResourceClaims()
}

func (b *Builder) addResourceClaims() {
	if len(b.devices.claims) == 0 {
		return
	}
	pods := map[types.NamespacedName]types.UID{}
	for p := range b.addedPods() {
		pods[types.NamespacedName{Namespace: object.Namespace(p), Name: p.Name}] = p.UID
	}
	for _, c := range b.devices.claims {
		b.objects.at = c.at
		out, err := convert.ResourceClaim(c.object, b.options.BindingTimeout)
		if err != nil {
			_ = b.objects.misread(object.Of("ResourceClaim", c.object), false, err)
			continue
		}
		if owner := convert.ControllingPod(c.object); owner != nil {
			if uid, there := pods[types.NamespacedName{Namespace: out.Namespace, Name: owner.Name}]; !there || uid == owner.UID {
				out.ControllerPod = owner.Name
			}
		}
		put(b, &b.cluster.ResourceClaims, out, nil)
	}
}
