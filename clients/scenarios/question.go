package scenarios

import (
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/stowage-scheduler/stowage/clients/cel"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Question is a step's request: exactly one of Place, Filter, Score, Preempt and ScaleDown is set.
type Question struct {
	Case     *Case
	Step     *Step
	Snapshot *kube.Snapshot
	Place    *stowagev1.PlaceRequest
	Filter   *stowagev1.FilterRequest
	Score    *stowagev1.ScoreRequest
	Preempt  *stowagev1.PreemptRequest

	ScaleDown *stowagev1.ScaleDownRequest
	Scalable  *kube.Scalable
}

// Paths are the step's manifests.
func (q *Question) Paths() []string {
	var out []string
	for _, f := range q.Step.Files {
		out = append(out, filepath.Join(q.Case.Dir, f))
	}
	return out
}

// profile returns the profile of a step, nil for kube-scheduler's.
func (s *Step) profile() (*stowagev1.Profile, error) {
	if s.Profile == nil {
		return nil, nil
	}
	profile := &stowagev1.Profile{}
	return profile, protojson.Unmarshal(s.Profile, profile)
}

// Ask builds a step's request from its manifests.
func Ask(c *Case, s *Step) (*Question, error) {
	q := &Question{Case: c, Step: s}
	r := manifest.NewReader(kube.Options{Selectors: cel.New()})
	for _, path := range q.Paths() {
		if err := r.ReadPath(path, nil); err != nil {
			return nil, err
		}
	}
	snapshot, err := r.Snapshot()
	if err != nil {
		return nil, err
	}
	if len(snapshot.Misreads) > 0 {
		return nil, snapshot.Misreads[0]
	}
	q.Snapshot = snapshot
	profile, err := s.profile()
	if err != nil {
		return nil, err
	}
	about := &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster}, Profile: profile, IncludeNodeNames: true,
	}
	switch {
	case s.Filter != nil:
		pods, err := snapshot.Pending(s.Filter.Pod)
		if err != nil {
			return nil, err
		}
		q.Filter = &stowagev1.FilterRequest{
			Context: about, Pod: pods[0].Pods.Pod, Explain: true,
			IncludeChanges: true, IncludePreemption: true,
		}
	case s.Score != nil:
		pods, err := snapshot.Pending(s.Score.Pod)
		if err != nil {
			return nil, err
		}
		q.Score = &stowagev1.ScoreRequest{
			Context: about, Pod: pods[0].Pods.Pod, IncludePluginScores: true,
		}
	case s.Preempt != nil:
		pods, err := snapshot.Pending(s.Preempt.Pod)
		if err != nil {
			return nil, err
		}
		q.Preempt = &stowagev1.PreemptRequest{
			Context: about, Pod: pods[0].Pods.Pod,
			Safe: &stowagev1.SafePreemptionOptions{}, AcrossNodes: &stowagev1.AcrossNodesOptions{},
		}
	case s.ScaleDown != nil:
		if q.Scalable, err = snapshot.Scalable(s.ScaleDown.Workload); err != nil {
			return nil, err
		}
		q.ScaleDown = snapshot.ScaleDownRequest(q.Scalable, s.ScaleDown.Replicas)
		q.ScaleDown.Context.Profile = profile
	default:
		if s.Joint {
			snapshot.PlaceRestJointly(0, 0)
		}
		q.Place = snapshot.PlaceRequest()
		q.Place.Context.Profile, q.Place.Explain, q.Place.IncludeChanges = profile, true, s.changes()
		q.Place.IncludePreemption = true
		if s.Queue {
			q.Place.QueueMode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
		}
	}
	return q, nil
}

// changes reports whether a step of placing expects changes that would place pods.
func (s *Step) changes() bool {
	for _, p := range s.Place {
		if p.Changes != nil {
			return true
		}
	}
	return false
}

// Answer is the response to a Question, of the same kind.
type Answer struct {
	Place  *stowagev1.PlaceResponse
	Filter *stowagev1.FilterResponse
	Score  *stowagev1.ScoreResponse

	Preempt   *stowagev1.PreemptResponse
	ScaleDown *stowagev1.ScaleDownResponse
}
