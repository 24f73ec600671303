package compare_test

import (
	"errors"
	"testing"

	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
)

// Agreement about nominated pods says little where they change nothing.
func TestNominationsMatter(t *testing.T) {
	counts := map[compare.Nominations]int{}
	for seed := range uint64(60) {
		c := generate.Case("nominated", seed)
		s, err := oracle.New(c)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		answers, err := expect.Of(c, s)
		s.Close()
		if errors.As(err, new(*oracle.OverflowError)) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		n, err := compare.NominationsOf(c, answers)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		counts[n]++
	}
	if counts[compare.DecisiveNominations] < 20 || counts[compare.IdleNominations] == 0 || counts[compare.NoNominations] == 0 {
		t.Errorf("without, with idle and with decisive nominations: %v", counts)
	}
	c := generate.Case("taints", 1)
	if n, err := compare.NominationsOf(c, nil); n != compare.NoNominations || err != nil {
		t.Errorf("a case of another profile: %v, %v", n, err)
	}
}
