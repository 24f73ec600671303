package compare_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Agreement about scenarios says little where nothing comes back, or nothing finds a node.
func TestScenariosMatter(t *testing.T) {
	var o compare.Scenarios
	for seed := range uint64(250) {
		c := generate.Case("whatif", seed)
		r, err := compare.Run(t.Context(), c, inProcess)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		o.Add(c, r.WhatIf)
	}
	if o.Whole < 60 || o.Deltas < 60 || o.Cordons < 100 || o.Terminating < 50 || o.Removals < 100 || o.Stopped < 8 ||
		o.Requeued < 300 || o.PlacedAgain < 150 || o.Unknown < 10 || o.Preemptions < 15 {
		t.Errorf("what the scenarios are about: %+v", o)
	}
}

// alteredScenarios is a Stowage whose answers to WhatIf are altered.
type alteredScenarios struct {
	conformance.Service
	conformance.Simulation
	alter func(*stowagev1.WhatIfResponse)
}

func (a alteredScenarios) WhatIf(ctx context.Context, r *stowagev1.WhatIfRequest) ([]*stowagev1.WhatIfResponse, error) {
	out, err := a.Simulation.WhatIf(ctx, r)
	for i := range out {
		out[i] = proto.CloneOf(out[i])
		a.alter(out[i])
	}
	return out, err
}

func TestEveryFieldOfAScenarioIsCompared(t *testing.T) {
	placements := func(alter func(*stowagev1.Placement)) func(*stowagev1.WhatIfResponse) {
		return func(r *stowagev1.WhatIfResponse) {
			for _, p := range r.Placement.GetPlacements() {
				alter(p)
			}
		}
	}
	requeued := func(alter func(*stowagev1.RequeuedPod)) func(*stowagev1.WhatIfResponse) {
		return func(r *stowagev1.WhatIfResponse) {
			for _, p := range r.Requeued {
				alter(p)
			}
		}
	}
	for kind, alter := range map[string]func(*stowagev1.WhatIfResponse){
		"whatif scenario_index":      func(r *stowagev1.WhatIfResponse) { r.ScenarioIndex++ },
		"whatif name":                func(r *stowagev1.WhatIfResponse) { r.Name += "." },
		"whatif requeued, node":      requeued(func(p *stowagev1.RequeuedPod) { *p.Pod.NodeIndex++ }),
		"whatif requeued, preempted": requeued(func(p *stowagev1.RequeuedPod) { p.Preempted = !p.Preempted }),
		"whatif requeued, name":      requeued(func(p *stowagev1.RequeuedPod) { p.Pod.Name += "." }),
		"whatif requeued, count":     requeued(func(p *stowagev1.RequeuedPod) { p.Pod.Count++ }),
		"whatif requeued, unknown":   requeued(func(p *stowagev1.RequeuedPod) { p.Unknown = !p.Unknown }),
		"whatif stopped":             func(r *stowagev1.WhatIfResponse) { r.Stopped = !r.Stopped },
		"whatif unattempted_count":   placements(func(p *stowagev1.Placement) { p.UnattemptedCount++ }),
		"whatif place nodes": placements(func(p *stowagev1.Placement) {
			p.Nodes = &stowagev1.NodeList{Indexes: append(p.Nodes.GetIndexes(), 0)}
		}),
		"whatif place message":        placements(func(p *stowagev1.Placement) { p.Message += "." }),
		"whatif place unplaced_count": placements(func(p *stowagev1.Placement) { p.UnplacedCount++ }),
		"whatif place rejections": placements(func(p *stowagev1.Placement) {
			p.Rejections = append(p.Rejections, &stowagev1.Rejection{})
		}),
		"whatif queue attempt_count": placements(func(p *stowagev1.Placement) { p.AttemptCount++ }),
		"whatif queue message":       placements(func(p *stowagev1.Placement) { p.Message += "." }),
		"whatif queue evictions": func(r *stowagev1.WhatIfResponse) {
			r.Placement.Evictions = append(r.Placement.Evictions, &stowagev1.Eviction{})
		},
		"whatif place placed_count": func(r *stowagev1.WhatIfResponse) { r.Placement.PlacedCount++ },
	} {
		of, _, _ := strings.Cut(kind, ",")
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(50) {
				r, err := compare.Run(t.Context(), generate.Case("whatif", seed), alteredScenarios{inProcess, inProcess.(conformance.Simulation), alter})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Differences) > 0 && r.Differences[0].Kind == of {
					return
				}
			}
			t.Error("the altered field is not found")
		})
	}
}
