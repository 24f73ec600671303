package generate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Every case must be one that the API server would store and kube-scheduler decide: otherwise the comparison is about
// nothing, and a generator that draws much of it finds little.
func TestCasesAreValid(t *testing.T) {
	for _, profile := range generate.Profiles() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(60) {
				c := generate.Case(profile, seed)
				release, err := oracle.Hold(c)
				if err != nil {
					t.Fatal(err)
				}
				if c.Whole {
					runQueue(t, c)
					release()
					continue
				}
				s, err := oracle.New(c)
				if err != nil {
					t.Errorf("%s: %v", c.Name, err)
					release()
					continue
				}
				for i, pod := range s.Queue {
					var overflow *oracle.OverflowError
					if _, err := s.Decide(pod); err != nil && !errors.As(err, &overflow) {
						t.Errorf("%s: queue[%d]: %v", c.Name, i, err)
					}
				}
				s.Close()
				release()
			}
		})
	}
}

func runQueue(t *testing.T, c *scenario.Case) {
	q, err := oracle.NewQueue(c, slices.Min)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	defer q.Close()
	if _, err := q.Run(); err != nil {
		t.Errorf("%s: %v", c.Name, err)
	}
}

func TestCaseIsAFunctionOfItsSeed(t *testing.T) {
	for _, profile := range generate.Profiles() {
		for seed := range uint64(20) {
			if diff := cmp.Diff(generate.Case(profile, seed), generate.Case(profile, seed)); diff != "" {
				t.Fatalf("%s/%d differs from itself (-first +second):\n%s", profile, seed, diff)
			}
		}
	}
}
