package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestProvisionDevices buys nodes for claims and for an extended resource: the fewest nodes with devices, which is proven without trying others.
func TestProvisionDevices(t *testing.T) {
	stated := gpuCluster(1, 4)
	stated.Nodes[0].Name = "plain"
	like := gpuCluster(1, 4)
	gpus := engine.NodeTemplate{Node: stated.Nodes[0], Slices: like.Devices.Slices, Price: 10, Most: 1000}
	gpus.Node.Name = "n0" // its pool is n0, too, and the pool of the cluster belongs to a node that is gone
	cheap := engine.NodeTemplate{Node: stated.Nodes[0], Price: 1, Most: 1000}
	cheap.Node.Name = "cheap"
	extended := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
		Containers: []api.Container{{Name: "main", Requests: enginetest.Resources("cpu", 100, "example.com/gpu", 1)}},
	}}
	c, err := engine.Compile(t.Context(), stated)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		what  string
		pod   *api.PodTemplate
		pods  int
		nodes uint32
	}{
		{"claims for one device", claimingDevices(1), 41, 11}, {"claims for three devices", claimingDevices(3), 50, 50},
		{"an extended resource", extended, 41, 11}, {"no devices", enginetest.MakePod("p").Template, 5, 0},
	} {
		for _, scheduler := range []bool{false, true} {
			what := fmt.Sprint(k.what, ", ", scheduler)
			p, err := c.Provision(t.Context(), []engine.Pending{{Pod: api.Pod{Template: k.pod, TemplateIndex: -1}, Count: k.pods}},
				engine.ProvisionOptions{Profile: api.Kube137(), Templates: []engine.NodeTemplate{gpus, cheap}, MaxNodes: 1000, Scheduler: scheduler})
			if err != nil {
				t.Fatal(err)
			}
			if p.Counts[0] != k.nodes || p.Counts[1] != 0 || !p.Optimal || p.Bound != p.Cost || len(p.Place.Placements[0].Nodes) != k.pods {
				t.Errorf("%s: %v nodes, %d pods, cost %d, bound %d, optimal %v", what, p.Counts, len(p.Place.Placements[0].Nodes), p.Cost, p.Bound, p.Optimal)
			}
			if devices := len(p.Place.Devices); k.nodes > 0 && devices != k.pods {
				t.Errorf("%s: %d claims got devices", what, devices)
			}
			once(t, what, &p.Place)
		}
	}
}
