package expander

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/servertest/devices"
)

// TestDevicesOfOptions expects that new nodes have the devices of a node of the same instance type, each for itself, and that the text reports
// whose devices they are, or that there are none.
func TestDevicesOfOptions(t *testing.T) {
	using := func(claims ...string) (out []*corev1.Pod) {
		for _, claim := range claims {
			p := devices.Use(pod("with-"+claim, "1", "1Gi"), claim)
			p.Namespace = "default"
			out = append(out, p)
		}
		return out
	}
	user := pod("user", "1", "1Gi")
	shared := devices.Slice("a", "shared", 1)
	shared.Name, shared.Spec.Pool.Name, shared.Spec.NodeName, shared.Spec.AllNodes = "shared", "shared", nil, new(true)
	shared.Spec.Devices[0].Name = "far"
	api := fake.NewClientset(node("a", "z1", "4", "8Gi"), node("b", "z1", "8", "8Gi"), devices.NewClass(), devices.Slice("a", "old", 1), shared,
		devices.Claim("one", 1, devices.OfModel("old")), devices.Claim("two", 1, devices.OfModel("old")), devices.Claim("far", 1, devices.OfModel("shared")),
		devices.Allocated(devices.Claim("taken", 1), "a", user, "gpu-0"))
	served := &metav1.APIResourceList{GroupVersion: resourcev1.SchemeGroupVersion.String()}
	for _, r := range live.DeviceResources() {
		served.APIResources = append(served.APIResources, metav1.APIResource{Name: r.Resource})
	}
	api.Resources = append(api.Resources, served)
	e, start := beside(t, dial(t), api, Options{})
	start()
	expectText(t, e, "devices", []explained{
		{"a device for each node", expansion{"g", 2, node("t", "z1", "4", "8Gi"), using("one", "two")}, "places 2 of 2 pods, and uses 2 of 2"},
		{"one node", expansion{"g", 1, node("t", "z1", "4", "8Gi"), using("one", "two")},
			"places 1 of 2 pods, and uses 1 of 1 new nodes; wastes 81.2 %; the new nodes are assumed to have the devices of a; pod default/with-two: " +
				"0/3 nodes are available: 3 cannot allocate all claims."},
		{"another instance type", expansion{"g", 1, node("t", "z1", "16", "8Gi"), using("one")},
			"places 0 of 1 pods, and uses 0 of 1 new nodes; wastes 100.0 %; no node of the cluster with devices is like the new ones: they count " +
				"without devices for the 1 pods with resource claims; pod default/with-one: 0/3 nodes are available: 3 cannot allocate all claims."},
		{"no claims", expansion{"g", 1, node("t", "z1", "16", "8Gi"), pods(1, "1", "1Gi")}, "places 1 of 1 pods"},
	})
}
