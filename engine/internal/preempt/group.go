package preempt

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Units are what a pod group may preempt: pods, and pod groups as a whole, on any nodes
// (pkg/scheduler/framework/preemption/podgrouppreemption.go, v1.37).
type Units struct {
	state *cluster.State
	list  []leaving // the most important first
}

// unit is pods that preemption evicts together, or equal pods that it evicts one by one.
type unit struct {
	pods     []VictimOn
	copies   int32 // equal pods; 1 for several pods
	priority int32
	grouped  bool
	started  int64
	placed   int // how many pods the request had assumed before; -1 if it has not assumed them
	order    int // by node, and by the order of AllVictims on it
	whole    *cluster.Membership
}

// leaving is a unit, and how many of its copies are evicted in the end.
type leaving struct {
	*unit
	gone int32
}

// VictimOn is victims on a node.
type VictimOn struct {
	Node uint32
	cluster.Victim
}

// Roster is the units of a cluster as it was stated, sorted once for all pod groups of a request. The zero value is empty, and is
// filled when it is needed.
type Roster struct {
	known  bool
	single []unit // the most important first
	whole  []unit // each of one pod, by node
}

// fill adds the units of some nodes, as a state has them, in the order of nodes. They are not sorted.
func (r *Roster) fill(ctx context.Context, s *cluster.State, nodes iter.Seq[uint32]) error {
	var victims []cluster.Victim
	looked := 0
	for n := range nodes {
		if looked++; looked%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		victims = s.AllVictims(victims[:0], n)
		for i := range victims {
			v := &victims[i]
			u := unitOf(s, n, v, int(n)<<32|i)
			if in := s.Membership(v); in != nil && in.All {
				u.whole = in
				r.whole = append(r.whole, u)
			} else {
				r.single = append(r.single, u)
			}
		}
	}
	return ctx.Err()
}

// unitOf returns victims of a node that leave one by one.
func unitOf(s *cluster.State, node uint32, v *cluster.Victim, order int) unit {
	u := unit{
		pods: []VictimOn{{node, *v}}, copies: v.Count, priority: v.Priority, grouped: s.Membership(v) != nil, started: v.Started(), placed: -1,
		order: order,
	}
	if at, assumed := v.Assumed(); assumed {
		u.placed = at
	}
	return u
}

// Units returns the units with a priority below a given one, as a state has them that differs from the cluster in pods that the
// request assumed and evicted.
func (r *Roster) Units(ctx context.Context, s *cluster.State, below int32) (*Units, error) {
	if !r.known {
		stated := s.Original(ctx)
		filled := Roster{known: true}
		if err := filled.fill(ctx, stated, nodeset.Full(s.Len()).All()); err != nil {
			return nil, err
		}
		slices.SortFunc(filled.single, func(a, b unit) int { return compareUnits(&a, &b) })
		*r = filled
	}
	touched, now := s.Touched(), Roster{}
	if err := now.fill(ctx, s, touched.All()); err != nil {
		return nil, err
	}
	now.single = append(now.single, together(r.whole, now.whole, touched)...)
	slices.SortFunc(now.single, func(a, b unit) int { return compareUnits(&a, &b) })
	all := &Units{state: s}
	lower := func(units []unit) []unit {
		first, _ := slices.BinarySearchFunc(units, below, func(u unit, below int32) int {
			if u.priority >= below {
				return -1
			}
			return 1
		})
		return units[first:]
	}
	changed := lower(now.single)
	for unchanged := lower(r.single); len(unchanged) > 0; unchanged = unchanged[1:] {
		u := &unchanged[0]
		if touched.Has(u.pods[0].Node) {
			continue
		}
		for len(changed) > 0 && compareUnits(&changed[0], u) < 0 {
			all.list = append(all.list, leaving{unit: &changed[0]})
			changed = changed[1:]
		}
		all.list = append(all.list, leaving{unit: u})
	}
	for i := range changed {
		all.list = append(all.list, leaving{unit: &changed[i]})
	}
	return all, ctx.Err()
}

