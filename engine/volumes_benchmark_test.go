package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// claimedCluster is bigCluster with a pod on each node for each of ten claims, which are bound to zonal volumes. Drivers attach at most
// 25 volumes to a node. Each node has a local volume that no claim has.
func claimedCluster(nodes int) *api.Cluster {
	c := bigCluster(nodes, true)
	c.Storage.Classes = []api.StorageClass{
		{Name: "fast", Provisioner: "disk.example", VolumeBindingMode: api.WaitForFirstConsumer},
		{Name: "local", Provisioner: api.NoProvisioner, VolumeBindingMode: api.WaitForFirstConsumer},
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
		in := func(key, value string) *api.NodeSelector {
			return &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: []api.Requirement{
				{Key: key, Operator: api.In, Values: []string{value}},
			}}}}
		}
		zone := in("topology.kubernetes.io/zone", fmt.Sprint("zone-", i%3))
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
		c.Storage.Volumes = append(c.Storage.Volumes, api.PersistentVolume{
			Name: fmt.Sprint("local-", i), StorageClassName: "local", Capacity: int64(10+i%7) << 30, Available: true,
			NodeAffinity: in("kubernetes.io/hostname", n.Name),
		})
	}
	c.Storage.Sort()
	return c
}

// claiming is a pod with claims of a class that are to be provisioned, or that look for a volume.
func claiming(name string, claims int, class string) api.Pod {
	p := api.Pod{Name: name, TemplateIndex: -1, Template: &api.PodTemplate{Namespace: "default"}}
	for i := range claims {
		p.Template.Spec.Volumes = append(p.Template.Spec.Volumes, api.PodVolume{Claim: &api.PodClaim{
			Name: fmt.Sprint("new-", i), OfPod: true, Template: &api.ClaimSpec{StorageClassName: class, StorageRequest: new(int64(1 << 30))},
		}})
	}
	return p
}

// bound is a pod with two claims that are bound.
func bound() api.Pod {
	p := claiming("p", 2, "")
	for i := range p.Template.Spec.Volumes {
		p.Template.Spec.Volumes[i].Claim = &api.PodClaim{Name: fmt.Sprint("data-db-0-", i)}
	}
	return p
}

// statefulSet is the pods of a StatefulSet with one claim each.
func statefulSet(pods int, class string) (queue []engine.Pending) {
	template := claiming("", 1, class).Template
	for i := range pods {
		queue = append(queue, engine.Pending{Count: 1, Pod: api.Pod{Name: fmt.Sprint("db-", i), TemplateIndex: -1, Template: template}})
	}
	return queue
}

// BenchmarkVolumes measures what 50,000 claims cost pods with claims and without.
func BenchmarkVolumes(b *testing.B) {
	profile := api.Kube137()
	c, without := compiled(b, claimedCluster(5000)), compiled(b, bigCluster(5000, true))
	for _, of := range []struct {
		name string
		c    *engine.Cluster
		pod  api.Pod
	}{
		{"claims=0/own=0", without, claiming("p", 0, "")},
		{"claims=50000/own=0", c, claiming("p", 0, "")},
		{"claims=50000/own=2", c, claiming("p", 2, "fast")},
		{"claims=50000/own=2bound", c, bound()},
		{"claims=50000/own=2local", c, claiming("p", 2, "local")},
	} {
		filter := func(b *testing.B) {
			f, err := of.c.Filter(b.Context(), &of.pod, engine.FilterOptions{Profile: profile})
			if err != nil || len(f.Feasible) == 0 != (of.name == "claims=50000/own=2local") {
				b.Fatal(err, len(f.Feasible), f.Message)
			}
		}
		filter(b) // computes what later calls share
		b.Run("filter/"+of.name, func(b *testing.B) {
			for b.Loop() {
				filter(b)
			}
		})
		b.Run("score/"+of.name, func(b *testing.B) {
			for b.Loop() {
				if s, err := of.c.Score(b.Context(), &of.pod, engine.ScoreOptions{Profile: profile, TotalsOnly: true}); err != nil {
					b.Fatal(err, len(s.Nodes))
				}
			}
		})
	}
	benchmarkAfterDelta(b, c)
	for _, of := range []struct {
		name     string
		pods     int
		class    string
		bindings int
	}{
		{"own=0", 10_000, "", 0}, {"own=1", 10_000, "fast", 10_000}, {"own=1local", 1000, "local", 1000},
	} {
		queue := statefulSet(of.pods, of.class)
		if of.class == "" {
			queue = []engine.Pending{{Pod: claiming("p", 0, ""), Count: of.pods}}
		}
		b.Run(fmt.Sprintf("place=%d/claims=50000/%s", of.pods, of.name), func(b *testing.B) {
			for b.Loop() {
				r, err := c.Place(b.Context(), queue, engine.PlaceOptions{Profile: profile})
				if err != nil || len(r.Bindings) != of.bindings {
					b.Fatal(err, len(r.Bindings))
				}
			}
		})
	}
}

// benchmarkAfterDelta measures the first call about a pod with two bound claims after a node got other pods, and after a claim changed.
func benchmarkAfterDelta(b *testing.B, c *engine.Cluster) {
	stated, pod := claimedCluster(5000), bound()
	node := stated.Nodes[17]
	node.Pods = node.Pods[1:]
	claim := stated.Storage.Claims[17]
	claim.Terminating = true
	for name, delta := range map[string]*api.Delta{
		"pod":   {Replaced: []api.Replacement{{Index: 17, Node: node}}},
		"claim": {Storage: api.StorageChange{Set: api.Storage{Claims: []api.PersistentVolumeClaim{claim}}}},
	} {
		b.Run("filter-after-delta/claims=50000/"+name, func(b *testing.B) {
			for b.Loop() {
				next, err := c.With(b.Context(), delta)
				if err != nil {
					b.Fatal(err)
				}
				f, err := next.Filter(b.Context(), &pod, engine.FilterOptions{Profile: api.Kube137()})
				if err != nil || len(f.Feasible) == 0 {
					b.Fatal(err, len(f.Feasible), f.Message)
				}
			}
		})
	}
}
