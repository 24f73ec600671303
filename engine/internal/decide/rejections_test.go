package decide

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestRejections compares collected rejections with rejections that are compared one with the other.
func TestRejections(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var got Rejections
		var want []verdict.Rejection
		kinds := 1 + rng.IntN(60)
		for _, node := range rng.Perm(1 + rng.IntN(300)) {
			r := verdict.Rejection{
				Plugin: verdict.Plugin(rng.IntN(2)), Code: verdict.Unschedulable, Nodes: []uint32{uint32(node)},
				Reasons: []verdict.Reason{{Message: "Too many pods"}},
			}
			if resource := fmt.Sprint(rng.IntN(kinds)); rng.IntN(4) > 0 {
				r.Reasons = append(r.Reasons, verdict.Reason{Message: "Insufficient " + resource, Resource: resource})
			}
			i := slices.IndexFunc(want, func(o verdict.Rejection) bool {
				return o.Plugin == r.Plugin && reflect.DeepEqual(o.Reasons, r.Reasons)
			})
			if i < 0 {
				i, want = len(want), append(want, r)
				want[i].Nodes = nil
			}
			want[i].Nodes = append(want[i].Nodes, uint32(node))
			got.Add(r)
		}
		for i := range want {
			slices.Sort(want[i].Nodes)
		}
		if !reflect.DeepEqual(got.List, want) {
			t.Fatalf("seed %d: %+v, want %+v", seed, got.List, want)
		}
	}
}
