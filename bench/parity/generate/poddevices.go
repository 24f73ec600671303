package generate

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// claimDevices gives a pending pod claims of devices, and extended resources.
func (d *draw) claimDevices(pod *corev1.Pod) {
	pod.UID, pod.Status.ResourceClaimStatuses = "", nil
	d.wanted = 0
	if !d.crowded && d.chance(0.2) {
		if d.chance(0.08) {
			d.leftClaim(pod)
		}
		name := corev1.ResourceName(pick(d, gpuResource, gpuResource, string(nicResource), string(anyDevice)))
		for i := range pod.Spec.Containers {
			if d.chance(0.6) {
				d.requestDevices(&pod.Spec.Containers[i], name)
			}
		}
		for i := range pod.Spec.InitContainers {
			if d.chance(0.5) {
				d.requestDevices(&pod.Spec.InitContainers[i], name)
			}
		}
		if d.chance(0.2) { // another resource, or the first one by another name
			d.requestDevices(&pod.Spec.Containers[d.IntN(len(pod.Spec.Containers))], corev1.ResourceName(pick(d, gpuResource, string(nicResource), string(anyDevice))))
		}
	}
	if d.chance(0.15) {
		return
	}
	claims := pick(d, 1, 1, 1, 2, 3)
	if d.crowded || d.wanted > 3 {
		claims = 1
	}
	for i := range claims {
		of := corev1.PodResourceClaim{Name: fmt.Sprintf("c%d", i), ResourceClaimName: ptr(d.claimedName(pod.Namespace))}
		if d.chance(0.3) {
			of = d.templated(pod)
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, of)
		if d.wanted > 3 {
			return // kube-scheduler gives up a search after 10 seconds
		}
	}
}

// live gives a pod the uid that the API server would give it.
func live(pod *corev1.Pod) types.UID {
	pod.UID = types.UID("live " + pod.Namespace + "/" + pod.Name)
	return pod.UID
}

// templated draws a claim from a template. The claim of a pod that is not created yet is created with the pod, by the name of its entry.
func (d *draw) templated(pod *corev1.Pod) corev1.PodResourceClaim {
	namespace := d.podNamespace()
	if pod.Namespace != "" {
		namespace = pod.Namespace
	}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: d.name("template")}}
	d.deviceClaimSpec(&template.Spec.Spec)
	d.wanted += wanted(&template.Spec.Spec)
	of := corev1.PodResourceClaim{Name: d.name("entry"), ResourceClaimTemplateName: &template.Name}
	d.c.Devices.ResourceClaimTemplates = append(d.c.Devices.ResourceClaimTemplates, template)
	if pod.UID == "" && (len(pod.Spec.ResourceClaims) > 0 || d.chance(0.6)) {
		return of
	}
	uid := live(pod)
	status := corev1.PodResourceClaimStatus{Name: of.Name}
	switch x := d.Float64(); {
	case x < 0.1: // the controller has not been there
		return of
	case x < 0.15: // no claim is needed
	default:
		claim := d.deviceClaim(namespace, d.name("created"))
		claim.Spec = *template.Spec.Spec.DeepCopy()
		if status.ResourceClaimName = &claim.Name; claim.Status.Allocation != nil && d.chance(0.5) {
			claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: uid}}
		}
		switch {
		case d.chance(0.04):
			uid = "another"
		case d.chance(0.04):
			status.ResourceClaimName = ptr("gone")
		}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: uid, Controller: ptr(true)}}
	}
	pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
	return of
}

// leftClaim draws the claim for extended resources that an earlier attempt to schedule a pod left.
func (d *draw) leftClaim(pod *corev1.Pod) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: d.name("left"), UID: types.UID(d.name("left")),
		Annotations:     map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: live(pod), Controller: ptr(true)}},
	}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "container-0-request-0", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"},
	}}
	if d.chance(0.5) {
		d.allocate(claim)
	}
	d.c.Devices.ResourceClaims = append(d.c.Devices.ResourceClaims, claim)
}

func (d *draw) requestDevices(c *corev1.Container, name corev1.ResourceName) {
	amount := *resource.NewQuantity(int64(pick(d, 1, 1, 2)), resource.DecimalSI)
	d.wanted += int(amount.Value())
	if c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	if c.Resources.Limits == nil {
		c.Resources.Limits = corev1.ResourceList{}
	}
	c.Resources.Requests[name], c.Resources.Limits[name] = amount, amount
}

// claimedName returns the name of a claim of a namespace, of one that exists with few exceptions.
func (d *draw) claimedName(namespace string) string {
	var claims []*resourcev1.ResourceClaim
	for _, c := range d.c.Devices.ResourceClaims {
		if c.Namespace == namespace {
			claims = append(claims, c)
		}
	}
	switch {
	case d.chance(0.01):
		return "gone"
	case len(claims) == 0 || d.chance(0.5):
		claims = []*resourcev1.ResourceClaim{d.deviceClaim(namespace, d.name("own-devices"))}
	}
	claim := pick(d, claims...)
	d.wanted += wanted(&claim.Spec)
	return claim.Name
}

// claimsDevices draws whether a pod has claims of devices. Profiles without them draw nothing.
func (d *draw) claimsDevices() bool { return d.likelihood[devicing] > 0 && d.has(devicing) }
