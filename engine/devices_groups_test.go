package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// TestGroupsHonourDevices places groups whose pods all need devices, by every way of placing them. As many pods have room as the free devices
// of each node allow. Pods of a low priority that have the others are never preempted, as that does not help.
func TestGroupsHonourDevices(t *testing.T) {
	placed, refused, joint := 0, 0, 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 40))
		nodes, devices := 2+rng.IntN(4), 1+rng.IntN(5)
		each, pods := int64(1+rng.IntN(3)), 1+rng.IntN(8)
		stated, room := gpuCluster(nodes, devices), 0
		for i := range stated.Nodes {
			n := &stated.Nodes[i]
			free := devices
			for j := range rng.IntN(devices + 1) {
				name := fmt.Sprint("low-", i, "-", j)
				low := *claimingDevices(1)
				low.Spec.Priority = -10
				n.Pods = append(n.Pods, api.Pod{Name: name, Template: &low, TemplateIndex: -1})
				stated.Devices.Claims = append(stated.Devices.Claims, api.ResourceClaim{
					Namespace: "default", Name: name, ControllerPod: name, ReservedFor: []string{name},
					Allocation: &api.ClaimAllocation{Devices: []api.DeviceAllocation{{
						Request: "r", Driver: "gpu.example", Pool: n.Name, Device: fmt.Sprint("gpu-", j),
					}}},
				})
				free--
			}
			room += free / int(each)
		}
		c := compiled(t, stated)
		group := engine.PodGroup{Name: "default/g", Entries: []int{0}, Minimum: pods}
		jointly := group
		jointly.Joint, jointly.Steps = true, 10_000
		for what, o := range map[string]engine.PlaceOptions{
			"group": {Groups: []engine.PodGroup{group}}, "jointly": {Groups: []engine.PodGroup{jointly}},
			"queue": {Scheduler: true, Preempt: true, Groups: []engine.PodGroup{group}},
		} {
			o.Profile = api.Kube137()
			p, err := c.Place(t.Context(), []engine.Pending{{Pod: api.Pod{Template: claimingDevices(each), TemplateIndex: -1}, Count: pods}}, o)
			if err != nil {
				t.Fatal(err)
			}
			what = fmt.Sprintf("seed %d, %s: %d pods with %d devices, room for %d", seed, what, pods, each, room)
			once(t, what, p)
			got, on := len(p.Placements[0].Nodes), make(map[uint32]int)
			for _, d := range p.Devices {
				on[d.Node] += len(d.Devices)
			}
			for _, n := range p.Placements[0].Nodes {
				on[n] -= int(each)
			}
			for n, difference := range on {
				if difference != 0 {
					t.Errorf("%s: %d devices more on node %d than its pods need", what, difference, n)
				}
			}
			switch {
			case got != 0 && got != pods || got > room || len(p.Evictions) > 0:
				t.Errorf("%s: %d are placed, %d evictions", what, got, len(p.Evictions))
			case got == 0 && room >= pods && !o.Groups[0].Joint: // a joint search may not find a placement
				t.Errorf("%s: none is placed: %s", what, p.Placements[0].Message)
			}
			if got == 0 {
				refused++
			} else if placed++; o.Groups[0].Joint {
				joint++
			}
		}
	}
	if placed < 100 || refused < 100 || joint < 30 {
		t.Errorf("%d placed, %d of them jointly, %d refused: the cases no longer exercise all", placed, joint, refused)
	}
	t.Log(placed, joint, refused)
}

// TestUndecidedDevices has a pod whose search nobody can finish, which takes all steps of the request. Pods behind it, whose searches find devices
// at once, are decided nevertheless.
func TestUndecidedDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds")
	}
	p, err := compiled(t, differentGPUs(12, 40)).Place(t.Context(), []engine.Pending{
		{Pod: api.Pod{Template: unsolvable(), TemplateIndex: -1}, Count: 1}, {Pod: api.Pod{Template: claimingDevices(20), TemplateIndex: -1}, Count: 24},
	}, engine.PlaceOptions{Profile: api.Kube137()})
	if err != nil {
		t.Fatal(err)
	}
	undecided, decided := p.Placements[0], p.Placements[1]
	if undecided.Message != "0/12 nodes are available: 12 devices were not decided." || len(p.Doubts) == 0 {
		t.Errorf("%q, doubts %v", undecided.Message, p.Doubts)
	}
	if len(decided.Nodes) != 24 {
		t.Errorf("%d of 24 pods are placed: %s", len(decided.Nodes), decided.Message)
	}
}
