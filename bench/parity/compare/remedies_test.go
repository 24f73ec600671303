package compare_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/clients/advice"
)

// Changes that hold say little where few are offered.
func TestRemediesMatter(t *testing.T) {
	var tally compare.Tally
	for seed := range uint64(240) {
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
	for _, kind := range []advice.Kind{advice.SoftRule, advice.FewerReplicas, advice.HigherPriority, advice.MovedPod} {
		if tally.Remedies.Kinds["advice "+string(kind)] == 0 {
			t.Errorf("no case has the advice %s", kind)
		}
	}
	if r := tally.Remedies; r.Pods < 100 || r.Helped < 80 || len(r.Kinds) < 12 {
		t.Errorf("what the cases are about: %+v", r)
	}
}
