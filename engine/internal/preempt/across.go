package preempt

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Across finds victims of lower priority on any nodes that make one candidate feasible: those with the smallest cost. It ends
// after a number of steps.
//
// For each candidate it asks the rules that reject it which pods have to go. Any set of victims that makes the node feasible
// has at least one pod of each answer, so that no other sets have to be looked at. A step is one such question.
func Across(ctx context.Context, d *decide.Decision, candidates nodeset.Set, steps int) (*verdict.AcrossNodes, error) {
	return newAcross(ctx, d, candidates, steps).search(candidates)
}

func newAcross(ctx context.Context, d *decide.Decision, candidates nodeset.Set, steps int) *across {
	d.State.OwnResources()
	_, groups := d.State.Added()
	a := &across{
		Decision: d, ctx: ctx, limit: steps, rules: d.Rules(), nominated: d.NominatedOn(candidates), proven: true,
		cost:  cost{highest: math.MinInt32},
		index: make(map[Spot]int), lists: make(map[listKey][]int), charged: make(map[int32]int64),
		budgets: newBudgets(d.State, groups), weighted: make(map[int32][]int64),
	}
	a.rules.Count()
	return a
}

func (a *across) search(candidates nodeset.Set) (*verdict.AcrossNodes, error) {
	if err := a.findItems(); err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	var key []byte
	for n := range a.Static(candidates).All() {
		if a.steps >= a.limit || a.kept > maxKept {
			a.proven = false
			break
		}
		if key = a.appendKey(key[:0], n); len(key) > 0 {
			if seen[string(key)] {
				continue
			}
			seen[string(key)] = true
		}
		a.node = n
		if err := a.findOnNode(); err != nil {
			return nil, err
		}
		if err := a.descend(); err != nil {
			return nil, err
		}
	}
	out := &verdict.AcrossNodes{Candidate: a.found, Proven: a.proven, Steps: min(a.steps, a.limit)}
	return out, a.ctx.Err()
}

// maxTaken bounds the depth of the search: the victims that are taken one by one.
const maxTaken = 4096

// across is a branch and bound search over sets of victims.
type across struct {
	*decide.Decision
	ctx       context.Context
	rules     *rule.Set
	nominated map[uint32][]cluster.Nominated

	items    []item
	budgets  budgets
	kept     int               // numbers of budgets that the items have, those that they share once; beyond maxKept the search ends
	weighted map[int32][]int64 // weights by group, if there are any
	index    map[Spot]int
	lists    map[listKey][]int // items that a rule counts in a domain, in the order in which they are tried
	local    []int             // items on the current node
	node     uint32

	taken   []taking
	cost    cost
	charged map[int32]int64 // disruptions by budget

	best  cost
	found *verdict.Candidate

	steps, limit int
	looked       int // at budgets and items since the last look at the context
	proven       bool
}

// ended returns the context's error once in a while, by the number of budgets and items that are looked at.
func (a *across) ended(looks int) error {
	if a.looked += looks; a.looked < 1024 {
		return nil
	}
	a.looked = 0
	return a.ctx.Err()
}

// step counts a step, and reports whether the search goes on.
func (a *across) step() bool {
	if a.steps++; a.steps > a.limit || a.kept > maxKept {
		a.proven = false
		return false
	}
	return true
}

// item is equal pods of a node that may be victims.
type item struct {
	cluster.Victim
	node    uint32
	left    int32 // how many may still be taken
	taken   int32
	budgets []int32
	counts  []int64 // by rule as weights has them
	charge  int64   // when it was sorted
	whole   bool    // is one of those that worthAll is about
}

// listKey is a rule, by its place in the weights, and a domain of it.
type listKey struct {
	rule   int
	domain int32
}

// taking is some pods of an item that are victims now.
type taking struct {
	item, count int32
	mark        cluster.Mark
}

// cost is what victims cost: the disruptions that budgets do not allow, the priority of the most important victim, their
// number.
type cost struct {
	violations int64
	highest    int32
	pods       int64
}

func (c cost) compare(o cost) int {
	return cmp.Or(cmp.Compare(c.violations, o.violations), cmp.Compare(c.highest, o.highest), cmp.Compare(c.pods, o.pods))
}

// The rules that count pods by domain have the places of a Vector: spread rules, affinity, exclusions.

func (a *across) affinityPlace() int       { return len(a.rules.Spread) }
func (a *across) exclusionPlace(i int) int { return len(a.rules.Spread) + 1 + i }

