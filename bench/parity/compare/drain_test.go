package compare_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Agreement about drains says little where nothing moves, or all ends well.
func TestDrainsMatter(t *testing.T) {
	var o compare.Drains
	for seed := range uint64(500) {
		c := generate.Case("whatif", seed)
		if c.Drain == nil {
			continue
		}
		r, err := compare.Run(t.Context(), c, inProcess)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for _, d := range r.Differences {
			t.Errorf("%s: %v", c.Name, d)
		}
		o.Add(c, r.Drains)
	}
	if o.Whole < 30 || o.Each < 30 || o.Together < 30 || o.Largest < 15 || o.Terminating < 30 || o.Drained < 50 || o.Unplaced < 30 ||
		o.Blocked < 30 || o.Rounds < 10 || o.Moved < 200 || o.Staying < 30 || o.Preempted < 5 {
		t.Errorf("what the drains are about: %+v", o)
	}
}

// alteredDrains is a Stowage whose answers to Drain are altered.
type alteredDrains struct {
	conformance.Service
	conformance.Simulation
	alter func(*stowagev1.DrainResponse)
}

func (a alteredDrains) Drain(ctx context.Context, r *stowagev1.DrainRequest) ([]*stowagev1.DrainResponse, error) {
	out, err := a.Simulation.Drain(ctx, r)
	for i := range out {
		out[i] = proto.CloneOf(out[i])
		a.alter(out[i])
	}
	return out, err
}

func TestEveryFieldOfADrainIsCompared(t *testing.T) {
	drain := func(alter func(*stowagev1.NodeDrain)) func(*stowagev1.DrainResponse) {
		return func(r *stowagev1.DrainResponse) {
			if d := r.GetDrain(); d != nil {
				alter(d)
			}
		}
	}
	summary := func(alter func(*stowagev1.DrainSummary)) func(*stowagev1.DrainResponse) {
		return func(r *stowagev1.DrainResponse) {
			if s := r.GetSummary(); s != nil {
				alter(s)
			}
		}
	}
	for name, altered := range map[string]struct {
		kind  string
		alter func(*stowagev1.DrainResponse)
	}{
		"nodes": {"drain nodes", drain(func(d *stowagev1.NodeDrain) { d.Nodes.Indexes = append(d.Nodes.Indexes, 0) })},
		"move, pod": {"drain moves", drain(func(d *stowagev1.NodeDrain) {
			for _, m := range d.Moves {
				m.Pod.Name += "."
			}
		})},
		"move, node": {"drain moves", drain(func(d *stowagev1.NodeDrain) {
			for _, m := range d.Moves {
				m.Nodes.Indexes[0]++
			}
		})},
		"move, round": {"drain moves", drain(func(d *stowagev1.NodeDrain) {
			for _, m := range d.Moves {
				m.Round++
			}
		})},
		"unplaced, text": {"drain unplaced", drain(func(d *stowagev1.NodeDrain) {
			for _, u := range d.Unplaced {
				u.Message += "."
			}
		})},
		"blocked, reason": {"drain blocked", drain(func(d *stowagev1.NodeDrain) {
			for _, b := range d.Blocked {
				b.Reason++
			}
		})},
		"preempted": {"drain preempted", drain(func(d *stowagev1.NodeDrain) {
			d.Preempted = append(d.Preempted, &stowagev1.PodReference{})
		})},
		"round_count":   {"drain round_count", drain(func(d *stowagev1.NodeDrain) { d.RoundCount++ })},
		"status":        {"drain status", drain(func(d *stowagev1.NodeDrain) { d.Status++ })},
		"evicted_count": {"drain", drain(func(d *stowagev1.NodeDrain) { d.EvictedCount++ })},
		"placed_count":  {"drain", drain(func(d *stowagev1.NodeDrain) { d.PlacedCount++ })},
		"staying_count": {"drain", drain(func(d *stowagev1.NodeDrain) { d.StayingCount++ })},
		"truncated":     {"drain", drain(func(d *stowagev1.NodeDrain) { d.Truncated = true })},
		"drained_count": {"drain drained_count", summary(func(s *stowagev1.DrainSummary) { s.DrainedCount++ })},
		"total_count":   {"drain total_count", summary(func(s *stowagev1.DrainSummary) { s.TotalCount++ })},
		"proven": {"drain proven", summary(func(s *stowagev1.DrainSummary) {
			if s.UpperBound > 0 && !s.Proven {
				s.Proven, s.UpperBound = true, s.DrainedCount
			}
		})},
		"upper_bound": {"drain upper_bound", summary(func(s *stowagev1.DrainSummary) {
			if s.DrainedCount > 0 {
				s.UpperBound = s.DrainedCount - 1
			}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(300) {
				c := generate.Case("whatif", seed)
				if c.Drain == nil {
					continue
				}
				r, err := compare.Run(t.Context(), c, alteredDrains{inProcess, inProcess.(conformance.Simulation), altered.alter})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Differences) > 0 && r.Differences[0].Kind == altered.kind {
					return
				}
			}
			t.Error("the altered field is not found")
		})
	}
}
