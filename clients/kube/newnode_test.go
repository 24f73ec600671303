package kube_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestStorageOfTemplates expects the CSINode of a template's own name, or else of the node that is most like it.
func TestStorageOfTemplates(t *testing.T) {
	b := kube.NewBuilder(kube.Options{})
	add := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{
		`{metadata: {name: a, uid: a, labels: {node.kubernetes.io/instance-type: m5, pool: x, topology.kubernetes.io/zone: z1, disk/zone: z1, disk/host: h}}}`,
		`{metadata: {name: b, uid: b, labels: {node.kubernetes.io/instance-type: m5, pool: y}}}`,
		`{metadata: {name: c, uid: c, labels: {node.kubernetes.io/instance-type: m5, pool: y}}}`,
	} {
		add(b.AddNode(parse[corev1.Node](t, n)))
	}
	for _, n := range []string{
		`{metadata: {name: a}, spec: {drivers: [{name: disk, nodeID: a, allocatable: {count: 1}, topologyKeys: [disk/zone, disk/host]}]}}`,
		`{metadata: {name: b}, spec: {drivers: [{name: disk, nodeID: b, allocatable: {count: 2}}]}}`,
		`{metadata: {name: own}, spec: {drivers: [{name: disk, nodeID: own, allocatable: {count: 3}}]}}`,
	} {
		add(b.AddCSINode(parse[storagev1.CSINode](t, n)))
	}
	add(b.AddCSIDriver(parse[storagev1.CSIDriver](t, `{metadata: {name: disk}}`)))
	for _, n := range []string{
		`{metadata: {name: like-a, labels: {node.kubernetes.io/instance-type: m5, pool: x, topology.kubernetes.io/zone: z2}}}`,
		`{metadata: {name: like-b, labels: {node.kubernetes.io/instance-type: m5, pool: y}}}`,
		`{metadata: {name: own, labels: {node.kubernetes.io/instance-type: m5, pool: x}}}`,
		`{metadata: {name: unlike, labels: {node.kubernetes.io/instance-type: c5, pool: x}}}`,
	} {
		template := parse[corev1.Node](t, n)
		template.Annotations = map[string]string{"stowage.scheduling/price": "1"}
		add(b.AddNodeTemplate(template))
	}
	s, err := b.Build()
	add(err)
	limits := map[string]*int32{"like-a": new(int32(1)), "like-b": new(int32(2)), "own": new(int32(3)), "unlike": nil}
	for _, template := range s.NodeTemplates {
		n := template.Node
		drivers := n.GetCsiNode().GetDrivers()
		if len(drivers) != 1 || drivers[0].Name != "disk" || !equalLimits(drivers[0], limits[n.Name]) {
			t.Errorf("%s has %v", n.Name, drivers)
		}
		_, host := n.Labels["disk/host"]
		if zone := n.Labels["disk/zone"]; (n.Name == "like-a") != (zone == "z2") || host {
			t.Errorf("%s has the labels %v", n.Name, n.Labels)
		}
	}
	if !slices.Equal(s.UnlimitedTemplates, []string{"unlike"}) {
		t.Errorf("without a limit: %v", s.UnlimitedTemplates)
	}
}

// TestTemplatesHaveDevices has templates like nodes with devices and without, one with slices of its own, and one without an instance type.
func TestTemplatesHaveDevices(t *testing.T) {
	b := kube.NewBuilder(kube.Options{Selectors: fakeSelectors{}, WholeDevices: true})
	for _, n := range []string{
		`{metadata: {name: n0, uid: a, labels: {node.kubernetes.io/instance-type: p5, pool: x}}}`,
		`{metadata: {name: n1, uid: b, labels: {node.kubernetes.io/instance-type: p5, pool: y}}}`,
		`{metadata: {name: n2, uid: c, labels: {node.kubernetes.io/instance-type: m5, pool: x}}}`,
		`{metadata: {name: plain, uid: d, labels: {pool: z}}}`, `{metadata: {name: n3, uid: e}}`,
	} {
		must(t, b.AddNode(parse[corev1.Node](t, n)))
	}
	for _, name := range []string{"n0", "n1", "n3", "own"} {
		must(t, b.AddResourceSlice(parse[resourcev1.ResourceSlice](t, fmt.Sprintf(gpuSlices, name))))
	}
	must(t, b.AddResourceClaimTemplate(parse[resourcev1.ResourceClaimTemplate](t, `{metadata: {name: t}}`)))
	must(t, b.AddPod(parse[corev1.Pod](t, `{metadata: {name: p}, spec: {resourceClaims: [{name: c, resourceClaimTemplateName: t}]}}`)))
	for _, n := range []string{
		`{metadata: {name: like-n1, labels: {node.kubernetes.io/instance-type: p5, pool: y}}}`, `{metadata: {name: own, labels: {node.kubernetes.io/instance-type: m5}}}`,
		`{metadata: {name: unlike, labels: {node.kubernetes.io/instance-type: m5, pool: x}}}`, `{metadata: {name: untyped, labels: {pool: z}}}`,
	} {
		template := parse[corev1.Node](t, n)
		template.Annotations = map[string]string{"stowage.scheduling/price": "1"}
		must(t, b.AddNodeTemplate(template))
	}
	s := build(t, b)
	got := map[string]string{}
	for _, template := range s.NodeTemplates {
		for _, of := range template.ResourceSlices {
			got[template.Node.Name] += fmt.Sprint(of.Name, " ", of.Pool, " ", of.NodeName, len(of.Devices))
		}
	}
	diff(t, map[string]string{"like-n1": "n1 like-n1 3", "own": "own " + "own 3"}, got)
	diff(t, []string{"unlike"}, s.BareTemplates)
}

func equalLimits(d *stowagev1.CSINodeDriver, want *int32) bool {
	if want == nil || d.AllocatableCount == nil {
		return want == nil && d.AllocatableCount == nil
	}
	return *want == *d.AllocatableCount
}

// TestTemplateLikeHasDevices expects the slices of the node's own pools, and none of a pool that other nodes have, too.
func TestTemplateLikeHasDevices(t *testing.T) {
	s := &kube.Snapshot{Cluster: &stowagev1.Cluster{
		Nodes: []*stowagev1.Node{{Name: "a"}, {Name: "b"}},
		ResourceSlices: []*stowagev1.ResourceSlice{
			{Name: "fabric-a", Driver: "nic", Pool: "fabric", NodeName: "a"}, {Name: "fabric-all", Driver: "nic", Pool: "fabric", AllNodes: true},
			{Name: "other", Driver: "gpu", Pool: "b", NodeName: "b"},
			{Name: "own", Driver: "gpu", Pool: "a", NodeName: "a", Generation: 2, Devices: []*stowagev1.Device{{Name: "gpu-0"}}},
			{Name: "second", Driver: "gpu", Pool: "x", NodeName: "a"},
		},
	}}
	got, err := s.TemplateLike(0)
	if err != nil {
		t.Fatal(err)
	}
	want := []*stowagev1.ResourceSlice{
		{Name: "own", Driver: "gpu", Pool: "a", Generation: 2, Devices: []*stowagev1.Device{{Name: "gpu-0"}}},
		{Name: "second", Driver: "gpu", Pool: "x"},
	}
	if diff := cmp.Diff(want, got.ResourceSlices, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
