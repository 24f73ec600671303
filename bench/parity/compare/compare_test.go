package compare_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

var inProcess = conformance.Direct(placement.New(0, nil))

func TestStowageDecidesAsKubeScheduler(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 3
	}
	for _, profile := range generate.Profiles() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				c := generate.Case(profile, seed)
				r, err := compare.Run(t.Context(), c, inProcess)
				if err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
				for _, d := range r.Differences {
					t.Errorf("%s: %v", c.Name, d)
				}
			}
		})
	}
}

// altered is a Stowage whose answers are altered.
type altered struct {
	conformance.Service
	conformance.Simulation
	filter  func(*stowagev1.FilterResponse)
	score   func(*stowagev1.ScoreResponse)
	place   func(*stowagev1.PlaceResponse)
	preempt func(*stowagev1.PreemptResponse)
}

func (a altered) Filter(ctx context.Context, r *stowagev1.FilterRequest, _ ...grpc.CallOption) (*stowagev1.FilterResponse, error) {
	out, err := a.Service.Filter(ctx, r)
	if err == nil && a.filter != nil {
		out = proto.CloneOf(out)
		a.filter(out)
	}
	return out, err
}

func (a altered) Score(ctx context.Context, r *stowagev1.ScoreRequest, _ ...grpc.CallOption) (*stowagev1.ScoreResponse, error) {
	out, err := a.Service.Score(ctx, r)
	if err == nil && a.score != nil {
		out = proto.CloneOf(out)
		a.score(out)
	}
	return out, err
}

func (a altered) Place(ctx context.Context, r *stowagev1.PlaceRequest, _ ...grpc.CallOption) (*stowagev1.PlaceResponse, error) {
	out, err := a.Service.Place(ctx, r)
	if err == nil && a.place != nil {
		out = proto.CloneOf(out)
		a.place(out)
	}
	return out, err
}

func (a altered) Preempt(ctx context.Context, r *stowagev1.PreemptRequest, _ ...grpc.CallOption) (*stowagev1.PreemptResponse, error) {
	out, err := a.Service.Preempt(ctx, r)
	if err == nil && a.preempt != nil {
		out = proto.CloneOf(out)
		a.preempt(out)
	}
	return out, err
}

// found alters what preemption finds, where there is something to alter.
func found(alter func(*stowagev1.Preemption)) altered {
	return altered{preempt: func(r *stowagev1.PreemptResponse) {
		if r.Preemption != nil {
			alter(r.Preemption)
		}
	}}
}

