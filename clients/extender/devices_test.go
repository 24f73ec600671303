package extender

import (
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

// TestDevicesAreLeftToKubeScheduler expects that no node is rejected because of devices, and none taken because of them: what kube-scheduler has
// given out is in its memory before it is in a claim. So slices and claims are not even read.
func TestDevicesAreLeftToKubeScheduler(t *testing.T) {
	other := makePod("other", "other")
	for _, decide := range []Decide{AtBind, AtFilter} {
		w := start(t, Options{Decide: decide}, makeNode("a", "z1"), makeNode("b", "z1"), devices.NewClass(), devices.Slice("a", "old", 1),
			devices.Allocated(devices.Claim("taken", 1), "a", other, "gpu-0"), devices.Claim("new", 1))
		for _, claim := range []string{"new", "taken", "gone"} {
			p := devices.Use(makePod("with-"+claim, "p"), claim)
			got := w.filter(p, "a", "b")
			if want := []string{"a", "b"}; decide == AtBind && !slices.Equal(*got.NodeNames, want) || len(*got.NodeNames) == 0 || len(got.FailedAndUnresolvableNodes) > 0 {
				t.Errorf("%s: %+v", claim, got)
			}
		}
		for _, a := range w.api.Actions() {
			if r := a.GetResource().Resource; r == "resourceslices" || r == "resourceclaims" {
				t.Errorf("%s %s", a.GetVerb(), r)
			}
		}
	}
}
