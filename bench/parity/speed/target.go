package speed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The methods that are measured.
const (
	filterMethod = stowagev1.PlacementService_Filter_FullMethodName
	scoreMethod  = stowagev1.PlacementService_Score_FullMethodName
	putMethod    = stowagev1.PlacementService_PutSnapshot_FullMethodName
)

// target is a cluster that questions are about: what each request begins with. Messages that are put one after the other
// are merged, so that a request is a target and a pod.
type target struct {
	filter, score []byte
	// address is empty if the cluster goes with each request.
	address string
}

func inline(c *stowagev1.Cluster) (*target, error) {
	return on(&stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}})
}

func on(c *stowagev1.DecisionContext) (*target, error) {
	filter, err := proto.Marshal(&stowagev1.FilterRequest{Context: c})
	if err != nil {
		return nil, err
	}
	score, err := proto.Marshal(&stowagev1.ScoreRequest{Context: c})
	return &target{filter: filter, score: score, address: c.GetSnapshot().GetAddress()}, err
}

// context refers to the cluster by its address.
func (t *target) context() *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: t.address}},
	}
}

func byReference(address string, delta *stowagev1.ClusterDelta) (*target, error) {
	reference := &stowagev1.SnapshotReference{Address: address, Delta: delta}
	return on(&stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: reference}})
}

func (t *target) filterRequest(pod *stowagev1.Pod, candidates ...uint32) ([]byte, error) {
	rest := &stowagev1.FilterRequest{Pod: pod}
	if candidates != nil {
		rest.CandidateNodes = &stowagev1.CandidateNodes{Indexes: candidates}
	}
	return proto.MarshalOptions{}.MarshalAppend(slices.Clone(t.filter), rest)
}

func (t *target) scoreRequest(pod *stowagev1.Pod) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(slices.Clone(t.score), &stowagev1.ScoreRequest{Pod: pod})
}

// bothRequest asks for what Filter and Score say in one call.
func (t *target) bothRequest(pod *stowagev1.Pod) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(slices.Clone(t.score), &stowagev1.ScoreRequest{Pod: pod, IncludeRejections: true})
}

// stowage is the server with its client.
type stowage struct{ client *loopback.Client }

func (s stowage) filter(request []byte) ([]byte, error) {
	return s.client.Call(context.Background(), filterMethod, request)
}

func (s stowage) score(request []byte) ([]byte, error) {
	return s.client.Call(context.Background(), scoreMethod, request)
}

// stream sends a stream of PutSnapshot.
func (s stowage) stream(messages [][]byte) ([]byte, error) {
	return s.client.Stream(context.Background(), putMethod, messages)
}

// put sends a stream of PutSnapshot and returns how to ask about what it put.
func (s stowage) put(messages [][]byte) (*target, error) {
	answer, err := s.stream(messages)
	if err != nil {
		return nil, err
	}
	var response stowagev1.PutSnapshotResponse
	if err := proto.Unmarshal(answer, &response); err != nil {
		return nil, err
	}
	return byReference(response.Address, nil)
}

// target puts a cluster, given without the end of the stream.
func (s stowage) target(messages [][]byte) (*target, error) {
	messages, err := ended(messages, 0)
	if err != nil {
		return nil, err
	}
	return s.put(messages)
}

// decision is the decision in the answers: the nodes that can take the pod, and the best of them.
type decision struct {
	feasible, best []uint32
	// filter and score are the answers. both is the answer of one call for both.
	filter, score, both []byte
}

func (d decision) differs(other decision) error {
	if !slices.Equal(d.feasible, other.feasible) {
		return fmt.Errorf("%d nodes can take the pod, not %d, or others", len(d.feasible), len(other.feasible))
	}
	if !slices.Equal(d.best, other.best) {
		return fmt.Errorf("the best nodes are %v, not %v", d.best, other.best)
	}
	return nil
}

// feasible are the nodes of a FilterResponse.
func feasible(answer []byte) ([]uint32, error) {
	var r stowagev1.FilterResponse
	err := proto.Unmarshal(answer, &r)
	return r.GetFeasibleNodes().GetIndexes(), err
}

// decide asks Filter, Score, and both in one call.
func (s stowage) decide(t *target, pod *stowagev1.Pod) (decision, error) {
	request, err := t.filterRequest(pod)
	if err != nil {
		return decision{}, err
	}
	var d decision
	if d.filter, err = s.filter(request); err != nil {
		return d, err
	}
	if d.feasible, err = feasible(d.filter); err != nil {
		return d, err
	}
	if request, err = t.scoreRequest(pod); err != nil {
		return d, err
	}
	if d.score, err = s.score(request); err != nil {
		return d, err
	}
	if request, err = t.bothRequest(pod); err != nil {
		return d, err
	}
	if d.both, err = s.score(request); err != nil {
		return d, err
	}
	var filter stowagev1.FilterResponse
	var score, both stowagev1.ScoreResponse
	if err := errors.Join(proto.Unmarshal(d.filter, &filter), proto.Unmarshal(d.score, &score), proto.Unmarshal(d.both, &both)); err != nil {
		return d, err
	}
	score.Rejections = filter.Rejections
	if !proto.Equal(&score, &both) {
		return d, errors.New("one call says other than Filter and Score")
	}
	d.best = score.GetBestNodes().GetIndexes()
	return d, nil
}
