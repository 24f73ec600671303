package gang

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Probe runs the steps of a joint placement separately, for tests.
type Probe struct{ *joining }

// NewProbe returns a probe of one call of Jointly.
func NewProbe(ctx context.Context, f *decide.Framework, s *cluster.State, group []place.Pending, o JointOptions) Probe {
	p := Probe{newJoining(ctx, f, s, group, place.Preference(s.Names, o.Seed), o)}
	p.compile()
	return p
}

// Search runs the search alone, without placing the pods in order and without improvement.
func (p Probe) Search() (nodes []uint32, known bool, steps int) {
	spots, known := p.rules.Search(p.order, nil, p.effort)
	if spots != nil {
		nodes = p.nodesOf(spots)
	}
	return nodes, known, p.effort.Steps
}

// InOrder reports whether placing the pods one by one in some order gives a valid placement.
func (p Probe) InOrder(ctx context.Context) (bool, error) {
	err := p.inOrder(ctx)
	return p.best != nil, err
}

// HoldTogether reports whether the search finds a placement that satisfies the given rules.
func (p Probe) HoldTogether(rules []verdict.PodRule) bool {
	given := make([]bool, len(p.rules.Rules))
	for i, r := range p.rules.Rules {
		given[i] = !slices.Contains(rules, r)
	}
	spots, _ := p.rules.Search(p.order, given, p.effort)
	return spots != nil
}
