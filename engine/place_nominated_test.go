package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestPlaceNominated places pods that are nominated. A placed pod is no longer nominated, one of another name is.
func TestPlaceNominated(t *testing.T) {
	big := func(name string) *enginetest.Pod { return enginetest.MakePod(name).Request("cpu", 5000) }
	for name, test := range map[string]struct {
		queue []*enginetest.Pod
		want  [][]uint32
	}{
		"another first":  {[]*enginetest.Pod{big("x"), big("n")}, [][]uint32{{1}, {0}}},
		"itself first":   {[]*enginetest.Pod{big("n"), big("x"), big("y")}, [][]uint32{{0}, {1}, nil}},
		"itself only":    {[]*enginetest.Pod{big("n").NominatedTo("n1"), big("x"), big("y")}, [][]uint32{{1}, {0}, nil}},
		"never itself":   {[]*enginetest.Pod{big("x"), big("y")}, [][]uint32{{1}, nil}},
		"lower priority": {[]*enginetest.Pod{big("x").Priority(1), big("y")}, [][]uint32{{0}, {1}}},
	} {
		for how, o := range map[string]engine.PlaceOptions{
			"scanning": {Scan: true}, "as it pays": {}, "board": engine.PlaceOptions{}.WithBoard(),
			"group": {Groups: []engine.PodGroup{{Minimum: 1}}}, "jointly": {Groups: []engine.PodGroup{{Minimum: 1, Joint: true}}},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				c := compile(t, enginetest.MakeNode("n0").Nominate(big("n")), enginetest.MakeNode("n1"))
				var queue []engine.Pending
				for i, p := range test.queue {
					queue = append(queue, pending(1, p))
					if len(o.Groups) > 0 {
						o.Groups[0].Entries = append(o.Groups[0].Entries, i)
					}
				}
				o.Profile = api.Kube137()
				result, err := c.Place(t.Context(), queue, o)
				if err != nil {
					t.Fatal(err)
				}
				got, placed := make([][]uint32, len(queue)), 0
				for i := range got {
					got[i] = result.Placements[i].Nodes
					placed += len(got[i])
				}
				want := 0
				for _, nodes := range test.want {
					want += len(nodes)
				}
				if how != "jointly" && cmp.Diff(test.want, got) != "" || placed != want {
					t.Errorf("placed on %v", got)
				}
				if len(o.Groups) > 0 && (result.Groups[0].Status == verdict.GroupComplete) != (want == len(queue)) {
					t.Errorf("%+v", result.Groups[0])
				}
			})
		}
	}
}
