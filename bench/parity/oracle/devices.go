package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/apis/resource"
	resourceconversion "k8s.io/kubernetes/pkg/apis/resource/v1"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

var (
	resourceSlices = kindOf[resourcev1.ResourceSlice, resource.ResourceSlice]{
		"ResourceSlice", resourceconversion.SetObjectDefaults_ResourceSlice,
		resourceconversion.Convert_v1_ResourceSlice_To_resource_ResourceSlice, resourcevalidation.ValidateResourceSlice,
	}
	deviceClasses = kindOf[resourcev1.DeviceClass, resource.DeviceClass]{
		"DeviceClass", nil, resourceconversion.Convert_v1_DeviceClass_To_resource_DeviceClass, resourcevalidation.ValidateDeviceClass,
	}
	resourceClaims = kindOf[resourcev1.ResourceClaim, resource.ResourceClaim]{
		"ResourceClaim", resourceconversion.SetObjectDefaults_ResourceClaim,
		resourceconversion.Convert_v1_ResourceClaim_To_resource_ResourceClaim, resourcevalidation.ValidateResourceClaim,
	}
	resourceClaimTemplates = kindOf[resourcev1.ResourceClaimTemplate, resource.ResourceClaimTemplate]{
		"ResourceClaimTemplate", resourceconversion.SetObjectDefaults_ResourceClaimTemplate,
		resourceconversion.Convert_v1_ResourceClaimTemplate_To_resource_ResourceClaimTemplate, resourcevalidation.ValidateResourceClaimTemplate,
	}
	deviceTaintRules = kindOf[resourcev1.DeviceTaintRule, resource.DeviceTaintRule]{
		"DeviceTaintRule", resourceconversion.SetObjectDefaults_DeviceTaintRule,
		resourceconversion.Convert_v1_DeviceTaintRule_To_resource_DeviceTaintRule, resourcevalidation.ValidateDeviceTaintRule,
	}
)

// storedDevices returns the objects of devices as the API server stores them.
func storedDevices(in *scenario.Devices) (out scenario.Devices, err error) {
	var errs [5]error
	out.ResourceSlices, errs[0] = resourceSlices.admit(in.ResourceSlices, (*resourcev1.ResourceSlice).DeepCopy)
	if errs[0] == nil {
		errs[0] = consistent(out.ResourceSlices)
	}
	out.DeviceClasses, errs[1] = deviceClasses.admit(in.DeviceClasses, (*resourcev1.DeviceClass).DeepCopy)
	out.ResourceClaims, errs[2] = resourceClaims.admit(in.ResourceClaims, func(r *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
		r = inNamespace(r).(*resourcev1.ResourceClaim)
		r.UID = cmp.Or(r.UID, types.UID("claim "+r.Namespace+"/"+r.Name))
		return r
	})
	out.ResourceClaimTemplates, errs[3] = resourceClaimTemplates.admit(in.ResourceClaimTemplates,
		func(t *resourcev1.ResourceClaimTemplate) *resourcev1.ResourceClaimTemplate {
			return inNamespace(t).(*resourcev1.ResourceClaimTemplate)
		})
	out.DeviceTaintRules, errs[4] = deviceTaintRules.admit(in.DeviceTaintRules, (*resourcev1.DeviceTaintRule).DeepCopy)
	return out, errors.Join(errs[:]...)
}

// consistent refuses slices of a pool that disagree about their number: kube-scheduler reads the number of any of them
// (pools_incubating.go GatherPools, v0.37).
func consistent(all []*resourcev1.ResourceSlice) error {
	counts := map[string]int64{}
	for _, s := range all {
		key := fmt.Sprintf("%s/%s/%d", s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Pool.Generation)
		if have, ok := counts[key]; ok && have != s.Spec.Pool.ResourceSliceCount {
			errs := field.ErrorList{field.Invalid(field.NewPath("spec", "pool", "resourceSliceCount"), s.Spec.Pool.ResourceSliceCount, "differs")}
			return &InvalidError{Object: "ResourceSlice " + s.Name, Errs: errs}
		}
		counts[key] = s.Spec.Pool.ResourceSliceCount
	}
	return nil
}

// deviceInformers hand the objects of devices to kube-scheduler as events.
type deviceInformers struct {
	slices, classes, claims, rules *handedInformer
	versions                       int
}

// holdDevices makes the factory's informers of devices, before any other use of them.
func holdDevices(factory informers.SharedInformerFactory) *deviceInformers {
	out := &deviceInformers{}
	hold := func(to **handedInformer, object runtime.Object, made func(kubernetes.Interface, time.Duration, cache.Indexers) cache.SharedIndexInformer) {
		factory.InformerFor(object, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			*to = &handedInformer{SharedIndexInformer: made(client, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
			return *to
		})
	}
	hold(&out.slices, &resourcev1.ResourceSlice{}, resourceinformers.NewResourceSliceInformer)
	hold(&out.classes, &resourcev1.DeviceClass{}, resourceinformers.NewDeviceClassInformer)
	hold(&out.rules, &resourcev1.DeviceTaintRule{}, resourceinformers.NewDeviceTaintRuleInformer)
	hold(&out.claims, &resourcev1.ResourceClaim{},
		func(client kubernetes.Interface, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
			return resourceinformers.NewResourceClaimInformer(client, metav1.NamespaceAll, resync, indexers)
		})
	return out
}

// fill hands over the objects of a case.
func (d *deviceInformers) fill(s *scenario.Devices) error {
	return errors.Join(
		addEach(d, d.rules, s.DeviceTaintRules), addEach(d, d.slices, s.ResourceSlices), addEach(d, d.classes, s.DeviceClasses),
		addEach(d, d.claims, s.ResourceClaims),
	)
}

func addEach[T any, P interface {
	*T
	metav1.Object
	runtime.Object
}](d *deviceInformers, to *handedInformer, objects []*T) error {
	for _, o := range objects {
		object := P(o).DeepCopyObject().(P)
		if err := d.add(to, object); err != nil {
			return err
		}
	}
	return nil
}

func (d *deviceInformers) add(to *handedInformer, object metav1.Object) error {
	d.versions++
	object.SetResourceVersion(strconv.Itoa(d.versions))
	if err := to.GetIndexer().Add(object); err != nil {
		return err
	}
	for _, h := range to.handlers {
		h.OnAdd(object, true)
	}
	return nil
}

func (d *deviceInformers) remove(from *handedInformer, object metav1.Object) error {
	if err := from.GetIndexer().Delete(object); err != nil {
		return err
	}
	for _, h := range from.handlers {
		h.OnDelete(object)
	}
	return nil
}

func (d *deviceInformers) update(to *handedInformer, old, object metav1.Object) error {
	d.versions++
	object.SetResourceVersion(strconv.Itoa(d.versions))
	if err := to.GetIndexer().Update(object); err != nil {
		return err
	}
	for _, h := range to.handlers {
		h.OnUpdate(old, object)
	}
	return nil
}
