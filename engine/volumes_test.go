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

// TestSharedClaims: pods of one claim that does not exist yet, apart from each other. A volume of one node keeps them on that node.
func TestSharedClaims(t *testing.T) {
	shared, alone := api.AccessModes{ReadWriteMany: true}, api.AccessModes{ReadWriteOnce: true}
	for name, test := range map[string]struct {
		class   string
		modes   api.AccessModes
		volumes []api.PersistentVolume
		placed  int
		message string
	}{
		"one node alone":           {"fast", alone, nil, 1, "1 node(s) didn't find available persistent volumes to bind"},
		"many nodes":               {"fast", shared, nil, 2, ""},
		"many nodes, one volume":   {"fast", shared, []api.PersistentVolume{{Name: "v", StorageClassName: "fast", AccessModes: shared, Available: true}}, 2, ""},
		"without a class":          {"", alone, []api.PersistentVolume{{Name: "v", AccessModes: alone, Available: true}}, 2, ""},
		"without a class, another": {"", shared, []api.PersistentVolume{{Name: "v", AccessModes: alone, Available: true}}, 0, "2 node(s) didn't find available persistent volumes to bind"},
		"without a class, taken": {
			"", alone, []api.PersistentVolume{{Name: "v", AccessModes: alone, Available: true, Claim: &api.ClaimReference{Namespace: "default", Name: "x"}}},
			0, "pod has unbound immediate PersistentVolumeClaims",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := cpu("web", 1, 0).Label("app", "web").AntiAffinity("kubernetes.io/hostname", enginetest.Selects("app", "web")).Pod
			pod.Template.Spec.Volumes = []api.PodVolume{{Claim: &api.PodClaim{Name: "data", Template: &api.ClaimSpec{StorageClassName: test.class, AccessModes: test.modes}}}}
			stated := &api.Cluster{
				Nodes: []api.Node{node4("a").Node, node4("b").Node},
				Storage: api.Storage{
					Classes: []api.StorageClass{{Name: "fast", Provisioner: "disk", VolumeBindingMode: api.BindImmediately}}, Volumes: test.volumes,
				},
			}
			got, err := compiled(t, stated).Place(t.Context(), []engine.Pending{{Pod: pod, Count: 2}}, engine.PlaceOptions{Profile: api.Kube137()})
			if err != nil {
				t.Fatal(err)
			}
			if p := got.Placements[0]; len(p.Nodes) != test.placed || !strings.Contains(p.Message, test.message) {
				t.Errorf("on %v, %q; want %d pods and %q", p.Nodes, p.Message, test.placed, test.message)
			}
			if want := min(test.placed, 1); len(got.Bindings) != want {
				t.Errorf("%v is bound, want %d claims", got.Bindings, want)
			}
		})
	}
}
