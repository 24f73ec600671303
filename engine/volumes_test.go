package engine_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
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
