package preempt

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Choice is a candidate whose victims can be evicted.
type Choice struct {
	loss
	verdict.Candidate
}

func (s *search) choice(l *loss) *Choice {
	c := &Choice{loss: *l}
	c.victims = slices.Clone(l.victims)
	c.Candidate = *s.candidate(&c.loss)
	return c
}

// Compare orders choices as kube-scheduler does, the best first, then by node.
func (c *Choice) Compare(o *Choice) int {
	return cmp.Or(c.compare(&o.loss), cmp.Compare(c.node, o.node))
}

// EachVictim passes the victims to a function, the most important first. An entry may be passed in two parts.
func (c *Choice) EachVictim(use func(*VictimOn)) {
	for i := range c.victims {
		use(&c.victims[i])
	}
}

// Evict evicts the victims.
func (c *Choice) Evict(s *cluster.State) {
	c.EachVictim(func(v *VictimOn) {
		o := s.VictimOccupant(v.Node, &v.Victim)
		s.Evict(v.Node, &o)
	})
}

// Best returns the candidate that kube-scheduler nominates a pod to which has no feasible candidate; nil if there is none.
// Topology spread counts as in Filter.
func Best(ctx context.Context, d *decide.Decision, candidates nodeset.Set, rejections []verdict.Rejection) (*Choice, error) {
	var best *Choice
	_, err := Find(ctx, d, candidates, rejections, Options{RecountSpread: true, Each: func(c *Choice) {
		if best == nil || c.Compare(best) < 0 {
			best = c
		}
	}})
	return best, err
}

// With returns the candidate of a node if some pods must stay; nil if there is none then.
func With(
	ctx context.Context, d *decide.Decision, node uint32, stays map[Spot]bool, o Options,
) (found *Choice, err error) {
	o.All, o.Each = false, func(c *Choice) { found = c }
	s, err := newSearch(ctx, d, nodeset.Of(d.State.Len(), []uint32{node}), o)
	if err != nil {
		return nil, err
	}
	s.stays = stays
	return found, s.evaluate(ctx, node)
}
