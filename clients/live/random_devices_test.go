package live_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

// deviceReasons are texts of rejections that depend on the objects of devices.
var deviceReasons = []string{
	"cannot allocate all claims", "resourceclaim not available on the node", "device class gpu does not exist",
	"could not find ResourceClaim", "was not created for Pod",
}

// randomDevices returns every kind of live.DeviceResources, by its resource.
func randomDevices(w *world) map[schema.GroupVersionResource]randomKind {
	api := w.api.ResourceV1()
	at := resourcev1.SchemeGroupVersion.WithResource
	model := func(r *random) string { return []string{"old", "new"}[r.rng.IntN(2)] }
	node := func(r *random) string { return fmt.Sprintf("node-%d", r.rng.IntN(120)) }
	return map[schema.GroupVersionResource]randomKind{
		at("deviceclasses"): newRandomKind(api.DeviceClasses(), func(r *random, _ int) *resourcev1.DeviceClass {
			out := devices.NewClass()
			if r.rng.IntN(2) == 0 {
				out.Spec.Selectors[0].CEL.Expression = "true"
			}
			return out
		}, (*kube.Builder).AddDeviceClass),
		at("resourceslices"): newRandomKind(api.ResourceSlices(), func(r *random, _ int) *resourcev1.ResourceSlice {
			out := devices.Slice(node(r), model(r), 1+r.rng.IntN(3))
			if r.rng.IntN(6) == 0 {
				out.Spec.NodeName, out.Spec.AllNodes = nil, new(true)
			}
			return out
		}, (*kube.Builder).AddResourceSlice),
		at("devicetaintrules"): newRandomKind(api.DeviceTaintRules(), func(r *random, _ int) *resourcev1.DeviceTaintRule {
			return devices.TaintRule(fmt.Sprint("rule-", r.rng.IntN(3)), node(r), "gpu-0")
		}, func(b *kube.Builder, o *resourcev1.DeviceTaintRule) error { return b.AddDeviceTaintRule(o) }),
		at("resourceclaims"): newRandomKind(api.ResourceClaims("default"), func(r *random, step int) *resourcev1.ResourceClaim {
			out := devices.Claim(fmt.Sprint("devices-", r.rng.IntN(randomVolumes)), int64(1+r.rng.IntN(2)))
			switch r.rng.IntN(4) {
			case 0:
				out.Spec = devices.Spec(1, devices.OfModel(model(r)))
			case 1:
				pod := r.pods[fmt.Sprintf("pod-%d", r.rng.IntN(60))]
				out = devices.Allocated(out, node(r), pod, "gpu-0")
			}
			if r.rng.IntN(4) == 0 {
				name := fmt.Sprintf("pod-%d", r.rng.IntN(60))
				out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(fmt.Sprint(name, "-", step)), Controller: new(true)}}
				if p := r.pods[name]; p != nil && r.rng.IntN(2) == 0 {
					out.OwnerReferences[0].UID = p.UID
				}
			}
			return out
		}, (*kube.Builder).AddResourceClaim),
	}
}

// claim gives a pod a resource claim.
func (r *random) claim(p *corev1.Pod) {
	name := fmt.Sprint("devices-", r.rng.IntN(randomVolumes))
	if r.rng.IntN(2) == 0 {
		devices.Use(p, name)
		return
	}
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "made", ResourceClaimTemplateName: new("template")}}
	p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "made", ResourceClaimName: &name}}
}
