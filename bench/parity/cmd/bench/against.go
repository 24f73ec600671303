package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stowage-scheduler/stowage/bench/parity/speed"
)

// compare lets this build and another one measure in turn, and fails if a row lost.
func (f *flags) compare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stowage-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "rows.json")
	builds := [2]string{self, f.against}
	var rounds [2][][]speed.Measured
	for round := range f.rounds {
		for turn := range builds {
			i := (round + turn) % len(builds) // neither is always the first
			log.Printf("round %d of %d: %s", round+1, f.rounds, builds[i])
			rows, err := f.measured(builds[i], out)
			if err != nil {
				return fmt.Errorf("%s: %w", builds[i], err)
			}
			rounds[i] = append(rounds[i], rows)
		}
	}
	lost, err := speed.PrintComparisons(os.Stdout, speed.Compare(rounds[0], rounds[1]))
	if err == nil && lost > 0 {
		err = fmt.Errorf("%d rows lost more than 5 %%", lost)
	}
	return err
}

// measured runs a build and returns its rows. A broken promise does not matter here.
func (f *flags) measured(build, out string) ([]speed.Measured, error) {
	if err := os.WriteFile(out, nil, 0o600); err != nil {
		return nil, err
	}
	c := exec.Command(build, "-json", out, "-kube-nodes", f.nodes, "-only", f.only, "-turns", fmt.Sprint(f.turns),
		fmt.Sprintf("-small=%t", f.small), fmt.Sprintf("-huge=%t", f.huge))
	c.Stderr = os.Stderr
	failed := c.Run()
	text, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var rows []speed.Measured
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, errors.Join(failed, err)
	}
	return rows, nil
}
