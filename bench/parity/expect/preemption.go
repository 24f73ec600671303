package expect

import (
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// preemptAnswer converts a preemption, nil if there is none. filter is Filter's answer for the pod.
func preemptAnswer(p *oracle.Preemption, filter *stowagev1.FilterResponse) (*stowagev1.PreemptResponse, error) {
	out := &stowagev1.PreemptResponse{
		FeasibleNodes: filter.FeasibleNodes,
		Message:       filter.Message,
		InternalError: filter.InternalError,
	}
	if p == nil {
		return out, nil
	}
	var err error
	out.Preemption, err = preemptionOf(p)
	out.Message = p.Whole
	return out, err
}

func preemptionOf(p *oracle.Preemption) (*stowagev1.Preemption, error) {
	out := &stowagev1.Preemption{Message: p.Message, ClearsNomination: p.Clears}
	if len(p.Best) > 0 {
		out.BestNodes = &stowagev1.NodeList{Indexes: p.Best}
	}
	for _, c := range p.Candidates {
		candidate := &stowagev1.PreemptionCandidate{NodeIndex: c.Node, PdbViolations: uint64(c.Violations)}
		for _, v := range c.Victims {
			candidate.Victims = append(candidate.Victims, victim(&v))
		}
		out.Candidates = append(out.Candidates, candidate)
		if c.Node == p.Best[0] {
			out.Nominated = candidate
		}
	}
	var g groups
	for _, v := range p.Verdicts {
		if err := g.add(v.Node, v.Refusal, nil); err != nil {
			return nil, err
		}
	}
	out.Rejections = g.sorted()
	return out, nil
}

func victim(v *oracle.Victim) *stowagev1.PodReference {
	out := &stowagev1.PodReference{Namespace: v.Namespace, Name: v.Name, NodeIndex: new(v.Node), Count: 1}
	if v.Entry >= 0 {
		out.Origin = &stowagev1.PodReference_QueueIndex{QueueIndex: uint32(v.Entry)}
	}
	return out
}

// preemptingPlace is the answer of Place with what preemption finds for unplaced pods.
func preemptingPlace(place *stowagev1.PlaceResponse, placements []oracle.Placement) (*stowagev1.PlaceResponse, error) {
	out := proto.CloneOf(place)
	for i := range placements {
		p := placements[i].Preemption
		if p == nil {
			continue
		}
		var err error
		if out.Placements[i].Preemption, err = preemptionOf(p); err != nil {
			return nil, err
		}
		out.Placements[i].Message = p.Whole
	}
	return out, nil
}
