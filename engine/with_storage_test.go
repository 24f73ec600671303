package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestWithStorage changes storage objects of a cluster, several times one after the other, and compares all answers, which the clusters before
// may have found parts of, with the answers of a cluster that is compiled from scratch.
func TestWithStorage(t *testing.T) {
	profile := api.Kube137()
	for seed := range uint64(cases(150)) {
		rng := rand.New(rand.NewPCG(seed, 91))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomStorage(rng, stated, pods)
		stated.PodGroups = nil
		stated.Storage.Sort()
		c := compiled(t, stated)
		for step := range 4 {
			if step > 0 {
				change := changeStorage(rng, stated)
				var err error
				if c, err = c.With(t.Context(), &api.Delta{Storage: change}); err != nil {
					t.Fatal(err)
				}
			}
			fresh := compiled(t, stated)
			var queue []engine.Pending
			for i := range pods {
				queue = append(queue, engine.Pending{Pod: pods[i], Count: 1})
				var scores [2]any
				for at, of := range []*engine.Cluster{c, fresh} {
					score, err := of.Score(t.Context(), &pods[i], engine.ScoreOptions{Profile: profile, Rejections: true})
					if err != nil {
						t.Fatal(err)
					}
					scores[at] = score
				}
				if diff := cmp.Diff(scores[1], scores[0]); diff != "" {
					t.Fatalf("seed %d, step %d: the scores of pod %d differ from the scores of a cluster compiled from scratch:\n%s", seed, step, i, diff)
				}
			}
			var places [2]any
			for at, of := range []*engine.Cluster{c, fresh} {
				place, err := of.Place(t.Context(), queue, engine.PlaceOptions{Profile: profile, Explain: true})
				if err != nil {
					t.Fatal(err)
				}
				places[at] = place
			}
			if diff := cmp.Diff(places[1], places[0]); diff != "" {
				t.Fatalf("seed %d, step %d: the placements differ from the placements of a cluster compiled from scratch:\n%s", seed, step, diff)
			}
			if got, want := c.Bytes()-c.Remembered(), fresh.Bytes()-fresh.Remembered(); got < want/2 || got > 2*want {
				t.Errorf("seed %d, step %d: %d bytes, %d of a cluster compiled from scratch", seed, step, got, want)
			}
		}
	}
}

// changeStorage replaces some storage objects of a cluster by objects of another random cluster, and removes some.
func changeStorage(rng *rand.Rand, c *api.Cluster) (change api.StorageChange) {
	other, pods := enginetest.Random(rng)
	enginetest.RandomStorage(rng, other, pods)
	from, to := &other.Storage, &c.Storage
	changeList(rng, &to.Classes, from.Classes, &change.Set.Classes, &change.Removed.Classes, func(c *api.StorageClass) string { return c.Name })
	changeList(rng, &to.Drivers, from.Drivers, &change.Set.Drivers, &change.Removed.Drivers, func(d *api.CSIDriver) string { return d.Name })
	changeList(rng, &to.Capacities, from.Capacities, &change.Set.Capacities, &change.Removed.Capacities, func(c *api.StorageCapacity) api.ObjectName {
		return api.ObjectName{Namespace: c.Namespace, Name: c.Name}
	})
	changeList(rng, &to.Volumes, from.Volumes, &change.Set.Volumes, &change.Removed.Volumes, func(v *api.PersistentVolume) string { return v.Name })
	changeList(rng, &to.Claims, from.Claims, &change.Set.Claims, &change.Removed.Claims, func(c *api.PersistentVolumeClaim) api.ObjectName {
		return api.ObjectName{Namespace: c.Namespace, Name: c.Name}
	})
	to.Sort()
	return change
}

func changeList[T any, N comparable](rng *rand.Rand, list *[]T, others []T, set *[]T, removed *[]N, name func(*T) N) {
	if rng.IntN(3) == 0 {
		return
	}
	gone := make(map[N]bool)
	for i := range *list {
		if rng.IntN(6) == 0 {
			*removed, gone[name(&(*list)[i])] = append(*removed, name(&(*list)[i])), true
		}
	}
	replaced := make(map[N]bool)
	for i := range others {
		if id := name(&others[i]); rng.IntN(2) == 0 && !gone[id] {
			*set, replaced[id] = append(*set, others[i]), true
		}
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(v T) bool { return gone[name(&v)] || replaced[name(&v)] })
	*list = append(*list, *set...)
}

// BenchmarkWithStorage measures a delta of one claim, and of one volume, beside one of a pod's node.
func BenchmarkWithStorage(b *testing.B) {
	stated := claimedCluster(5000)
	base := compiled(b, stated)
	base.Bytes()
	claim, volume := stated.Storage.Claims[25_000], stated.Storage.Volumes[25_000]
	claim.Name = "new"
	for _, of := range []struct {
		name   string
		change api.Delta
	}{
		{"node", api.Delta{Replaced: []api.Replacement{{Index: 2500, Node: stated.Nodes[2500]}}}},
		{"claim", api.Delta{Storage: api.StorageChange{Set: api.Storage{Claims: []api.PersistentVolumeClaim{claim}}}}},
		{"volume", api.Delta{Storage: api.StorageChange{Set: api.Storage{Volumes: []api.PersistentVolume{volume}}}}},
		{"class", api.Delta{Storage: api.StorageChange{Set: api.Storage{Classes: stated.Storage.Classes[:1]}}}},
	} {
		b.Run(fmt.Sprintf("nodes=5000/claims=50000/%s", of.name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, err := base.With(b.Context(), &of.change)
				if err != nil || c.Bytes() == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}