// together returns the pod groups that leave as a whole, of pods on nodes that the request has not touched, and on others.
func together(stated, now []unit, touched nodeset.Set) (groups []unit) {
	var pods []unit
	for i := range stated {
		if !touched.Has(stated[i].pods[0].Node) {
			pods = append(pods, stated[i])
		}
	}
	pods = append(pods, now...)
	slices.SortFunc(pods, func(a, b unit) int { return cmp.Compare(a.order, b.order) })
	index := make(map[*cluster.Membership]int)
	for _, u := range pods {
		at, known := index[u.whole]
		if !known {
			index[u.whole] = len(groups)
			u.pods, u.copies = slices.Clip(u.pods), 1
			groups = append(groups, u)
			continue
		}
		group := &groups[at]
		group.pods = append(group.pods, u.pods...)
		group.priority, group.started = max(group.priority, u.priority), min(group.started, u.started)
		group.placed = min(group.placed, u.placed)
	}
	return groups
}

// compareUnits orders units, the most important first (pkg/scheduler/framework/preemption/util.go MoreImportantVictim, v1.37),
// then the one that was placed first, then the one that is found first.
func compareUnits(a, b *unit) int {
	rank := func(u *unit) int {
		if u.grouped {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(rank(b), rank(a)), cmp.Compare(b.size(), a.size()),
		cmp.Compare(a.started, b.started), cmp.Compare(a.placed, b.placed), cmp.Compare(a.order, b.order))
}

// size is the number of pods that leave together.
func (u *unit) size() int {
	if u.whole == nil {
		return 1
	}
	n := 0
	for i := range u.pods {
		n += int(u.pods[i].Count)
	}
	return n
}

// each returns how many pods of an entry come or leave at once.
func (u *unit) each(v *VictimOn) int64 {
	if u.whole == nil {
		return 1
	}
	return int64(v.Count)
}

// Empty reports whether there are no units.
func (all *Units) Empty() bool { return len(all.list) == 0 }

// Evict evicts all units from the state.
func (all *Units) Evict(ctx context.Context) error {
	on := make(map[uint32][]cluster.Victim)
	for i := range all.list {
		for j := range all.list[i].pods {
			v := &all.list[i].pods[j]
			on[v.Node] = append(on[v.Node], v.Victim)
		}
	}
	for n := range uint32(all.state.Len()) {
		victims := on[n]
		if len(victims) == 0 {
			continue
		}
		all.state.LeavePorts(n, victims)
		for i := range victims {
			if i%16 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			all.state.EvictVictim(n, &victims[i])
		}
	}
	return ctx.Err()
}

// Assigned is a pod of the group with its node.
type Assigned struct {
	*decide.Decision
	Name  string
	Node  uint32
	Entry int
}

// maxTracked bounds the numbers of 8 bytes that the rules of all assigned pods take.
const maxTracked = 1 << 26

// Reprieve brings those units back with which all assigned pods still fit, and returns the others. All units are evicted, and
// none of the assigned pods is assumed. The result is nil if the rules of the assigned pods count too much.
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

// bringBack brings units back, first those that violate budgets, and returns how many pods that stay away do.
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

// Gone returns the victims that Reprieve has not brought back, the most important first.
func (all *Units) Gone() []VictimOn {
	var gone []VictimOn
	for i := range all.list {
		u := &all.list[i]
		if u.gone == 0 {
			continue
		}
		for _, v := range u.pods {
			if u.whole == nil {
				v.Count = u.gone
			}
			gone = append(gone, v)
		}
	}
	return gone
}

// report adds the units that are gone.
func (all *Units) report(out *verdict.GroupPreemption) {
	for i := range all.list {
		u := &all.list[i]
		out.Count += int(u.gone) * u.size()
		if u.grouped {
			out.Disruptions += int(u.gone)
		}
	}
	for _, v := range all.Gone() {
		out.Victims = append(out.Victims, all.state.VictimReference(v.Node, &v.Victim))
	}
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

// reprieving compiles the rules of the assigned pods, each with those before it in place, as in the scheduling cycle that
// assigned them.
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

// reopen makes a pass be asked again.
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

// allows reports whether all passes allow their nodes. If one does not, those that were touched are asked again next time.
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
