package preempt

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Assigned is a pod of the group with its node.
type Assigned struct {
	*decide.Decision
	Name  string
	Node  uint32
	Entry int
}

// maxTracked bounds the numbers of 8 bytes that the rules of all assigned pods take.
const maxTracked = 1 << 26

// Reprieve brings back the units beside which all assigned pods still fit, and returns the others. All units are evicted, and none
// of the assigned pods is assumed. The result is nil if the rules of the assigned pods count too much.
func (all *Units) Reprieve(ctx context.Context, assigned []Assigned) (*verdict.GroupPreemption, error) {
	r, err := all.reprieving(ctx, assigned)
	if err != nil || r == nil {
		return nil, err
	}
	_, groups := all.state.Added()
	budgets := newBudgets(all.state, groups)
	out := &verdict.GroupPreemption{}
	if out.Violations, err = all.bringBack(ctx, r, &budgets); err != nil {
		return nil, err
	}
	all.report(out)
	return out, ctx.Err()
}

// bringBack brings units back, units that violate budgets first. It returns the number of violating pods that stay away.
func (all *Units) bringBack(ctx context.Context, r *reprieving, budgets *budgets) (violations int, err error) {
	type part struct {
		*leaving
		copies int32
	}
	var within []part // of no budget's violation
	for i := range all.list {
		u := &all.list[i]
		if u.whole == nil {
			n, err := all.spend(ctx, budgets, &u.pods[0])
			if err != nil {
				return 0, err
			}
			if n > 0 {
				within = append(within, part{u, n})
			}
			if n < u.copies {
				gone, err := r.reprieve(ctx, u, u.copies-n)
				if err != nil {
					return 0, err
				}
				violations += int(gone)
			}
			continue
		}
		violating := int32(0)
		for j := range u.pods {
			n, err := all.spend(ctx, budgets, &u.pods[j])
			if err != nil {
				return 0, err
			}
			violating += u.pods[j].Count - n
		}
		if violating == 0 {
			within = append(within, part{u, 1})
			continue
		}
		gone, err := r.reprieve(ctx, u, 1)
		if err != nil {
			return 0, err
		}
		violations += int(gone * violating)
	}
	for _, p := range within {
		if _, err := r.reprieve(ctx, p.leaving, p.copies); err != nil {
			return 0, err
		}
	}
	return violations, ctx.Err()
}

func (all *Units) spend(ctx context.Context, b *budgets, v *VictimOn) (within int32, err error) {
	if b.of == nil {
		return v.Count, nil
	}
	return b.spend(ctx, v.Node, &v.Victim)
}

// reprieving brings units back one after the other.
type reprieving struct {
	state  *cluster.State
	passes []groupPass
	on     map[uint32][]int32    // passes by node
	counts map[int32][]countedIn // by group of pods: where they count
	kept   int                   // numbers of 8 bytes in counts
	steps  int

	touched []int32 // passes in which the pods count that came last
	open    []int32 // passes that are open, and some that were
}

// groupPass is one of the two decisions about an assigned pod, with nominated pods and without them.
type groupPass struct {
	*rule.Tracked
	// open is set unless it is known to allow its node. touched is set if the pass is in reprieving.touched.
	open, touched bool
}

// countedIn is a pass with what a pod of a group counts in it.
type countedIn struct {
	pass    int32
	weights rule.Vector
	spreads bool
}

// reprieving compiles the rules of the assigned pods, each with the earlier ones in place, as in the scheduling cycle that assigned
// them.
func (all *Units) reprieving(ctx context.Context, assigned []Assigned) (*reprieving, error) {
	s := all.state
	r := &reprieving{state: s, on: make(map[uint32][]int32), counts: make(map[int32][]countedIn)}
	var coming []cluster.Nominated // one of each group with anti-affinity
	seen := make(map[int32]bool)
	for i := range all.list {
		for j := range all.list[i].pods {
			group := all.list[i].pods[j].Group
			if g := s.Group(int(group)); !seen[group] && len(g.AntiAffinity) > 0 {
				coming = append(coming, cluster.Nominated{Group: g})
			}
			seen[group] = true
		}
	}
	numbers := 0
	add := func(a *Assigned, nominated []cluster.Nominated) {
		rules := a.Rules()
		for _, p := range a.Filters {
			if p.WithNominated != nil {
				rules = cmp.Or(p.WithNominated(a.Cycle, rules, slices.Concat(coming, nominated)), rules)
			}
		}
		t := rules.Track(a.Node, nominated, rule.Tracking{})
		numbers += t.Numbers()
		r.on[a.Node] = append(r.on[a.Node], int32(len(r.passes)))
		r.passes = append(r.passes, groupPass{Tracked: t})
	}
	mark := s.Mark()
	defer s.Undo(mark)
	// In the cycle, a pod that is assumed is nominated no longer. Afterwards it is.
	nominated := make([][]cluster.Nominated, len(assigned))
	if s.AnyNominated() || s.AnyNominations() {
		for i := range assigned {
			a := &assigned[i]
			nominated[i] = a.NominatedOn(nodeset.Of(s.Len(), []uint32{a.Node}))[a.Node]
		}
	}
	for i := range assigned {
		a := &assigned[i]
		if len(nominated[i]) > 0 {
			add(a, nominated[i])
		}
		add(a, nil)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if numbers > maxTracked {
			return nil, nil
		}
		s.Assume(a.Pod, a.Name, a.Node, a.Entry)
	}
	for i := range r.passes {
		r.reopen(int32(i))
	}
	return r, nil
}

