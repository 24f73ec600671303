package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/informers"
	resourceinformers "k8s.io/client-go/informers/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/resource"
	resourceconversion "k8s.io/kubernetes/pkg/apis/resource/v1"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

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

// Granted is the devices that a claim of a pod of the queue got.
type Granted struct {
	// Entry is the pod's entry of the queue.
	Entry            int
	Namespace, Claim string
	// PodClaim is the entry of the pod's claims, empty for extended resources.
	PodClaim string
	Results  []resourcev1.DeviceRequestAllocationResult
	Node     uint32
}

// usesDevices reports whether a pod may get devices.
func usesDevices(pod *corev1.Pod, d *scenario.Devices) bool {
	return len(pod.Spec.ResourceClaims) > 0 || len(d.DeviceClasses) > 0
}

// grant has DynamicResources reserve what the pod gets on a node, stores the claims as its PreBind does, and returns the new devices.
func (s *Scheduler) grant(pod *corev1.Pod, entry int, node uint32) ([]Granted, error) {
	if s.dynamic == nil || !usesDevices(pod, &s.Devices) {
		return nil, nil
	}
	info, err := s.snapshot.Get(s.Nodes[node].Name)
	if err != nil {
		return nil, err
	}
	all, err := s.snapshot.List()
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	_, status := s.dynamic.(fwk.PreFilterPlugin).PreFilter(s.ctx, state, pod, all)
	if status.IsSkip() {
		return nil, nil
	}
	if status.IsSuccess() {
		status = s.dynamic.Filter(s.ctx, state, pod, info)
	}
	if status.IsSuccess() {
		status = s.dynamic.(fwk.ReservePlugin).Reserve(s.ctx, state, pod, info.Node().Name)
	}
	if !status.IsSuccess() {
		return nil, fmt.Errorf("reserving devices of %s: %w", info.Node().Name, status.AsError())
	}
	var out []Granted
	for i := range pod.Spec.ResourceClaims {
		of := &pod.Spec.ResourceClaims[i]
		granted, err := s.store(pod, of.Name, claimName(pod, of))
		if err != nil {
			return nil, err
		}
		out = append(out, granted...)
	}
	// What is left is the claim of extended resources.
	for uid, claim := range s.inFlight() {
		created := claim.DeepCopy()
		created.Name, created.GenerateName = fmt.Sprintf("%s-extended-%d", pod.Name, s.assumed), ""
		created.UID = types.UID("claim " + created.Namespace + "/" + created.Name)
		created.OwnerReferences[0].UID = s.assumedUID(pod)
		s.framework.SharedDRAManager().ResourceClaims().MaybeRemoveClaimPendingAllocation(uid, true)
		if err := s.devices.add(s.devices.claims, created); err != nil {
			return nil, err
		}
		out = append(out, Granted{Namespace: created.Namespace, Results: created.Status.Allocation.Devices.Results})
	}
	for i := range out {
		out[i].Entry, out[i].Node = entry, node
	}
	return out, nil
}

// assumedUID returns the uid of the pod that is assumed next.
func (s *Scheduler) assumedUID(pod *corev1.Pod) types.UID {
	return types.UID(fmt.Sprintf("%s-%d", pod.UID, s.assumed))
}

// store stores the allocation of a claim that is in flight, and its reservation.
func (s *Scheduler) store(pod *corev1.Pod, podClaim, name string) ([]Granted, error) {
	if name == "" {
		return nil, nil
	}
	found, ok, err := s.devices.claims.GetIndexer().GetByKey(pod.Namespace + "/" + name)
	if err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("there is no claim %s", name))
	}
	old := found.(*resourcev1.ResourceClaim)
	claim := old.DeepCopy()
	var out []Granted
	if inFlight := s.inFlight()[old.UID]; inFlight != nil {
		claim.Status.Allocation = inFlight.Status.Allocation
		s.framework.SharedDRAManager().ResourceClaims().MaybeRemoveClaimPendingAllocation(old.UID, true)
		out = []Granted{{Namespace: claim.Namespace, Claim: name, PodClaim: podClaim, Results: claim.Status.Allocation.Devices.Results}}
	}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
		Resource: "pods", Name: pod.Name, UID: s.assumedUID(pod),
	})
	return out, s.devices.update(s.devices.claims, old, claim)
}

// claimName returns the name of a pod's claim, empty if there is none.
func claimName(pod *corev1.Pod, of *corev1.PodResourceClaim) string {
	if of.ResourceClaimName != nil {
		return *of.ResourceClaimName
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.Name == of.Name && s.ResourceClaimName != nil {
			return *s.ResourceClaimName
		}
	}
	return ""
}

// inFlight returns the claims whose allocation is not stored yet. The tracker has no other access to them.
func (s *Scheduler) inFlight() map[types.UID]*resourcev1.ResourceClaim {
	out := map[types.UID]*resourcev1.ResourceClaim{}
	tracker := reflect.ValueOf(s.framework.SharedDRAManager().ResourceClaims()).Elem()
	for iter := tracker.FieldByName("inFlightAllocations").MapRange(); iter.Next(); {
		claim := (*resourcev1.ResourceClaim)(iter.Value().FieldByName("claim").UnsafePointer())
		out[types.UID(iter.Key().String())] = claim
	}
	return out
}

// findDynamic finds the profile's DynamicResources, which cannot be made twice on the same informers.
func (s *Scheduler) findDynamic() {
	at := slices.IndexFunc(s.framework.EnqueueExtensions(), func(p fwk.EnqueueExtensions) bool { return p.Name() == names.DynamicResources })
	if at >= 0 {
		s.dynamic, _ = s.framework.EnqueueExtensions()[at].(fwk.FilterPlugin)
	}
}
