package compare

import (
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Nominations is the effect of a case's nominated pods.
type Nominations int

// Without nominated pods, with some that change no answer, and with some that do.
const (
	NoNominations Nominations = iota
	IdleNominations
	DecisiveNominations
)

// NominationsOf compares kube-scheduler's answers with its answers without nominations.
func NominationsOf(c *scenario.Case, answers *conformance.Answers) (Nominations, error) {
	without, nominated := c.WithoutNominations()
	if !nominated || c.Grouped() {
		return NoNominations, nil
	}
	release, err := oracle.Hold(c)
	if err != nil {
		return 0, err
	}
	defer release()
	s, err := oracle.New(without)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	others, err := expect.Of(without, s)
	if errors.As(err, new(*oracle.OverflowError)) {
		return DecisiveNominations, nil // another node is taken, without scoring it
	}
	if err != nil {
		return 0, err
	}
	if equalDecisions(answers, others) {
		return IdleNominations, nil
	}
	return DecisiveNominations, nil
}

// equalDecisions compares which nodes are feasible and taken, and what rejects the others.
func equalDecisions(a, b *conformance.Answers) bool {
	rejections := func(a, b []*stowagev1.Rejection) bool {
		return slices.EqualFunc(a, b, func(a, b *stowagev1.Rejection) bool { return proto.Equal(a, b) })
	}
	filters := slices.EqualFunc(a.Filter, b.Filter, func(a, b *stowagev1.FilterResponse) bool {
		return proto.Equal(a.FeasibleNodes, b.FeasibleNodes) && rejections(a.Rejections, b.Rejections)
	})
	return filters && slices.EqualFunc(a.Place.Placements, b.Place.Placements, func(a, b *stowagev1.Placement) bool {
		return proto.Equal(a.Nodes, b.Nodes) && rejections(a.Rejections, b.Rejections)
	})
}
