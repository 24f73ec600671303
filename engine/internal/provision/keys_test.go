package provision

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// TestKeysTakeLessThanSets numbers kinds and templates that all differ, and expects that this takes less memory than the
// kinds' own sets.
func TestKeysTakeLessThanSets(t *testing.T) {
	const kinds, templates = 8192, 4096
	base, err := cluster.Compile(t.Context(), &api.Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	s := &solver{
		Problem: &Problem{Templates: make([]Template, templates), MaxNodes: 1},
		Fleet:   &Fleet{base: base}, analysis: &analysis{}, best: &trial{counts: make([]int, templates)},
	}
	for i := range s.Templates {
		s.Templates[i].Most = 1
	}
	rng := rand.New(rand.NewPCG(1, 2))
	pod := &cluster.Pending{Pod: &api.Pod{Template: &api.PodTemplate{}}}
	owned := uint64(0)
	for range kinds {
		nodes := nodeset.New(templates)
		for i := range nodes {
			nodes[i] = rng.Uint64()
		}
		owned += uint64(8 * len(nodes))
		s.kinds = append(s.kinds, &kind{pod: pod, pods: 1, nodes: nodes})
	}
	shared := sharing()
	for name, number := range map[string]func() int{
		"sharing": func() int {
			for _, k := range s.kinds {
				shared(k.nodes)
			}
			return kinds
		},
		"sets": func() int {
			if _, err := s.sets(t.Context(), s.kinds); err != nil {
				t.Fatal(err)
			}
			most := 0
			for _, k := range s.kinds {
				most = max(most, k.set+1)
			}
			return most
		},
		"active": func() int {
			active, err := s.active(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(active) + kinds - templates
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found := number()
		runtime.ReadMemStats(&after)
		if found != kinds {
			t.Errorf("%s: %d are alike", name, kinds-found)
		}
		took := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d bytes, the sets have %d", name, took, owned)
		if took > owned {
			t.Errorf("%s: takes %d bytes, the sets have %d", name, took, owned)
		}
	}
}
