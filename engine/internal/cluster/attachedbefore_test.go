package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// TestAttachedBefore compares what derived clusters know of attachments with counting them again, whichever bases know them.
func TestAttachedBefore(t *testing.T) {
	const nodes, steps = 40, 12
	derived, fewer, removed := 0, 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 38))
		draw := func() *api.Cluster {
			c, pods := enginetest.RandomShared(rng)
			c.Nodes = nil
			for i := range nodes {
				c.Nodes = append(c.Nodes, enginetest.RandomSharedNode(rng, c, fmt.Sprint("node-", i)))
			}
			enginetest.RandomStorage(rng, c, pods)
			for i := range c.Nodes { // nothing by index, so that nodes of one cluster fit into another
				n := &c.Nodes[i]
				n.Class, n.PodCounts, n.Nominated = nil, nil, nil
				for j := range n.Pods {
					n.Pods[j].TemplateIndex = -1
				}
			}
			return c
		}
		c, err := cluster.Compile(t.Context(), draw())
		if err != nil {
			t.Fatal(err)
		}
		for step := range steps {
			if rng.IntN(2) == 0 {
				for _, driver := range []string{"disks.example", "files.example"} {
					kept, counted, since := c.Attached(driver)
					if diff := cmp.Diff(counted, kept); diff != "" {
						t.Fatalf("seed %d, step %d, %s (-counted again +kept):\n%s", seed, step, driver, diff)
					}
					if since >= 0 {
						derived++
					}
					if since >= 0 && since < nodes/2 {
						fewer++
					}
				}
			}
			other, change := draw(), &api.Delta{}
			for range rng.IntN(3) {
				i := rng.IntN(min(c.Len(), nodes))
				other.Nodes[i].Name = c.Names[i]
				change.Replaced = []api.Replacement{{Index: uint32(i), Node: other.Nodes[i]}}
			}
			switch objects, set := &other.Storage, &change.Storage.Set; rng.IntN(6) {
			case 0:
				set.Claims = objects.Claims[:1]
			case 1:
				set.Volumes = objects.Volumes[1:3]
			case 2:
				set.Claims, set.Volumes = objects.Claims[3:4], objects.Volumes[:1]
			case 3:
				change.Storage.Removed.Volumes = []string{objects.Volumes[rng.IntN(len(objects.Volumes))].Name}
			case 4:
				of := objects.Claims[rng.IntN(len(objects.Claims))]
				change.Storage.Removed.Claims = []api.ObjectName{{Namespace: of.Namespace, Name: of.Name}}
			}
			switch rng.IntN(12) {
			case 0:
				change.Storage.Set.Classes = []api.StorageClass{{Name: "delayed", Provisioner: fmt.Sprint("driver-", step)}}
			case 1:
				change.Removed, removed = []uint32{uint32(rng.IntN(c.Len()))}, removed+1
				change.Replaced = nil
			case 2:
				change.Added = other.Nodes[:1]
				change.Added[0].Name = fmt.Sprint("added-", step)
			}
			if c, err = c.With(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
	}
	if derived < 100 || fewer < 50 || removed == 0 {
		t.Errorf("%d derived, %d of them with fewer than half of the nodes counted again, %d removals: too few", derived, fewer, removed)
	}
}
