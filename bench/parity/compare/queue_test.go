package compare_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func queueAnswer(t *testing.T, c *scenario.Case) (*oracle.QueueResult, *stowagev1.PlaceResponse) {
	t.Helper()
	q, err := oracle.NewQueue(c, expect.Best(c))
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	defer q.Close()
	r, err := q.Run()
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	answer, err := expect.QueueAnswer(c, r)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return r, answer
}

// Agreement about queues says little where each pod is attempted once. kube-scheduler's goroutines and maps must not show.
func TestQueuesMatter(t *testing.T) {
	var o compare.Queues
	for seed := range uint64(400) {
		c := generate.Case("queue", seed)
		r, first := queueAnswer(t, c)
		o.Add(r)
		if seed < 40 {
			_, second := queueAnswer(t, c)
			if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
				t.Errorf("%s: the queue runs otherwise the second time (-first +second):\n%s", c.Name, diff)
			}
		}
	}
	if o.Retried < 70 || o.LaterRounds < 3 ||
		o.Preemptions < 90 || o.Chained < 7 || o.Vain < 5 || o.Violating < 10 || o.Gated < 20 {
		t.Errorf("what the queues are about: %+v", o)
	}
}

func TestEveryFieldOfAQueueIsCompared(t *testing.T) {
	placements := func(alter func(*stowagev1.Placement)) altered {
		return altered{place: func(r *stowagev1.PlaceResponse) { alter(r.Placements[len(r.Placements)-1]) }}
	}
	evictions := func(alter func(*stowagev1.Eviction)) altered {
		return altered{place: func(r *stowagev1.PlaceResponse) {
			for _, e := range r.Evictions {
				alter(e)
			}
		}}
	}
	for kind, a := range map[string]altered{
		"queue placements":        {place: func(r *stowagev1.PlaceResponse) { r.Placements = r.Placements[1:] }},
		"queue evictions":         {place: func(r *stowagev1.PlaceResponse) { r.Evictions = append(r.Evictions, &stowagev1.Eviction{}) }},
		"queue evictions, entry":  evictions(func(e *stowagev1.Eviction) { e.QueueIndex++ }),
		"queue evictions, node":   evictions(func(e *stowagev1.Eviction) { *e.NodeIndex++ }),
		"queue evictions, budget": evictions(func(e *stowagev1.Eviction) { e.PdbViolations++ }),
		"queue evictions, victim": evictions(func(e *stowagev1.Eviction) { e.Victims[0].Name += "." }),
		"queue nodes": placements(func(p *stowagev1.Placement) {
			p.Nodes = &stowagev1.NodeList{Indexes: append(p.Nodes.GetIndexes(), 0)}
		}),
		"queue unplaced_count": placements(func(p *stowagev1.Placement) { p.UnplacedCount++ }),
		"queue evicted_count":  placements(func(p *stowagev1.Placement) { p.EvictedCount++ }),
		"queue attempt_count":  placements(func(p *stowagev1.Placement) { p.AttemptCount++ }),
		"queue message":        placements(func(p *stowagev1.Placement) { p.Message += "." }),
		"queue internal_error": placements(func(p *stowagev1.Placement) { p.InternalError = !p.InternalError }),
		"queue rejections": placements(func(p *stowagev1.Placement) {
			p.Rejections = append(p.Rejections, &stowagev1.Rejection{})
		}),
		"queue counts": {place: func(r *stowagev1.PlaceResponse) { r.EvictedCount++ }},
	} {
		a.Service, a.Simulation = inProcess, inProcess.(conformance.Simulation)
		of, _, _ := strings.Cut(kind, ",")
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(30) {
				r, err := compare.Run(t.Context(), generate.Case("queue", seed), a)
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
