package drain

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Largest drains as many of the nodes as it can, one after another, and passes the outcomes to use in that order. Each drain ends
// with the status Drained before the next one begins, and its node stays cordoned.
//
// It first drains nodes greedily, and then searches all orders, unless a bound proves that none is longer. A step is a drain that
// is tried, a pod that it may have to evict, or a node that a bound looks at after the first one.
func Largest(
	ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options, use func(*verdict.Drain) error,
) (*verdict.DrainSummary, error) {
	p, err := newPlan(ctx, f, c, o)
	if err != nil {
		return nil, err
	}
	d, err := p.newDrainer(ctx)
	if err != nil {
		return nil, err
	}
	s := search{drainer: d}
	if s.limits, err = p.limits(d); err != nil {
		return nil, err
	}
	root := d.point()
	s.begin()
	bound := s.bound(0)
	if err := s.greedy(); err != nil {
		return nil, err
	}
	if d.undo(root); len(s.best) < bound && !s.cut {
		if err := s.try(0); err != nil {
			return nil, err
		}
		d.undo(root)
	}
	out := &verdict.DrainSummary{Drained: len(s.best), Total: len(o.Nodes), UpperBound: bound, Steps: s.steps}
	if out.Proven = len(s.best) == bound || !s.cut && !s.undecided; out.Proven {
		out.UpperBound = len(s.best)
	}
	for _, node := range s.best {
		result, err := d.drain([]uint32{node}, false)
		if err != nil {
			return nil, err
		}
		if err := use(result); err != nil {
			return nil, err
		}
	}
	return out, ctx.Err()
}

// search is the search for the longest order.
type search struct {
	*drainer
	limits limits

	nodes   []uint32 // that may be drained, in the order in which they are tried
	drained map[uint32]bool
	path    []uint32
	best    []uint32
	steps   int
	cut     bool // whether the budget of steps ended it
	// undecided is set once a search for devices was not decided in a drain.
	undecided bool
}

// limits are the resources that bound the number of drained nodes.
type limits struct {
	// fit is set if pods' requests have to fit, and only drains free resources on nodes.
	fit bool
	// demands is the demand of a fate's pods on nodes that are not drained, by resource; nil if the pods may stay on drained nodes.
	demands map[cluster.PodKind]*demand
}

// resources are the lanes, and room for pods.
const resources = cluster.Lanes

type demand [resources]int64

// limits returns the limits of the search.
func (p *plan) limits(d *drainer) (limits, error) {
	l := limits{demands: make(map[cluster.PodKind]*demand)}
	cordons := false // whether any filter keeps pods off cordoned nodes
	for _, of := range p.framework.Filters {
		l.fit = l.fit || of.Name == verdict.NodeResourcesFit
		cordons = cordons || of.Name == verdict.NodeUnschedulable || of.Name == verdict.TaintToleration
	}
	l.fit = l.fit && !p.Scheduler
	for i, f := range p.inOrder {
		if i%64 == 0 && d.ctx.Err() != nil {
			return limits{}, d.ctx.Err()
		}
		if f.entry < 0 || !l.fit {
			continue
		}
		pod := d.state.Compile(f.created.Pod)
		if pod.Frees() {
			l.fit = false
			break
		}
		profile := decide.New(p.framework, d.state, pod).Profile
		if !cordons || tainttoleration.Tolerate(pod.Spec().Tolerations, &cluster.UnschedulableTaint, profile) {
			continue
		}
		a := demand{cluster.Pods: 1}
		copy(a[:], pod.Usage().Amounts[:])
		l.demands[f.of] = &a
	}
	return l, d.ctx.Err()
}

// begin finds the nodes that may be drained, and their order: nodes whose pods take the smallest share of the free resources come
// first.
func (s *search) begin() {
	s.drained = make(map[uint32]bool)
	for _, node := range s.Nodes {
		if s.Scheduler || s.mayDrain(node) {
			s.nodes = append(s.nodes, node)
		}
	}
	free := s.free()
	share := make(map[uint32]float64, len(s.nodes))
	for _, node := range s.nodes {
		w := s.weight(node)
		for i, total := range free {
			if total > 0 {
				share[node] = max(share[node], float64(w[i])/float64(total))
			}
		}
	}
	slices.SortStableFunc(s.nodes, func(a, b uint32) int { return cmp.Compare(share[a], share[b]) })
}

// mayDrain reports whether a node can ever be drained: pods that cannot be evicted, and pods with an unknown replacement,
// stay so whatever is drained before. So does a budget that allows nothing.
func (s *search) mayDrain(node uint32) bool {
	for kind := range s.base.KindsOn(node) {
		f := s.fates[kind]
		readiness := s.state.Group(kind.Group).Readiness
		if f.refusal(readiness) != 0 || f.created.Unknown || s.never(f, readiness) {
			return false
		}
	}
	return true
}