// weights returns what a pod of a group adds to the counts of the rules; nil for nothing.
func (a *across) weights(g *cluster.Group) (weights []int64) {
	set := func(place int, weight int64) {
		if weight == 0 {
			return
		}
		if weights == nil {
			weights = make([]int64, a.exclusionPlace(len(a.rules.Exclusions)))
		}
		weights[place] = weight
	}
	for i, r := range a.rules.Spread {
		set(i, r.Pods.Weight(g))
	}
	if a.rules.Affinity != nil {
		set(a.affinityPlace(), a.rules.Affinity.Pods.Weight(g))
	}
	for i, r := range a.rules.Exclusions {
		set(a.exclusionPlace(i), r.Pods.Weight(g))
	}
	return weights
}

// findItems finds the pods that the rules count by domain.
func (a *across) findItems() error {
	nodes := nodeset.New(a.State.Len())
	for i, g := range a.State.Groups() {
		if err := a.ended(1 + a.exclusionPlace(len(a.rules.Exclusions))); err != nil {
			return err
		}
		if w := a.weights(g); w != nil {
			a.weighted[int32(i)] = w
			for n := range g.All() {
				nodes.Add(n)
			}
		}
	}
	var victims []cluster.Victim
	for n := range nodes.All() {
		if err := a.ctx.Err(); err != nil {
			return err
		}
		victims = a.victims(victims[:0], n)
		for i := range victims {
			if a.weighted[victims[i].Group] == nil {
				continue
			}
			item, err := a.add(n, &victims[i])
			if err != nil || a.kept > maxKept {
				return err
			}
			a.list(item)
		}
	}
	for _, list := range a.lists {
		if err := a.sort(list); err != nil {
			return err
		}
	}
	return a.ctx.Err()
}

// victims appends the pods of a node that may leave. Those that leave only with the others of their pod group stay, so that nothing is
// proven.
func (a *across) victims(victims []cluster.Victim, n uint32) []cluster.Victim {
	victims = a.State.Victims(victims, n, a.Pod.Spec().Priority)
	return slices.DeleteFunc(victims, func(v cluster.Victim) bool {
		m := a.State.Membership(&v)
		whole := m != nil && m.All
		a.proven = a.proven && !whole
		return whole
	})
}

// add adds an item, once.
func (a *across) add(n uint32, v *cluster.Victim) (int, error) {
	key := Spot{n, v.ID()}
	if i, known := a.index[key]; known {
		return i, a.ended(1)
	}
	budgets, err := a.budgetsOf(n, v)
	if err != nil {
		return 0, err
	}
	a.index[key] = len(a.items)
	a.items = append(a.items, item{Victim: *v, node: n, left: v.Count, budgets: budgets, counts: a.weighted[v.Group]})
	return len(a.items) - 1, nil
}

// budgetsOf returns the budgets that a victim uses: those that select its group and do not count it as evicted already. The
// victims of a group share them, as far as they do not differ.
func (a *across) budgetsOf(n uint32, v *cluster.Victim) ([]int32, error) {
	if a.budgets.of == nil {
		return nil, a.ended(1)
	}
	first := a.budgets.of[v.Group] == nil
	selecting, err := a.budgets.selecting(a.ctx, v.Group)
	if err != nil {
		return nil, err
	}
	if first {
		a.kept += len(selecting)
	}
	if err := a.ended(1 + len(selecting)); err != nil {
		return nil, err
	}
	name := a.State.VictimName(n, v)
	disrupted := func(b int32) bool { return a.State.Budgets().At(b).Disrupted(name) }
	if !slices.ContainsFunc(selecting, disrupted) {
		return selecting, nil
	}
	own := slices.DeleteFunc(slices.Clone(selecting), disrupted)
	a.kept += len(own)
	return own, nil
}

// list lists an item with the rules that count it.
func (a *across) list(i int) {
	it := &a.items[i]
	for place, weight := range it.counts {
		if weight == 0 {
			continue
		}
		if domain, in := a.domain(place, it.node); in {
			key := listKey{place, domain}
			a.lists[key] = append(a.lists[key], i)
		}
	}
}

// domain returns the domain in which a rule counts the pods of a node, and whether it counts them. Those that match affinity
// terms are of one domain: all of them have to go together.
func (a *across) domain(place int, n uint32) (domain int32, in bool) {
	switch {
	case place < a.affinityPlace():
		r := a.rules.Spread[place]
		domain = r.Column.Domain[n]
		return domain, domain != topology.None && r.Counted.Has(n)
	case place == a.affinityPlace():
		return 0, a.rules.Affinity.Anywhere(n)
	}
	return a.rules.Exclusions[place-a.exclusionPlace(0)].Domain(n)
}

