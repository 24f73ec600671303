// Package drain drains nodes: it cordons them, evicts their pods in rounds as PodDisruptionBudgets allow, and places the
// replacements that the pods' controllers create.
//
// Pods of a DaemonSet and mirror pods stay. A round evicts, in the order of the nodes and of the pods of a node, each pod that its
// budget allows. Then pending pods of earlier rounds and the replacements of this round are placed. A placed pod is ready before the
// next round, and its budget then allows one more eviction. The drain ends with the round after which no further pod can be evicted.
// If pods of that last round terminated meanwhile, pending pods are attempted once more before the end.
//
// The rules of eviction follow pkg/registry/core/pod/storage/eviction.go and kubectl drain (k8s.io/kubectl/pkg/drain/filters.go),
// v1.37.
package drain

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Options are the arguments of a drain.
type Options struct {
	// Nodes are the nodes to drain, ascending. Targets are the nodes that may receive pods.
	Nodes      []uint32
	Targets    nodeset.Set
	Seed       uint64
	FewestPods bool
	// Scheduler places the pods of a round as kube-scheduler's queue does.
	Scheduler bool
	// Terminating lets evicted pods terminate while the replacements of their round are placed. Otherwise evicted pods are gone by
	// then.
	Terminating bool
	// IgnoreBudgets evicts pods whatever their budgets allow.
	IgnoreBudgets bool
	Filters
	// Moves requests Drain.Moves.
	Moves bool
	// Steps is the step budget of Largest.
	Steps int
	// Scan evaluates every node for every pod. It is the reference implementation.
	Scan bool
	// Workers is the number of goroutines of Each, at least 1.
	Workers int
}

// plan is what the drains of a call share. It does not change.
type plan struct {
	Options
	base      *cluster.Cluster
	framework *decide.Framework
	fates     map[cluster.PodKind]*fate // of the pods on Nodes
	inOrder   []*fate                   // as the nodes have them first
	pending   []place.Pending
	groups    groups
	listed    int // budgets of all fates
	// heals are the budgets of pods that are not ready and come back, so that the budgets may allow more evictions than at first.
	heals map[int32]bool
}

// newPlan determines the fates of the pods of the nodes.
func newPlan(ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options) (*plan, error) {
	s := cluster.NewState(ctx, c)
	p := &plan{Options: *o, base: c, framework: f, fates: make(map[cluster.PodKind]*fate), heals: make(map[int32]bool)}
	for i, node := range o.Nodes {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for kind, pods := range c.KindsOn(node) {
			if p.fates[kind] == nil {
				if ctx.Err() != nil { // there may be many budgets
					return nil, ctx.Err()
				}
				p.fates[kind] = p.fateOf(s, kind)
				p.inOrder = append(p.inOrder, p.fates[kind])
			}
			if f := p.fates[kind]; f.entry >= 0 {
				p.pending[f.entry].Count += pods
			}
		}
	}
	p.groups = findGroups(ctx, s, p.pending)
	return p, ctx.Err()
}

// drainer drains nodes in a state of its own.
type drainer struct {
	*plan
	ctx   context.Context
	state *cluster.State
	// queue has an entry for each one of plan.pending. Its board stays from one drain to the next.
	queue *place.Queue
	cycle *gang.Cycle    // nil without groups
	used  []*place.Class // with a decision
	// budgets are the cluster's budgets in their current state, and spent the changes to them, in order.
	budgets []budget
	spent   []spending
	// origins are the pods that are or were placed, by the number of their entry in the state. The first ones are the entries of
	// plan.pending.
	origins []origin
	version int // number of changes to the state
}

// origin is what the state knows an entry of a queue by.
type origin struct {
	fate    *fate
	leaving bool   // the pods terminate
	placed  *batch // that a queue placed, nil for other pods
}

func (p *plan) newDrainer(ctx context.Context) (*drainer, error) {
	d := &drainer{plan: p, ctx: ctx, state: cluster.NewState(ctx, p.base)}
	budgets := p.base.Budgets()
	d.budgets = make([]budget, budgets.Len())
	for i := range d.budgets {
		b := budgets.At(int32(i))
		d.budgets[i] = budget{b, b.Evictions(), b.Missing}
	}
	d.origins = make([]origin, len(p.pending))
	for _, f := range p.inOrder {
		if f.entry >= 0 {
			d.origins[f.entry].fate = f
		}
	}
	var err error
	if !p.Scheduler {
		d.queue, err = place.New(ctx, p.framework, d.state, p.Targets, p.pending, place.Options{
			Seed: p.Seed, FewestPods: p.FewestPods, Scan: p.Scan,
		})
		if err != nil {
			return nil, err
		}
		for _, c := range d.queue.Classes {
			c.Decision = nil
		}
		if len(p.groups.list) > 0 {
			d.cycle = gang.NewCycle(d.queue, p.framework.Configured(), p.groups.list)
			d.cycle.Evicts = false
		}
	}
	return d, ctx.Err()
}

// point is what a drain can be undone to.
type point struct {
	mark    cluster.Mark
	spent   int
	origins int
}

func (d *drainer) point() point {
	return point{mark: d.state.Mark(), spent: len(d.spent), origins: len(d.origins)}
}

// undo undoes everything after a point.
func (d *drainer) undo(to point) {
	if d.queue != nil {
		d.queue.Undo(to.mark)
	} else {
		d.state.Undo(to.mark)
	}
	d.forgetDecisions()
	for i := len(d.spent) - 1; i >= to.spent; i-- {
		s := d.spent[i]
		d.budgets[s.budget].left -= s.left
		d.budgets[s.budget].missing -= s.missing
	}
	d.spent, d.origins = d.spent[:to.spent], d.origins[:to.origins]
	d.version++
}

// forgetDecisions makes the classes evaluate the nodes' taints again.
func (d *drainer) forgetDecisions() {
	for _, c := range d.used {
		c.Decision = nil
	}
	d.used = d.used[:0]
}

// Together drains all nodes at once.
func Together(ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options) (*verdict.Drain, error) {
	p, err := newPlan(ctx, f, c, o)
	if err != nil {
		return nil, err
	}
	d, err := p.newDrainer(ctx)
	if err != nil {
		return nil, err
	}
	return d.drain(o.Nodes, false)
}