// never reports whether a budget never allows pods to be evicted.
func (s *search) never(f *fate, r api.Readiness) bool {
	return f.budget >= 0 && !unhealthy(r) && s.base.Budgets().At(f.budget).Evictions() == 0 && !s.heals[f.budget]
}

// free returns what is free on all targets that are not drained.
func (s *search) free() (sum demand) {
	for node := range s.Targets.All() {
		if s.drained[node] {
			continue
		}
		for i, amount := range s.freeOn(node) {
			sum[i] = saturating.Add(sum[i], amount)
		}
	}
	return sum
}

// freeOn returns what is free on a node, nothing below 0.
func (d *drainer) freeOn(node uint32) demand { return freeOn(d.state.Resources, node) }

func freeOn(r *cluster.Resources, node uint32) (free demand) {
	w := r.Words()[node/cluster.PageNodes]
	for lane := range free {
		free[lane] = max(0, saturating.Sub(w.At(node, cluster.Allocatable(lane)), w.At(node, cluster.Requested(lane))))
	}
	return free
}

// weight returns how much less is free for others once a node is drained: what its pods need elsewhere, and what is free on it.
func (s *search) weight(node uint32) (sum demand) {
	if s.Targets.Has(node) {
		sum = s.freeOn(node)
	}
	for i, amount := range s.needs(node) {
		sum[i] = saturating.Add(sum[i], amount)
	}
	return sum
}

// needs returns what the pods of a node need elsewhere.
func (s *search) needs(node uint32) (sum demand) {
	for _, o := range s.state.Occupants(node) {
		a := s.limits.demands[s.fateOn(node, &o).of]
		if a == nil {
			continue
		}
		for i, amount := range a {
			sum[i] = saturating.Add(sum[i], saturating.Mul(amount, int64(o.Count)))
		}
	}
	return sum
}

// bound returns an upper bound of the total number of drained nodes, once a number of nodes are drained. For each resource, it
// counts the nodes with the smallest demand until the free amount is used up.
func (s *search) bound(drained int) int {
	all := len(s.nodes)
	if !s.limits.fit {
		return all
	}
	free := s.free()
	var weights [resources][]int64
	for i, node := range s.nodes {
		if i%64 == 0 && s.ctx.Err() != nil {
			break
		}
		if s.drained[node] {
			continue
		}
		for i, w := range s.weight(node) {
			weights[i] = append(weights[i], w)
		}
	}
	for i, total := range free {
		if total == math.MaxInt64 { // it may be more
			continue
		}
		slices.Sort(weights[i])
		count, used := drained, int64(0)
		for _, w := range weights[i] {
			if used = saturating.Add(used, w); used > total {
				break
			}
			count++
		}
		all = min(all, count)
	}
	return all
}

// maxMoved bounds the pods that are placed one drain after the other, which the state remembers.
const maxMoved = 1 << 23

// drainNext drains a node if its drain ends well, and reports whether it did. Otherwise everything is as it was.
func (s *search) drainNext(node uint32) (drained bool, err error) {
	cost := 1
	for _, o := range s.state.Occupants(node) {
		if !s.fateOn(node, &o).stays {
			cost += o.Count
		}
	}
	if s.steps+cost > s.Steps || s.state.Assumed()+cost > maxMoved {
		s.cut = true
		return false, nil
	}
	s.steps += cost
	before := s.point()
	out, err := s.drain([]uint32{node}, true)
	if err != nil {
		return false, err
	}
	s.undecided = s.undecided || s.state.Undecided() != nil
	if out.Status != verdict.Drained {
		s.undo(before)
		return false, nil
	}
	s.drained[node] = true
	s.path = append(s.path, node)
	if len(s.path) > len(s.best) {
		s.best = slices.Clone(s.path)
	}
	return true, nil
}

// greedy drains the nodes in their order, again and again until none is left that can be drained.
func (s *search) greedy() error {
	for more := true; more && !s.cut; {
		more = false
		for _, node := range s.nodes {
			if s.drained[node] || s.cut {
				continue
			}
			drained, err := s.drainNext(node)
			if err != nil {
				return err
			}
			more = more || drained
		}
	}
	clear(s.drained)
	s.path = s.path[:0]
	return nil
}

// try drains each node that is left as the next one, and then others.
func (s *search) try(depth int) error {
	cost := len(s.nodes) - depth
	if s.steps+cost > s.Steps {
		s.cut = true
		return nil
	}
	s.steps += cost
	bound := s.bound(depth)
	if bound <= len(s.best) {
		return nil
	}
	for _, node := range s.nodes {
		if s.drained[node] {
			continue
		}
		before := s.point()
		drained, err := s.drainNext(node)
		if err != nil {
			return err
		}
		if !drained {
			if s.cut {
				return nil
			}
			continue
		}
		err = s.try(depth + 1)
		if s.undo(before); err != nil {
			return err
		}
		s.path = s.path[:depth]
		if delete(s.drained, node); s.cut || bound <= len(s.best) {
			return nil
		}
	}
	return nil
}