// sort puts items into the order in which they are tried: those that violate no budget by themselves, of low priority, that
// started late.
func (a *across) sort(items []int) error {
	for _, i := range items {
		var err error
		if a.items[i].charge, err = a.chargeOf(&a.items[i]); err != nil {
			return err
		}
	}
	slices.SortFunc(items, func(x, y int) int {
		p, q := &a.items[x], &a.items[y]
		return cmp.Or(cmp.Compare(p.charge, q.charge), cmp.Compare(p.Priority, q.Priority),
			cmp.Compare(q.Started(), p.Started()), cmp.Compare(x, y))
	})
	return nil
}

// chargeOf returns how many budgets do not allow that one more pod of an item goes.
func (a *across) chargeOf(it *item) (violations int64, err error) {
	for _, b := range it.budgets {
		if a.charged[b] >= int64(max(0, a.State.Budgets().At(b).Allowed)) {
			violations++
		}
	}
	return violations, a.ended(1 + len(it.budgets))
}

// findOnNode finds the pods on the current node.
func (a *across) findOnNode() error {
	a.local = a.local[:0]
	if a.rules.Fit == nil {
		return a.ctx.Err()
	}
	for _, v := range a.victims(nil, a.node) {
		item, err := a.add(a.node, &v)
		if err != nil || a.kept > maxKept {
			return err
		}
		a.local = append(a.local, item)
	}
	return a.sort(a.local)
}

// appendKey appends a key: of nodes with equal keys one is enough. There is none for a node that resources, its own pods alone
// or nominated pods matter for.
func (a *across) appendKey(b []byte, n uint32) []byte {
	if a.nominated[n] != nil || a.rules.Fit != nil && a.rules.Fit.FullOn(n) {
		return b
	}
	for _, r := range a.rules.Spread {
		b = binary.AppendVarint(b, int64(r.Column.Domain[n]))
	}
	if r := a.rules.Affinity; r != nil {
		for i := range r.Terms {
			b = binary.AppendVarint(b, int64(r.Terms[i].Column.Domain[n]))
		}
	}
	for _, r := range a.rules.Exclusions {
		if r.Column != nil {
			b = binary.AppendVarint(b, int64(r.Column.Domain[n]))
		} else if r.Rejected().Has(n) {
			return b[:0]
		}
	}
	return append(b, 0)
}

// demand is what has to go: at least some of the items, or all of them.
type demand struct {
	items []int
	least int64 // pods
	all   bool
	never bool // no victims help
	none  bool // the node takes the pod
}

// descend looks for the rest of the victims.
func (a *across) descend() error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if !a.step() {
		return nil
	}
	if len(a.taken) > maxTaken {
		a.proven = false
		return nil
	}
	d := a.demand()
	if d.none {
		fits, err := a.fits()
		if err != nil {
			return err
		}
		if fits {
			a.keep()
			return nil
		}
		relevant, err := a.relevant()
		if err != nil {
			return err
		}
		d = demand{items: relevant, least: 1}
	}
	if d.never {
		return nil
	}
	if d.all {
		return a.takeAll(d.items)
	}
	return a.takeOne(d)
}

// takeAll descends with all of some items as victims.
func (a *across) takeAll(items []int) error {
	if !a.worthAll(items) {
		return nil
	}
	mark, entries := len(a.taken), 0
	for _, i := range items {
		if a.items[i].left > 0 {
			entries++
		}
	}
	if mark+entries > maxTaken {
		a.proven = false
		return nil
	}
	for _, i := range items {
		it := &a.items[i]
		if err := a.ended(1 + len(it.budgets)); err != nil {
			return err
		}
		if it.left > 0 {
			a.take(i, it.left)
		}
	}
	defer a.release(mark)
	if len(a.taken) == mark || !a.promising() {
		return nil
	}
	return a.descend()
}

// takeOne descends with one more victim, for each of some items. Those that were tried do not return in the later ones.
func (a *across) takeOne(d demand) error {
	if worth, err := a.worth(d); err != nil || !worth {
		return err
	}
	var tried []taking // items without what was left of them
	for _, i := range d.items {
		it := &a.items[i]
		if it.left == 0 {
			continue
		}
		mark := len(a.taken)
		a.take(i, 1)
		if a.promising() {
			if err := a.descend(); err != nil {
				return err
			}
		} else {
			a.step()
		}
		a.release(mark)
		if a.steps > a.limit {
			break
		}
		tried = append(tried, taking{item: int32(i), count: it.left})
		it.left = 0
		if worth, err := a.worth(d); err != nil {
			return err
		} else if !worth {
			break
		}
	}
	for _, t := range tried {
		a.items[t.item].left = t.count
	}
	return nil
}