// A comparison that lets anything pass is worth nothing, so each field is altered once.
func TestEveryFieldIsCompared(t *testing.T) {
	for kind, a := range map[string]altered{
		"filter feasible_nodes": {filter: func(r *stowagev1.FilterResponse) {
			r.FeasibleNodes.Indexes = append(r.FeasibleNodes.Indexes, 0)
		}},
		"filter rejections": {filter: func(r *stowagev1.FilterResponse) {
			for _, x := range r.Rejections {
				x.Code = 3 - x.Code
			}
		}},
		"filter message":        {filter: func(r *stowagev1.FilterResponse) { r.Message += "." }},
		"filter internal_error": {filter: func(r *stowagev1.FilterResponse) { r.InternalError = !r.InternalError }},
		"filter explanation": {filter: func(r *stowagev1.FilterResponse) {
			r.Explanation.FailingChecks = append(r.Explanation.FailingChecks, &stowagev1.Rejection{})
		}},
		"score nodes": {score: func(r *stowagev1.ScoreResponse) { r.Nodes.Indexes = append(r.Nodes.Indexes, 0) }},
		"score PLUGIN_TAINT_TOLERATION": {score: func(r *stowagev1.ScoreResponse) {
			for _, p := range r.PluginScores {
				if p.Plugin == stowagev1.Plugin_PLUGIN_TAINT_TOLERATION {
					p.WeightedScores[0]++
				}
			}
		}},
		"score total_scores":   {score: func(r *stowagev1.ScoreResponse) { r.TotalScores = append(r.TotalScores, 0) }},
		"score best_nodes":     {score: func(r *stowagev1.ScoreResponse) { r.BestNodes.Indexes = nil }},
		"score message":        {score: func(r *stowagev1.ScoreResponse) { r.Message += "." }},
		"score internal_error": {score: func(r *stowagev1.ScoreResponse) { r.InternalError = !r.InternalError }},
		"place nodes": {place: func(r *stowagev1.PlaceResponse) {
			for _, p := range r.Placements {
				p.Nodes.Indexes = append(p.Nodes.Indexes, 0)
			}
		}},
		"place unplaced_count": {place: func(r *stowagev1.PlaceResponse) { r.Placements[0].UnplacedCount++ }},
		"place internal_error": {place: func(r *stowagev1.PlaceResponse) {
			r.Placements[0].InternalError = !r.Placements[0].InternalError
		}},
		"place message": {place: func(r *stowagev1.PlaceResponse) { r.Placements[0].Message += "." }},
		"place rejections": {place: func(r *stowagev1.PlaceResponse) {
			for _, p := range r.Placements {
				p.Rejections = append(p.Rejections, &stowagev1.Rejection{})
			}
		}},
		"preempt candidates": found(func(p *stowagev1.Preemption) {
			for _, c := range p.Candidates {
				c.PdbViolations++
			}
		}),
		"preempt candidates, victims": found(func(p *stowagev1.Preemption) {
			for _, c := range p.Candidates {
				c.Victims[0].Name += "."
			}
		}),
		"preempt best_nodes": found(func(p *stowagev1.Preemption) {
			p.BestNodes = &stowagev1.NodeList{Indexes: append(p.BestNodes.GetIndexes(), 99)}
		}),
		"preempt rejections": found(func(p *stowagev1.Preemption) {
			for _, x := range p.Rejections {
				x.Code = 3 - x.Code
			}
		}),
		"preempt preemption message": found(func(p *stowagev1.Preemption) { p.Message += "." }),
		"preempt preemption":         found(func(p *stowagev1.Preemption) { p.ClearsNomination = !p.ClearsNomination }),
		"preempt preemption, nominated": found(func(p *stowagev1.Preemption) {
			if p.Nominated != nil {
				p.Nominated.Victims = append(p.Nominated.Victims, &stowagev1.PodReference{})
			}
		}),
		"preempt feasible_nodes": {preempt: func(r *stowagev1.PreemptResponse) {
			r.FeasibleNodes = &stowagev1.NodeList{Indexes: append(r.FeasibleNodes.GetIndexes(), 0)}
		}},
		"preempt message":        {preempt: func(r *stowagev1.PreemptResponse) { r.Message += "." }},
		"preempt internal_error": {preempt: func(r *stowagev1.PreemptResponse) { r.InternalError = !r.InternalError }},
		"filter with preemption": {filter: func(r *stowagev1.FilterResponse) {
			if r.Preemption != nil {
				r.Preemption.Message += "."
			}
		}},
		"filter with preemption message": {filter: func(r *stowagev1.FilterResponse) {
			if r.Preemption != nil {
				r.Message += "."
			}
		}},
		"place preemption": {place: func(r *stowagev1.PlaceResponse) {
			for _, p := range r.Placements {
				if p.Preemption != nil {
					p.Preemption.ClearsNomination = !p.Preemption.ClearsNomination
				}
			}
		}},
		"place with preemption message": {place: func(r *stowagev1.PlaceResponse) {
			for _, p := range r.Placements {
				if p.Preemption != nil {
					p.Message += "."
				}
			}
		}},
		"place placed_count": {place: func(r *stowagev1.PlaceResponse) { r.PlacedCount++ }},
	} {
		a.Service, a.Simulation = inProcess, inProcess.(conformance.Simulation)
		of, _, _ := strings.Cut(kind, ",")
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(20) {
				profile := "taints"
				if strings.Contains(kind, "preempt") {
					profile = "preemption"
				}
				r, err := compare.Run(t.Context(), generate.Case(profile, seed), a)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range r.Differences {
					if strings.HasPrefix(d.Kind, of) {
						return
					}
				}
			}
			t.Error("the altered field is not found")
		})
	}
}

// Cases that once differed, made small.
func TestFormerDifferences(t *testing.T) {
	files, err := filepath.Glob("../testdata/differences/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			c, err := scenario.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := compare.Run(t.Context(), c, inProcess)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range r.Differences {
				t.Error(d)
			}
		})
	}
}
