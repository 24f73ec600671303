package engine_test

import (
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestTerminatingPodsBindNoClaims: the claim of a drained pod still waits, and is bound on the node of the replacement.
func TestTerminatingPodsBindNoClaims(t *testing.T) {
	run := cpu("run", 1, 0).Pod
	run.Template.Spec.Volumes = []api.PodVolume{{Claim: &api.PodClaim{Name: "data"}}}
	run.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet}
	run.TemplateIndex = 0
	stated := &api.Cluster{
		Nodes: []api.Node{node4("a").Node, node4("b").Node}, Templates: []*api.PodTemplate{run.Template},
		Storage: api.Storage{
			Classes: []api.StorageClass{{Name: "fast", Provisioner: "disk", VolumeBindingMode: api.WaitForFirstConsumer}},
			Claims:  []api.PersistentVolumeClaim{{Namespace: "default", Name: "data", Spec: api.ClaimSpec{StorageClassName: "fast"}}},
		},
	}
	stated.Nodes[1].Pods = []api.Pod{run}
	for _, terminating := range []bool{false, true} {
		_, err := compiled(t, stated).Drain(t.Context(), engine.DrainOptions{
			Profile: api.Kube137(), Nodes: []uint32{1}, Terminating: terminating,
		}, func(d *verdict.Drain) error {
			if d.Placed != 1 || len(d.Unplaced) > 0 {
				t.Errorf("terminating %t: %d placed, unplaced %+v", terminating, d.Placed, d.Unplaced)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPreemptionsSeeBoundClaims: a claim is bound to another node between two preemptions of a pod.
func TestPreemptionsSeeBoundClaims(t *testing.T) {
	stated := &api.Cluster{
		Nodes: []api.Node{node4("a").Run(cpu("low", 4, -1)).Node, node4("b").Node},
		Storage: api.Storage{
			Classes: []api.StorageClass{{Name: "fast", Provisioner: "disk", VolumeBindingMode: api.WaitForFirstConsumer}},
			Claims:  []api.PersistentVolumeClaim{{Namespace: "default", Name: "data", Spec: api.ClaimSpec{StorageClassName: "fast"}}},
		},
	}
	apart := cpu("apart", 1, 1).Affinity("example.com/absent", enginetest.Selects("app", "absent")).Pod
	binds := cpu("binds", 1, 0).Pod
	for _, p := range []*api.Pod{&apart, &binds} {
		p.Template.Spec.Volumes = []api.PodVolume{{Claim: &api.PodClaim{Name: "data"}}}
	}
	stated.Nodes[1].Pods = []api.Pod{cpu("other", 3, 5).Pod}
	got, err := compiled(t, stated).Place(t.Context(), []engine.Pending{{Pod: apart, Count: 1}, {Pod: binds, Count: 1}}, engine.PlaceOptions{
		Profile: api.Kube137(), Scheduler: true, Preempt: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, preemption, _ := strings.Cut(got.Placements[0].Message, "preemption: ")
	if want := "1 node(s) didn't find available persistent volumes to bind"; !strings.Contains(preemption, want) {
		t.Errorf("%q, want %q", got.Placements[0].Message, want)
	}
}