// worthAll reports whether the victims with all of some items, and as many more as the resources of the current node need, can
// cost less than the best ones.
func (a *across) worthAll(items []int) bool {
	if a.found == nil {
		return true
	}
	with := a.cost
	var here []int // of the items
	for _, i := range items {
		it := &a.items[i]
		if it.left == 0 {
			continue
		}
		with.pods += int64(it.left)
		with.highest = max(with.highest, it.Priority)
		if it.node == a.node {
			here = append(here, i)
			it.whole = true
		}
	}
	needs, more := a.rules.Fit.Needs(), int64(0)
	for i := range needs {
		short, most := saturating.Sub(needs[i].Amount, needs[i].Room(a.node)), int64(0)
		for _, j := range here {
			it := &a.items[j]
			short = saturating.Sub(short, saturating.Mul(it.Usage.Of(needs[i].Resource), int64(it.left)))
		}
		for _, j := range a.local {
			if it := &a.items[j]; it.left > 0 && !it.whole {
				most = max(most, it.Usage.Of(needs[i].Resource))
			}
		}
		if short > 0 && most > 0 {
			more = max(more, (short-1)/most+1)
		}
	}
	for _, i := range here {
		a.items[i].whole = false
	}
	with.pods += more
	return with.compare(a.best) < 0
}

// promising reports whether the victims cost less than the best ones.
func (a *across) promising() bool { return a.found == nil || a.cost.compare(a.best) < 0 }

// worth reports whether the victims with as many more as a demand needs can cost less than the best ones.
func (a *across) worth(d demand) (bool, error) {
	needed, with := d.least, a.cost
	harmless := int64(0)
	for _, i := range d.items {
		it := &a.items[i]
		if it.left == 0 {
			continue
		}
		charge, err := a.chargeOf(it)
		if err != nil {
			return false, err
		}
		if charge == 0 {
			harmless += int64(it.left)
		}
	}
	with.violations += max(0, needed-harmless)
	priorities := a.lowest(d)
	if priorities == nil {
		return false, nil
	}
	with.highest = max(with.highest, *priorities)
	with.pods += needed
	return a.found == nil || with.compare(a.best) < 0, nil
}

// lowest returns the lowest priority that as many items as a demand needs do not exceed; nil if there are fewer.
func (a *across) lowest(d demand) *int32 {
	counts := make(map[int32]int64)
	var priorities []int32
	for _, i := range d.items {
		if it := &a.items[i]; it.left > 0 {
			if counts[it.Priority] == 0 {
				priorities = append(priorities, it.Priority)
			}
			counts[it.Priority] += int64(it.left)
		}
	}
	slices.Sort(priorities)
	needed := d.least
	for i := range priorities {
		if needed -= counts[priorities[i]]; needed <= 0 {
			return &priorities[i]
		}
	}
	return nil
}

// take makes pods of an item victims.
func (a *across) take(i int, count int32) {
	it := &a.items[i]
	t := taking{item: int32(i), count: count, mark: a.State.Mark()}
	v := it.Victim
	v.Count = count
	o := a.State.VictimOccupant(it.node, &v)
	a.State.Evict(it.node, &o)
	a.count(it, -int64(count))
	a.spend(it, int64(count))
	a.cost.pods += int64(count)
	it.left -= count
	it.taken += count
	a.taken = append(a.taken, t)
	a.cost.highest = max(a.cost.highest, it.Priority)
}

// release takes back what was taken since the number of takings was mark.
func (a *across) release(mark int) {
	for len(a.taken) > mark {
		t := a.taken[len(a.taken)-1]
		a.taken = a.taken[:len(a.taken)-1]
		it := &a.items[t.item]
		it.left += t.count
		it.taken -= t.count
		a.State.Undo(t.mark)
		a.count(it, int64(t.count))
		a.spend(it, -int64(t.count))
		a.cost.pods -= int64(t.count)
	}
	a.cost.highest = math.MinInt32
	for _, t := range a.taken {
		a.cost.highest = max(a.cost.highest, a.items[t.item].Priority)
	}
}

// spend lets pods of an item use their budgets, or with a negative number takes that back.
func (a *across) spend(it *item, pods int64) {
	for _, b := range it.budgets {
		allowed := int64(max(0, a.State.Budgets().At(b).Allowed))
		before := a.charged[b]
		a.charged[b] = before + pods
		a.cost.violations += max(0, before+pods-allowed) - max(0, before-allowed)
	}
}

