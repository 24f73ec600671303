package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// claimedCluster is bigCluster with a pod on each node for each of ten claims, which are bound to zonal volumes. Drivers attach at most
// 25 volumes to a node.
func claimedCluster(nodes int) *api.Cluster {
	c := bigCluster(nodes, true)
	c.Storage.Classes = []api.StorageClass{
		{Name: "fast", Provisioner: "disk.example", VolumeBindingMode: api.WaitForFirstConsumer},
	}
	c.Storage.Drivers = []api.CSIDriver{{Name: "disk.example"}}
	template := &api.PodTemplate{Namespace: "default", Labels: api.LabelsOf(map[string]string{"app": "db"}), Spec: api.PodSpec{
		Volumes: []api.PodVolume{{Claim: &api.PodClaim{Name: "data", OfPod: true}}},
	}}
	c.Templates = append(c.Templates, template)
	at := len(c.Templates) - 1
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.CSINode = &api.CSINode{Drivers: []api.CSINodeDriver{{Name: "disk.example", AllocatableCount: new(int32(25))}}}
		zone := &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: []api.Requirement{
			{Key: "topology.kubernetes.io/zone", Operator: api.In, Values: []string{fmt.Sprint("zone-", i%3)}},
		}}}}
		for j := range 10 {
			pod, volume := fmt.Sprintf("db-%d-%d", i, j), fmt.Sprintf("pv-%d-%d", i, j)
			n.Pods = append(n.Pods, api.Pod{Name: pod, Template: template, TemplateIndex: at})
			c.Storage.Claims = append(c.Storage.Claims, api.PersistentVolumeClaim{
				Namespace: "default", Name: "data-" + pod, Spec: api.ClaimSpec{StorageClassName: "fast"}, VolumeName: volume, BindCompleted: true,
			})
			c.Storage.Volumes = append(c.Storage.Volumes, api.PersistentVolume{
				Name: volume, StorageClassName: "fast", Capacity: 10 << 30, Claim: &api.ClaimReference{Namespace: "default", Name: "data-" + pod},
				NodeAffinity: zone, CSIDriver: "disk.example", VolumeHandle: "h-" + volume,
			})
		}
	}
	c.Storage.Sort()
	return c
}

// claiming is a pod with claims that are to be provisioned.
func claiming(name string, claims int) api.Pod {
	p := api.Pod{Name: name, TemplateIndex: -1, Template: &api.PodTemplate{Namespace: "default"}}
	for i := range claims {
		p.Template.Spec.Volumes = append(p.Template.Spec.Volumes, api.PodVolume{Claim: &api.PodClaim{
			Name: fmt.Sprint("new-", i), OfPod: true, Template: &api.ClaimSpec{StorageClassName: "fast", StorageRequest: new(int64(1 << 30))},
		}})
	}
	return p
}

// BenchmarkVolumes measures what 50,000 claims cost pods with claims and without.
func BenchmarkVolumes(b *testing.B) {
	clusters := map[string]*engine.Cluster{"claims=0": compiled(b, bigCluster(5000, true)), "claims=50000": compiled(b, claimedCluster(5000))}
	for of, c := range clusters {
		for _, claims := range []int{0, 2} {
			if claims > 0 && of == "claims=0" {
				continue
			}
			pod := claiming("p", claims)
			b.Run(fmt.Sprintf("%s/filter/own=%d", of, claims), func(b *testing.B) {
				for b.Loop() {
					f, err := c.Filter(b.Context(), &pod, engine.FilterOptions{Profile: api.Kube137()})
					if err != nil || len(f.Feasible) == 0 {
						b.Fatal(err, f.Message)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/place=200/own=%d", of, claims), func(b *testing.B) {
				var queue []engine.Pending
				for i := range 200 {
					queue = append(queue, engine.Pending{Pod: claiming(fmt.Sprint("p-", i), claims), Count: 1})
				}
				for b.Loop() {
					r, err := c.Place(b.Context(), queue, engine.PlaceOptions{Profile: api.Kube137()})
					if err != nil || len(r.Bindings) != 200*claims {
						b.Fatal(err, len(r.Bindings))
					}
				}
			})
		}
	}
}
