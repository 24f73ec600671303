package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestStatefulSetsEqualScanning places pods with claims of their own, among pods that use the claims of others, and compares the placements with
// the placements by scanning: pods whose claims differ in their names alone are evaluated alike.
func TestStatefulSetsEqualScanning(t *testing.T) {
	alike, placed := 0, 0
	for seed := range uint64(cases(400)) {
		rng := rand.New(rand.NewPCG(seed, 92))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomStorage(rng, stated, pods)
		stated.PodGroups = nil
		if rng.IntN(2) == 0 {
			stated.Storage.Volumes = nil
		}
		for i := range rng.IntN(4) {
			stated.Storage.Volumes = append(stated.Storage.Volumes, api.PersistentVolume{
				Name: fmt.Sprint("without-class-", i), Capacity: 1 << 30, AccessModes: api.AccessModes{ReadWriteMany: true}, Available: true,
			})
		}
		if rng.IntN(2) == 0 {
			for i := range stated.Nodes {
				stated.Nodes[i].Nominated = nil
			}
		}
		var queue []engine.Pending
		for set := range 2 {
			template := *pods[rng.IntN(len(pods))].Template
			template.Spec.Volumes = nil
			for i := range 1 + rng.IntN(2) {
				spec := &api.ClaimSpec{StorageClassName: []string{"delayed", "zonal", ""}[rng.IntN(3)], StorageRequest: new(int64(1 << 30))}
				spec.AccessModes.ReadWriteMany = rng.IntN(4) == 0
				claim := &api.PodClaim{Name: fmt.Sprint("own-", i), OfPod: true, Ephemeral: rng.IntN(5) == 0, Template: spec}
				claim.OfPod = !claim.Ephemeral
				template.Spec.Volumes = append(template.Spec.Volumes, api.PodVolume{Claim: claim})
			}
			for i := range 3 + rng.IntN(8) {
				pod := api.Pod{Name: fmt.Sprintf("db-%d-%d", set, i), Template: &template, TemplateIndex: -1}
				queue = append(queue, engine.Pending{Pod: pod, Count: 1 + max(0, rng.IntN(6)-4)})
				of := template.Spec.Volumes[0].Claim
				switch rng.IntN(6) {
				case 0: // the claim exists
					stated.Storage.Claims = append(stated.Storage.Claims, api.PersistentVolumeClaim{
						Namespace: template.Namespace, Name: of.Of(pod.Name), Spec: *of.Template, ControllerPod: pod.Name,
					})
				case 1: // another pod has it
					other := template
					other.Spec.Volumes = []api.PodVolume{{Claim: &api.PodClaim{Name: of.Of(pod.Name), Template: of.Template}}}
					queue = append(queue, engine.Pending{Pod: api.Pod{Name: fmt.Sprint("other-", set, i), Template: &other, TemplateIndex: -1}, Count: 1})
				}
			}
		}
		rng.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
		stated.Storage.Sort()
		c := compiled(t, stated)
		options := engine.PlaceOptions{Profile: api.Kube137(), Seed: seed, Scheduler: rng.IntN(3) == 0}
		fast, err := c.Place(t.Context(), queue, options)
		if err != nil {
			t.Fatal(err)
		}
		options.Scan = true
		slow, err := c.Place(t.Context(), queue, options)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fast.Placements {
			if n := len(fast.Placements[i].Nodes); n > 0 {
				placed += n
				alike += n - min(n, fast.Placements[i].Scanned)
			}
			fast.Placements[i].Scanned, slow.Placements[i].Scanned = 0, 0
		}
		if diff := cmp.Diff(slow, fast); diff != "" {
			t.Fatalf("seed %d: the placements differ from the placements by scanning:\n%s", seed, diff)
		}
	}
	if alike < placed/20 {
		t.Errorf("%d of %d pods were not scanned for: the cases no longer exercise that", alike, placed)
	}
}