// count adds pods of an item to the counts of the rules.
func (a *across) count(it *item, pods int64) {
	for place, weight := range it.counts {
		switch {
		case weight == 0:
		case place < a.affinityPlace():
			a.rules.Spread[place].Add(it.node, pods*weight)
		case place == a.affinityPlace():
			a.rules.Affinity.Add(it.node, pods*weight)
		default:
			a.rules.Exclusions[place-a.exclusionPlace(0)].Add(it.node, pods*weight)
		}
	}
}

// demand asks the rules what has to go for the current node.
func (a *across) demand() demand {
	for i, r := range a.rules.Exclusions {
		if domain, in := r.Domain(a.node); in && r.Counts()[domain] > 0 {
			place := a.exclusionPlace(i)
			return a.allOf(place, domain, r.Counts()[domain])
		}
	}
	if r := a.rules.Affinity; r != nil && !r.Allows(a.node) {
		if !r.Self || !r.Offers(a.node, rule.WithKey) {
			return demand{never: true}
		}
		return a.allOf(a.affinityPlace(), 0, r.Matched())
	}
	best := demand{none: true}
	for i, r := range a.rules.Spread {
		domain := r.Column.Domain[a.node]
		if domain == topology.None {
			return demand{never: true}
		}
		if over := r.SkewWith(a.node, 0) - r.MaxSkew; over > best.least {
			best = demand{items: a.lists[listKey{i, domain}], least: over}
		}
	}
	needs := a.rules.Fit.Needs()
	for i := range needs {
		need := &needs[i]
		short := saturating.Sub(need.Amount, need.Room(a.node))
		switch {
		case short <= 0:
			continue
		case a.rules.Fit.Unresolvable(i, a.node):
			return demand{never: true}
		}
		d := demand{}
		var most, sum int64
		for _, j := range a.local {
			it := &a.items[j]
			uses := it.Usage.Of(need.Resource)
			if uses < 0 {
				a.proven = false // it overflowed
			}
			if uses > 0 && it.left > 0 {
				d.items = append(d.items, j)
				most, sum = max(most, uses), saturating.Add(sum, saturating.Mul(uses, int64(it.left)))
			}
		}
		if sum < short {
			return demand{never: true}
		}
		if d.least = (short-1)/most + 1; d.least > best.least {
			best = d
		}
	}
	return best
}

// allOf returns the demand that all pods go that a rule counts in a domain; their weights must add up to a sum.
func (a *across) allOf(place int, domain int32, sum int64) demand {
	list := a.lists[listKey{place, domain}]
	for _, i := range list {
		sum -= a.items[i].counts[place] * int64(a.items[i].left)
	}
	return demand{items: list, all: true, never: sum > 0}
}

// relevant returns all items that matter for the current node.
func (a *across) relevant() ([]int, error) {
	items := slices.Clone(a.local)
	for place := range a.exclusionPlace(len(a.rules.Exclusions)) {
		if place == a.affinityPlace() && a.rules.Affinity == nil {
			continue
		}
		if domain, in := a.domain(place, a.node); in {
			items = append(items, a.lists[listKey{place, domain}]...)
		}
	}
	slices.Sort(items)
	items = slices.Compact(items)
	return items, a.sort(items)
}

// fits reports whether the current node takes the pod, by a decision that is made anew.
func (a *across) fits() (bool, error) {
	outcome, err := decide.New(a.Framework, a.State, a.Pod).FilterAll(a.ctx, nodeset.Of(a.State.Len(), []uint32{a.node}))
	return err == nil && outcome.Feasible.Has(a.node), err
}

// keep makes the current victims the best ones.
func (a *across) keep() {
	a.best = a.cost
	count := make(map[int32]int32)
	var order []int32
	for _, t := range a.taken {
		if count[t.item] == 0 {
			order = append(order, t.item)
		}
		count[t.item] += t.count
	}
	slices.SortFunc(order, func(x, y int32) int {
		p, q := &a.items[x], &a.items[y]
		return cmp.Or(cmp.Compare(q.Priority, p.Priority), cmp.Compare(p.Started(), q.Started()), cmp.Compare(p.node, q.node),
			cluster.CompareImportance(p.Victim, q.Victim))
	})
	c := &verdict.Candidate{Node: a.node, Violations: int(a.cost.violations)}
	for _, i := range order {
		it := &a.items[i]
		v := it.Victim
		v.Count = count[i]
		c.Victims = append(c.Victims, a.State.VictimReference(it.node, &v))
	}
	a.found = c
}
