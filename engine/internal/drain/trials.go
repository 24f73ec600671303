package drain

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Trials drains sets of nodes of one cluster, each as if nothing had been drained before. Several goroutines may use it, at
// most as many as Options.Workers. All calls have the same context.
type Trials struct {
	plan *plan
	idle chan *drainer
	// undecided is set once a search for devices was not decided.
	undecided atomic.Bool
}

// Undecided reports whether a search for devices was not decided, so that sets may be drained that no drain could be.
func (t *Trials) Undecided() bool { return t.undecided.Load() }

// NewTrials returns drains of some of the nodes of the options.
func NewTrials(ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options) (*Trials, error) {
	p, err := newPlan(ctx, f, c, o)
	return &Trials{plan: p, idle: make(chan *drainer, max(1, o.Workers))}, err
}

// Kinds returns the number of kinds of pods on the nodes, and of PodDisruptionBudgets. A drainer looks at all of them.
func (t *Trials) Kinds() (pods, budgets int) { return len(t.plan.inOrder), t.plan.base.Budgets().Len() }

// drainer returns an idle drainer.
func (t *Trials) drainer(ctx context.Context) (*drainer, error) {
	select {
	case d := <-t.idle:
		return d, nil
	default:
		return t.plan.newDrainer(ctx)
	}
}

// Drain drains nodes, ascending, together, and reports whether pods came back to them. With probe it ends as soon as the
// outcome is not Drained, and lists nothing.
func (t *Trials) Drain(ctx context.Context, nodes []uint32, probe bool) (out *verdict.Drain, returned bool, err error) {
	d, err := t.drainer(ctx)
	if err != nil {
		return nil, false, err
	}
	before := d.point()
	if out, err = d.drain(nodes, probe); err != nil {
		return nil, false, err
	}
	if returned = d.returned(nodes); d.state.Undecided() != nil {
		t.undecided.Store(true)
	}
	d.undo(before)
	t.idle <- d
	return out, returned, nil
}

// returned reports whether pods that were placed are on any of some nodes, ascending.
func (d *drainer) returned(nodes []uint32) bool {
	for node := range d.state.PlacedSince(cluster.Mark{}) {
		if _, found := slices.BinarySearch(nodes, node); found {
			return true
		}
	}
	return false
}

// Apply drains nodes, ascending, together, and returns the cluster after that, without them. The drain ends well, without pods
// that come back, and preempts none.
func (t *Trials) Apply(ctx context.Context, nodes []uint32) (*verdict.Drain, *cluster.Cluster, error) {
	d, err := t.drainer(ctx)
	if err != nil {
		return nil, nil, err
	}
	before := d.point()
	out, err := d.drain(nodes, false)
	if err != nil {
		return nil, nil, err
	}
	arrivals := d.state.ArrivalsSince(before.mark, func(entry int) int { return d.origins[entry].fate.of.Group })
	d.undo(before)
	t.idle <- d
	after, err := t.plan.base.Moved(ctx, arrivals, nodes)
	return out, after, err
}

// Amounts are amounts of the resources that bound drains.
type Amounts = demand

// FreeOn returns what is free on a node of a cluster, nothing below 0.
func FreeOn(c *cluster.Cluster, node uint32) Amounts {
	return freeOn(c.Amounts(), node)
}

// Weights are what drains take from the nodes that stay.
type Weights struct {
	// Bounded reports whether Needs and Free bound what can be drained.
	Bounded bool
	Nodes   []Weight // by index in Options.Nodes
	Rest    Amounts  // free on the nodes that are not in Options.Nodes

	limits limits
}

// Weight is the weight of a node.
type Weight struct {
	Pods int // that have to leave
	// Fixed reports whether the node cannot be drained, whatever is drained before.
	Fixed bool
	// Needs is the least amount that the pods that come back take on other nodes. Free is the free amount on the node.
	Needs, Free Amounts
}

// Weigh returns the weights of the nodes. before are the weights in a cluster from which Apply derived this one, or nil. same
// returns the earlier weight of a node, by its index in Options.Nodes, if the pods of the node are the same; nil otherwise.
func (t *Trials) Weigh(ctx context.Context, before *Weights, same func(i int) *Weight) (*Weights, error) {
	d, err := t.drainer(ctx)
	if err != nil {
		return nil, err
	}
	s := search{drainer: d}
	if before != nil {
		s.limits = before.limits
	} else if s.limits, err = t.plan.limits(d); err != nil {
		return nil, err
	}
	out := &Weights{Bounded: s.limits.fit, Nodes: make([]Weight, len(s.Nodes)), limits: s.limits}
	next := 0
	for node := range uint32(s.base.Len()) {
		if node%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if next == len(s.Nodes) || s.Nodes[next] != node {
			for i, amount := range s.freeOn(node) {
				out.Rest[i] = saturating.Add(out.Rest[i], amount)
			}
			continue
		}
		if w := same(next); w != nil {
			out.Nodes[next] = *w
		} else {
			out.Nodes[next] = s.weighed(node)
		}
		next++
	}
	t.idle <- d
	return out, ctx.Err()
}

// weighed returns the weight of a node.
func (s *search) weighed(node uint32) Weight {
	w := Weight{Fixed: !s.mayDrain(node), Needs: s.needs(node), Free: s.freeOn(node)}
	for _, o := range s.state.Occupants(node) {
		if !s.fateOn(node, &o).stays {
			w.Pods += o.Count
		}
	}
	return w
}
