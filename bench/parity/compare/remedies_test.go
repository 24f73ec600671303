package compare_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
)

// Changes that hold say little where few are offered.
func TestRemediesMatter(t *testing.T) {
	var tally compare.Tally
	for seed := range uint64(200) {
		c := generate.Case("remedies", seed)
		r, err := compare.Run(t.Context(), c, inProcess)
		if err != nil {
			continue // TestStowageDecidesAsKubeScheduler reports it
		}
		for _, d := range r.Differences {
			t.Errorf("%s: %v", c.Name, d)
		}
		tally.Add(r)
	}
	if r := tally.Remedies; r.Pods < 100 || r.Helped < 80 || len(r.Kinds) < 12 {
		t.Errorf("what the cases are about: %+v", r)
	}
}