func (r *reprieving) ended(ctx context.Context) error {
	if r.steps++; r.steps%256 == 0 {
		return ctx.Err()
	}
	return nil
}

// reprieve brings a number of copies of a unit back, as far as that is possible, and returns how many stay away.
func (r *reprieving) reprieve(ctx context.Context, u *leaving, copies int32) (gone int32, err error) {
	if len(u.pods) == 1 && len(r.on[u.pods[0].Node]) == 0 && len(r.countedIn(u.pods[0].Group)) == 0 && len(r.open) == 0 {
		return 0, ctx.Err() // no decision depends on it
	}
	for ; copies > 0; copies-- {
		if err := r.ended(ctx); err != nil {
			return gone, err
		}
		spreads, err := r.come(ctx, u.unit, 1)
		if err != nil {
			return gone, err
		}
		if r.allows() {
			continue
		}
		if _, err := r.come(ctx, u.unit, -1); err != nil {
			return gone, err
		}
		gone++
		if !spreads { // nothing has changed
			gone += copies - 1
			break
		}
		for _, pass := range r.touched {
			r.reopen(pass)
		}
	}
	u.gone += gone
	return gone, nil
}

// reopen marks a pass for another check.
func (r *reprieving) reopen(pass int32) {
	if p := &r.passes[pass]; !p.open {
		p.open = true
		r.open = append(r.open, pass)
	}
}

func (r *reprieving) touch(pass int32) {
	if p := &r.passes[pass]; !p.touched {
		p.touched = true
		r.touched = append(r.touched, pass)
	}
}

// come lets the pods of a unit come, or leave with a sign of -1, and reports whether a spread rule counts any of them.
func (r *reprieving) come(ctx context.Context, u *unit, sign int64) (spreads bool, err error) {
	for _, pass := range r.touched {
		r.passes[pass].touched = false
	}
	r.touched = r.touched[:0]
	for i := range u.pods {
		v := &u.pods[i]
		if err := r.ended(ctx); err != nil {
			return spreads, err
		}
		for _, pass := range r.on[v.Node] {
			r.passes[pass].Occupy(v.Usage, sign*u.each(v))
			r.touch(pass)
		}
		for _, in := range r.countedIn(v.Group) {
			for range u.each(v) { // one by one, as kube-scheduler counts them
				if err := r.ended(ctx); err != nil {
					return spreads, err
				}
				r.passes[in.pass].Add(v.Node, in.weights, sign)
			}
			spreads = spreads || in.spreads
			r.touch(in.pass)
		}
	}
	return spreads, nil
}

// allows reports whether all passes allow their nodes. Touched passes are checked again. If one rejects its node, it and the
// remaining ones stay open for the next call.
func (r *reprieving) allows() bool {
	for _, pass := range r.touched {
		r.reopen(pass)
	}
	for len(r.open) > 0 {
		last := len(r.open) - 1
		p := &r.passes[r.open[last]]
		if !p.Allows() {
			return false
		}
		p.open = false
		r.open = r.open[:last]
	}
	return true
}

// maxCountedIn bounds the numbers of 8 bytes that are kept about where the pods of groups count. A group and a pass where its
// pods count take some in addition to their weights.
const (
	maxCountedIn     = 1 << 22
	numbersOfGroup   = 8
	numbersOfCounted = 5
)

// countedIn returns the passes in which the pods of a group count.
func (r *reprieving) countedIn(group int32) []countedIn {
	known, found := r.counts[group]
	if found {
		return known
	}
	g, numbers := r.state.Group(int(group)), numbersOfGroup
	for i := range r.passes {
		weights := r.passes[i].Weights(g)
		if weights == nil {
			continue
		}
		if last := len(known) - 1; last >= 0 && slices.Equal(known[last].weights, weights) {
			weights = known[last].weights // most passes are of equal pods
		} else {
			numbers += cap(weights)
		}
		known = append(known, countedIn{int32(i), weights, r.passes[i].Spreads(weights)})
	}
	numbers += numbersOfCounted * cap(known)
	if r.kept += numbers; r.kept > maxCountedIn {
		clear(r.counts)
		r.kept = numbers
	}
	r.counts[group] = known
	return known
}
