package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestDevicesEverywhere asks every question about clusters whose devices came by changes: with a new node, to a cluster that had none, or in
// place of others. Every answer must equal the answer of a cluster that is compiled with them.
func TestDevicesEverywhere(t *testing.T) {
	changed := make(map[string]int)
	for seed := range uint64(cases(200)) {
		rng := rand.New(rand.NewPCG(seed, 41))
		stated, pods := enginetest.RandomShared(rng)
		withDevices(rng, stated, pods)
		for i, template := range stated.Templates {
			template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: fmt.Sprint("owner-", i)}
		}
		without := *stated
		without.Devices = api.Devices{}
		base, change := without, &api.Delta{Devices: api.DevicesChange{Set: stated.Devices}}
		switch last := len(stated.Nodes) - 1; seed % 3 {
		case 1: // the last node is new, with its slices
			base.Nodes, change.Added = stated.Nodes[:last], stated.Nodes[last:]
			base.Devices, change.Devices.Set = stated.Devices, api.Devices{}
			base.Devices.Slices = slices.DeleteFunc(slices.Clone(stated.Devices.Slices), func(s api.ResourceSlice) bool {
				own := s.NodeName == stated.Nodes[last].Name
				if own {
					change.Devices.Set.Slices = append(change.Devices.Set.Slices, s)
				}
				return own
			})
		case 2: // all slices and claims were others
			base.Devices = stated.Devices
			base.Devices.Slices, base.Devices.Claims = slices.Clone(stated.Devices.Slices), slices.Clone(stated.Devices.Claims)
			for i := range base.Devices.Slices {
				base.Devices.Slices[i].Devices = nil
			}
			for i := range base.Devices.Claims {
				base.Devices.Claims[i].Allocation = nil
			}
			base.Devices.Claims = append(base.Devices.Claims, api.ResourceClaim{Namespace: "default", Name: "gone"})
			change.Devices.Removed.Claims = []api.ObjectName{{Namespace: "default", Name: "gone"}}
		}
		from := compiled(t, &base)
		if _, err := from.Filter(t.Context(), &pods[0], engine.FilterOptions{Profile: api.Kube137()}); err != nil { // which computes what changes extend
			t.Fatal(err)
		}
		derived, err := from.With(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		known, third := compiled(t, stated), compiled(t, &without)
		for what, ask := range toyQuestions(t.Context(), rng, stated, pods) {
			if changed[what] += 0; changesAnswer(t, fmt.Sprintf("seed %d, %s", seed, what), ask, known, derived, third) {
				changed[what]++
			}
		}
	}
	for what, n := range changed {
		if n == 0 && allCases() {
			t.Errorf("%s: devices change no answer", what)
		}
	}
	t.Log(changed)
}
