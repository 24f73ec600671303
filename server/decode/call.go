package decode

import (
	"errors"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// FilterCall is a FilterRequest in the engine's values.
type FilterCall struct {
	Cluster *api.Cluster
	Pod     *api.Pod
	Options engine.FilterOptions
}

// Filter decodes a FilterRequest. An error is an *Error.
func Filter(r *stowagev1.FilterRequest) (*FilterCall, error) {
	var d decoder
	c := &FilterCall{
		Cluster: d.wholeCluster(r.GetCluster()),
		Pod:     d.onePod(r.GetPod()),
		Options: engine.FilterOptions{
			Profile:    d.profile(r.GetProfile()),
			Candidates: d.candidates(r.GetCandidateNodes()),
			Explain:    r.GetExplain(),
		},
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// ScoreCall is a ScoreRequest in the engine's values.
type ScoreCall struct {
	Cluster *api.Cluster
	Pod     *api.Pod
	Options engine.ScoreOptions
}

// Score decodes a ScoreRequest. An error is an *Error.
func Score(r *stowagev1.ScoreRequest) (*ScoreCall, error) {
	var d decoder
	c := &ScoreCall{
		Cluster: d.wholeCluster(r.GetCluster()),
		Pod:     d.onePod(r.GetPod()),
		Options: engine.ScoreOptions{
			Profile:    d.profile(r.GetProfile()),
			Candidates: d.candidates(r.GetCandidateNodes()),
		},
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// PlaceCall is a PlaceRequest in the engine's values.
type PlaceCall struct {
	Cluster *api.Cluster
	Queue   []engine.Pending
	Options engine.PlaceOptions
}

// Place decodes a PlaceRequest. An error is an *Error.
func Place(r *stowagev1.PlaceRequest) (*PlaceCall, error) {
	var d decoder
	c := &PlaceCall{
		Cluster: d.wholeCluster(r.GetCluster()),
		Queue:   d.queue(r.GetQueue()),
		Options: engine.PlaceOptions{
			Profile:    d.profile(r.GetProfile()),
			Candidates: d.candidates(r.GetCandidateNodes()),
			Seed:       r.GetTieBreakSeed(),
			Explain:    r.GetExplain(),
		},
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// Problems returns what is wrong with a request of any RPC, nil if nothing is.
func Problems(request any) *Error {
	var err error
	switch r := request.(type) {
	case *stowagev1.FilterRequest:
		_, err = Filter(r)
	case *stowagev1.ScoreRequest:
		_, err = Score(r)
	case *stowagev1.PlaceRequest:
		_, err = Place(r)
	}
	var problems *Error
	errors.As(err, &problems)
	return problems
}
