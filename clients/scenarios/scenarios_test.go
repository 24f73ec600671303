package scenarios_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/clients/scenarios"
)

const (
	examples = "../examples"
	pending  = "testdata/pending"
)

// hold runs every step of every case by one way of deciding.
func hold(t *testing.T, decide scenarios.Decider) {
	t.Helper()
	holdIn(t, examples, decide)
	holdIn(t, pending, decide)
}

func holdIn(t *testing.T, root string, decide scenarios.Decider) {
	t.Helper()
	cases, err := scenarios.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cases {
		c := &cases[i]
		for j := range c.Steps {
			s := &c.Steps[j]
			t.Run(c.Name()+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				q, err := scenarios.Ask(c, s)
				if err != nil {
					t.Fatal(err)
				}
				a, err := decide(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range scenarios.Check(q, a) {
					t.Error(d)
				}
			})
		}
	}
}

func TestInTheEngine(t *testing.T) { hold(t, inEngine) }
