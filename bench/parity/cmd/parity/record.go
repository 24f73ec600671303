package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/parity/corpus"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
)

// recordedNodes is the most nodes that a recorded case has: a corpus is committed, and small cases show as much.
const recordedNodes = 8

// recordCorpus writes the answers to the first small cases from a seed on.
func recordCorpus(path string, o *options) (err error) {
	data, err := os.Create(path)
	if err != nil {
		return err
	}
	index, err := os.Create(strings.TrimSuffix(path, ".gz") + ".index.txt")
	if err != nil {
		return err
	}
	w, err := corpus.NewWriter(data, index)
	if err != nil {
		return err
	}
	seed, written := o.seedFrom, uint64(0)
	for ; written < o.cases; seed++ {
		c := generate.Case(o.profileOf(seed), seed)
		if len(c.Nodes) > recordedNodes {
			continue
		}
		if err := w.Add(c); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		written++
	}
	fmt.Printf("%d cases, seeds %d to %d\n", written, o.seedFrom, seed-1)
	return errors.Join(w.Close(), data.Close(), index.Close())
}
