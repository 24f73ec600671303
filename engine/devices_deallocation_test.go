package engine_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestDeallocation has a pod whose claim no node can use: kube-scheduler takes the devices of a claim that no other pod uses, and deletes
// the claim for extended resources that an earlier attempt left (dynamicresources.go PostFilter, v1.37).
func TestDeallocation(t *testing.T) {
	const none = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
	named := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
		Containers:     []api.Container{{Name: "main"}},
		ResourceClaims: []api.PodResourceClaim{{Name: "gpu", ResourceClaimName: "claim"}},
	}}
	extended := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
		Containers: []api.Container{{Name: "main", Requests: enginetest.Resources("example.com/gpu", 1)}},
	}}
	nowhere := &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchFields: []api.Requirement{
		{Key: "metadata.name", Operator: api.In, Values: []string{"another"}},
	}}}}
	allocation := &api.ClaimAllocation{
		Devices:      []api.DeviceAllocation{{Request: "r", Driver: "gpu.example", Pool: "another", Device: "gpu-0"}},
		NodeSelector: nowhere,
	}
	for name, row := range map[string]struct {
		template *api.PodTemplate
		claim    api.ResourceClaim
		disabled api.PostFilters
		want     string
	}{
		"unused claim":    {named, api.ResourceClaim{Allocation: allocation}, api.PostFilters{}, "deallocation of ResourceClaim completed, " + none},
		"own reservation": {named, api.ResourceClaim{Allocation: allocation, ReservedFor: []string{"pod"}}, api.PostFilters{}, "deallocation of ResourceClaim completed, " + none},
		"claim of another pod": {
			named, api.ResourceClaim{Allocation: allocation, ReservedFor: []string{"other"}}, api.PostFilters{}, none,
		},
		"claim of two pods": {
			named, api.ResourceClaim{Allocation: allocation, ReservedFor: []string{"other", "pod"}}, api.PostFilters{}, none,
		},
		"left claim": {
			extended, api.ResourceClaim{ExtendedResources: true, ControllerPod: "pod"}, api.PostFilters{}, "deletion of ResourceClaim completed, " + none,
		},
		"without preemption": {
			named, api.ResourceClaim{Allocation: allocation}, api.PostFilters{DefaultPreemption: true}, "deallocation of ResourceClaim completed",
		},
		"without DynamicResources": {named, api.ResourceClaim{Allocation: allocation}, api.PostFilters{DynamicResources: true}, none},
	} {
		t.Run(name, func(t *testing.T) {
			c := gpuCluster(2, 1)
			claim := row.claim
			claim.Namespace, claim.Name = "default", "claim"
			c.Devices.Claims = []api.ResourceClaim{claim}
			profile := api.Kube137()
			profile.DisabledPostFilters = row.disabled
			pod := &api.Pod{Name: "pod", Template: row.template, TemplateIndex: -1}
			f := filterOf(t, c, pod, engine.FilterOptions{Profile: profile, Preempt: &engine.PreemptOptions{}})
			if got := f.Preemption.Message; got != row.want {
				t.Errorf("%q, not %q", got, row.want)
			}
		})
	}
}
