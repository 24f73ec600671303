package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// totals counts comparisons.
type totals struct {
	inputs, requests atomic.Uint64
	of               []counts // by method
}

type counts struct{ inputs, answered, delta, late, requests atomic.Uint64 }

func newTotals() *totals { return &totals{of: make([]counts, len(methods))} }

func (t *totals) add(m *method, o outcome) {
	t.inputs.Add(1)
	t.requests.Add(uint64(o.requests))
	for i := range methods {
		if methods[i] != m {
			continue
		}
		c := &t.of[i]
		c.inputs.Add(1)
		c.requests.Add(uint64(o.requests))
		for _, is := range []struct {
			is bool
			of *atomic.Uint64
		}{{o.answered, &c.answered}, {o.delta, &c.delta}, {o.late, &c.late}} {
			if is.is {
				is.of.Add(1)
			}
		}
	}
}

// failure is an input whose answers differ.
type failure struct {
	number uint64
	input  *input
	err    error
}

// work compares inputs from a number on until there were n requests, or one fails. Each worker has a service of its own.
func work(seed, from, n uint64, workers int, t *totals, failed chan<- failure) {
	var next atomic.Uint64
	var stopped atomic.Bool
	next.Store(from)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			s := newService()
			for t.requests.Load() < n && !stopped.Load() {
				i := next.Add(1) - 1
				in := drawn(seed, i)
				o, err := in.compare(s)
				t.add(in.method, o)
				if err != nil {
					stopped.Store(true)
					failed <- failure{i, in, err}
				}
			}
		})
	}
	running.Wait()
}

// kept is an input in a file.
type kept struct {
	Method  string `json:"method"`
	Seed    uint64 `json:"seed"`
	Request []byte `json:"request"`
	Delta   []byte `json:"delta,omitempty"`
}

// write writes the input to a new file.
func (f *failure) write() (name string, err error) {
	k := kept{Method: f.input.method.name, Seed: f.input.seed, Request: f.input.raw}
	if f.input.delta != nil {
		if k.Delta, err = proto.Marshal(f.input.delta); err != nil {
			return "", err
		}
	}
	raw, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return "", err
	}
	name = filepath.Join(os.TempDir(), fmt.Sprintf("fuzz-%d.json", f.number))
	return name, os.WriteFile(name, append(raw, '\n'), 0o600)
}

func readInput(name string) (*input, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var k kept
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in := &input{raw: k.Request, seed: k.Seed}
	for _, m := range methods {
		if m.name == k.Method {
			in.method = m
		}
	}
	if in.method == nil {
		return nil, fmt.Errorf("%s: there is no method %q", name, k.Method)
	}
	if k.Delta != nil {
		in.delta = new(stowagev1.ClusterDelta)
		if err := proto.Unmarshal(k.Delta, in.delta); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return in, nil
}
