package expander

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage-scheduler/stowage/clients/servertest/storage"
)

// TestVolumesOfOptions expects that the nodes of an option are in the zone of a volume, that as many volumes can be attached to them as to
// a node of the same instance type, and that the driver's topology label of an empty group follows from its zone.
func TestVolumesOfOptions(t *testing.T) {
	const key = "topology.disk.example.com/zone"
	existing := func(name, zone, cpu string) *corev1.Node { return labelled(node(name, zone, cpu, "8Gi"), key, zone) }
	limited := func(name string, limit int32) *storagev1.CSINode {
		out := storage.CSINode(name, limit)
		out.Spec.Drivers[0].TopologyKeys = []string{key}
		return out
	}
	prevents := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)}}
	prevents.Name = storage.Driver
	using := func(claims ...string) (out []*corev1.Pod) {
		for _, claim := range claims {
			p := storage.Use(pod("with-"+claim, "1", "1Gi"), claim)
			p.Namespace = "default"
			out = append(out, p)
		}
		return out
	}
	inTopology := storage.Volume("v9", "z2", "nine")
	inTopology.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = key
	full := func(on, cpu string) *corev1.Pod {
		p := pod("full-"+on, cpu, "1Gi")
		p.Spec.NodeName, p.UID = on, types.UID(on)
		return p
	}
	api := fake.NewClientset(existing("a", "z1", "4"), limited("a", 1), existing("b", "z1", "8"), limited("b", 8), prevents,
		full("a", "4"), full("b", "8"), storage.Class(storage.Delayed),
		storage.Volume("v1", "z1", "one"), storage.Claim("one", "v1"), storage.Volume("v2", "z1", "two"), storage.Claim("two", "v2"),
		inTopology, storage.Claim("nine", "v9"), storage.Claim("later", ""))
	e, start := beside(t, dial(t), api, Options{})
	start()
	expectText(t, e, "volumes", []explained{
		{"the limit of a node like it", expansion{"g", 1, node("t", "z1", "4", "8Gi"), using("one", "two")},
			"places 1 of 2 pods, and uses 1 of 1 new nodes; wastes 81.2 %; pod default/with-two: 0/3 nodes are available: 1 node(s) exceed max volume count, 2 Insufficient cpu."},
		{"another instance type", expansion{"g", 1, node("t", "z1", "8", "8Gi"), using("one", "two")}, "places 2 of 2 pods, and uses 1 of 1"},
		{"the zone of a volume", expansion{"g", 1, node("t", "z2", "8", "8Gi"), using("one")},
			"places 0 of 1 pods, and uses 0 of 1 new nodes; wastes 100.0 %; pod default/with-one: 0/3 nodes are available: " +
				"1 node(s) didn't match PersistentVolume's node affinity, 2 Insufficient cpu."},
		{"the label of the driver", expansion{"g", 1, node("t", "z2", "8", "8Gi"), using("nine")}, "places 1 of 1 pods"},
		{"a claim that is provisioned", expansion{"g", 1, node("t", "z2", "8", "8Gi"), using("later")}, "places 1 of 1 pods"},
		{"no node like it", expansion{"g", 1, node("t", "z1", "16", "8Gi"), using("one", "two")},
			"places 2 of 2 pods, and uses 1 of 1 new nodes; wastes 81.2 %; no node of the cluster is like the new ones: " +
				"no limit of attached volumes counts for the 2 pods with claims"},
		{"no claims", expansion{"g", 1, node("t", "z1", "16", "8Gi"), pods(1, "1", "1Gi")}, "places 1 of 1 pods"},
	})
}

// explained is an option of a cluster, and a part of the text about it.
type explained struct {
	what   string
	option expansion
	want   string
}

// expectText expects the text of each option. The text of an option without claims does not contain word.
func expectText(t *testing.T, e *Expander, word string, options []explained) {
	t.Helper()
	for _, c := range options {
		_, all, err := e.best(t.Context(), encoded(t, c.option))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		text := all[0].String()
		if !strings.Contains(text, c.want) || c.what == "no claims" && strings.Contains(text, word) {
			t.Errorf("%s: %s\nwant %s", c.what, text, c.want)
		}
	}
}

// TestErrorsOfTheClusterAreReported expects the error of a call about a live cluster.
func TestErrorsOfTheClusterAreReported(t *testing.T) {
	e, start := beside(t, dial(t), fake.NewClientset(node("a", "z1", "4", "8Gi")), Options{})
	start()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := e.best(ended, encoded(t, expansion{"g", 1, node("t", "z1", "4", "8Gi"), pods(1, "1", "1Gi")})); err == nil {
		t.Error("the call has ended, and there is no error")
	}
}
