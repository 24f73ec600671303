package preempt

import (
	"context"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// none stands for no node.
const none = math.MaxUint32

// search is the dry run of preemption on one node after the other.
type search struct {
	*decide.Decision
	Options
	nominated map[uint32][]cluster.Nominated
	budgets   budgets
	stays     map[Spot]bool                 // pods that must stay; nil for none
	whole     map[*cluster.Membership]*unit // the pod groups that leave as a whole
	groups    int
	steps     int // for ended

	plain  *pass
	with   *pass   // over the plugins' own rules, with nominated pods; nil until needed
	own    *pass   // over rules that the nominated pods of the current node bring, too; nil until needed
	passes []*pass // over the current node

	// apart is set if a victim of the current node has another priority than its pod group.
	apart bool

	best       loss
	ties       []uint32 // the candidates that are as good as best
	current    loss
	victims    []cluster.Victim // of the current node
	sorter     cluster.Sorter
	rejections decide.Rejections
	all        []verdict.Candidate
}

func newSearch(ctx context.Context, d *decide.Decision, potential nodeset.Set, o Options) (*search, error) {
	s := &search{Decision: d, Options: o, best: loss{node: none}}
	if potential.Empty() {
		return s, ctx.Err()
	}
	parts, err := rulesOf(ctx, d)
	if err != nil {
		return nil, err
	}
	s.Memory = s.Memory.usable(d.State.Len(), parts, &s.Options)
	s.nominated = d.NominatedOn(potential)
	_, s.groups = d.State.Added()
	s.plain = newPass(newVectors(parts, s.groups, o.RecountSpread))
	s.budgets = newBudgets(d.State, s.groups)
	s.whole, err = wholeGroups(ctx, d.State)
	return s, err
}

// dryRun evaluates the nodes that evictions may make feasible (pkg/scheduler/framework/preemption/preemption.go
// DryRunPreemption, v1.37).
func (s *search) dryRun(ctx context.Context, potential nodeset.Set) error {
	evaluated := 0
	for n := range potential.All() {
		if evaluated++; evaluated%16 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if s.recall(n) {
			continue
		}
		if err := s.evaluate(ctx, n); err != nil {
			return err
		}
	}
	if s.best.node != none && len(s.best.victims) == 0 { // it was remembered
		ties := s.ties
		s.best, s.ties = loss{node: none}, nil
		if err := s.evaluate(ctx, ties[0]); err != nil {
			return err
		}
		s.ties = ties
	}
	return ctx.Err()
}

// ended returns the context's error once in a while.
func (s *search) ended(ctx context.Context) error {
	if s.steps++; s.steps%256 == 0 {
		return ctx.Err()
	}
	return nil
}

// ownRejection returns a rejection by DefaultPreemption.
func ownRejection(reason verdict.ReasonType, nodes ...uint32) verdict.Rejection {
	return verdict.Rejection{
		Plugin: verdict.DefaultPreemption, Code: verdict.UnschedulableAndUnresolvable,
		Reasons: []verdict.Reason{verdict.ReasonOf(reason)}, Nodes: nodes,
	}
}

// evaluate selects the victims on a node (pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go
// SelectVictimsOnNode, v1.37). With all victims back the node rejects the pod again, so that at least one stays away:
// kube-scheduler's error "expected at least one victim pod" does not occur.
func (s *search) evaluate(ctx context.Context, node uint32) error {
	s.victims = s.State.Victims(s.victims[:0], node, s.Pod.Spec().Priority)
	if s.stays != nil {
		s.victims = slices.DeleteFunc(s.victims, func(v cluster.Victim) bool { return s.stays[Spot{node, v.ID()}] })
	}
	if s.anyWhole() {
		return s.evaluateUnits(ctx, node)
	}
	if len(s.victims) == 0 {
		s.reject(node, ownRejection(verdict.ReasonNoVictims, node))
		return nil
	}
	if err := s.begin(ctx, node); err != nil {
		return err
	}
	for _, p := range s.passes {
		if r, rejected := p.rejection(node); rejected {
			s.reject(node, r)
			return nil
		}
	}
	if s.stays != nil {
		slices.SortFunc(s.victims, cluster.CompareImportance)
	} else {
		s.victims = s.sorter.Sort(s.victims)
	}
	s.current = loss{node: node, earliest: math.MaxInt64, highest: math.MinInt32, victims: s.current.victims[:0]}
	s.apart = slices.ContainsFunc(s.victims, func(v cluster.Victim) bool {
		_, apart := s.State.Apart(node, &v)
		return apart
	})
	violating, err := s.budgets.split(ctx, node, s.victims)
	if err != nil {
		return err
	}
	for _, v := range violating {
		if err := s.ended(ctx); err != nil {
			return err
		}
		kept, err := s.reprieve(ctx, node, &v)
		if err != nil {
			return err
		}
		s.current.violations += int(v.Count - kept)
		s.evict(v, kept)
	}
	if exceeds, err := s.reprieveRest(ctx, node); err != nil || exceeds {
		return err
	}
	if s.apart {
		s.recount(&s.current)
	}
	s.remember(remembered{loss: s.current})
	s.finish()
	return nil
}

// reprieveRest brings back the victims that violate no budget, if the pod still fits, and evicts the others. It ends early and
// reports true when only another node can be the best one.
func (s *search) reprieveRest(ctx context.Context, node uint32) (exceeds bool, err error) {
	for rest, together := s.victims, s.monotone(node); len(rest) > 0; {
		if err := s.ended(ctx); err != nil {
			return false, err
		}
		if n := min(len(rest), block); together && s.bringBack(node, rest[:n]) {
			rest = rest[n:]
			continue
		}
		together = false // one by one from here on
		if !s.All && s.Each == nil && !s.apart && s.best.node != none && s.current.exceeds(&s.best) {
			s.remember(remembered{loss: s.current, atLeast: true})
			return true, nil
		}
		kept, err := s.reprieve(ctx, node, &rest[0])
		if err != nil {
			return false, err
		}
		s.evict(rest[0], kept)
		rest = rest[1:]
	}
	return false, nil
}

// reject adds the rejection of a node.
func (s *search) reject(node uint32, r verdict.Rejection) {
	if s.Memory != nil {
		if kept := s.Memory.shared(&r); kept != nil {
			s.remember(remembered{loss: loss{node: node}, rejection: kept})
		}
	}
	s.rejections.Add(r)
}

// block is the number of victims that are brought back together, as long as the pod still fits.
const block = 8

// begin prepares the passes over a node without its victims.
func (s *search) begin(ctx context.Context, node uint32) error {
	s.passes = s.passes[:0]
	if pods := s.nominated[node]; pods != nil {
		s.passes = append(s.passes, s.passWith(pods))
	}
	s.passes = append(s.passes, s.plain)
	for _, p := range s.passes {
		p.clear()
		for i := range s.victims {
			if err := s.ended(ctx); err != nil {
				return err
			}
			v := &s.victims[i]
			p.count(s.State, v, -int64(v.Count))
		}
		p.freeSlots(s.State, node, s.victims)
	}
	if pods := s.nominated[node]; pods != nil {
		s.passes[0].add(node, pods)
	}
	return nil
}

// passWith returns the pass with nominated pods, without these.
func (s *search) passWith(pods []cluster.Nominated) *pass {
	if parts, differ := withNominated(s.Decision, s.plain.parts, pods); differ {
		if s.own == nil {
			s.own = newPass(newVectors(parts, s.groups, s.RecountSpread))
		}
		s.own.reset(parts)
		return s.own
	}
	if s.with == nil {
		s.with = newPass(s.plain.vectors)
	}
	return s.with
}

// reprieve brings as many victims of a kind back as the pod leaves room for, and returns their number. Victims that follow
// one that cannot come back cannot either: nothing has changed.
func (s *search) reprieve(ctx context.Context, node uint32, v *cluster.Victim) (kept int32, err error) {
	one := *v
	try := func(count int32) bool {
		one.Count = count
		return s.bringBack(node, []cluster.Victim{one})
	}
	if v.Count <= 1 || s.small(v) && s.monotone(node) {
		if try(v.Count) {
			return v.Count, nil
		}
		for most := v.Count; most-kept > 1; { // at least kept can come back, and fewer than most
			if step := (most - kept) / 2; try(step) {
				kept += step
			} else {
				most = kept + step
			}
		}
		return kept, nil
	}
	for kept < v.Count && try(1) {
		kept++
		if err := s.ended(ctx); err != nil {
			return 0, err
		}
	}
	return kept, nil
}

// monotone reports whether fewer victims can come back wherever more can, if their vectors are small.
func (s *search) monotone(node uint32) bool {
	for _, p := range s.passes {
		if !p.monotone(node) {
			return false
		}
	}
	return true
}

// small reports whether the vectors of equal victims are small.
func (s *search) small(v *cluster.Victim) bool {
	for _, p := range s.passes {
		if !p.vectors.of(s.State, v.Group, v.Usage).Small(int64(v.Count)) {
			return false
		}
	}
	return true
}

// bringBack brings victims back if the pod still fits then, and reports whether it does. Victims that come back together must be
// small, and at most a block.
func (s *search) bringBack(node uint32, victims []cluster.Victim) bool {
	for i, p := range s.passes {
		small := true
		for j := range victims {
			v := &victims[j]
			pods := p.count(s.State, v, int64(v.Count))
			small = small && pods.small && v.Count <= atOnce/block && p.changes == nil
		}
		if (small || len(victims) == 1) && p.allows(node) {
			continue
		}
		for _, p := range s.passes[:i+1] {
			for j := range victims {
				p.count(s.State, &victims[j], -int64(victims[j].Count))
			}
		}
		return false
	}
	return true
}

// evict adds the victims that do not come back to the current loss.
func (s *search) evict(v cluster.Victim, kept int32) {
	if v.Count -= kept; v.Count == 0 {
		return
	}
	l := &s.current
	switch {
	case v.Priority > l.highest || len(l.victims) == 0:
		l.highest, l.earliest = v.Priority, v.Started()
	case v.Priority == l.highest:
		l.earliest = min(l.earliest, v.Started())
	}
	l.sum += (int64(v.Priority) + math.MaxInt32 + 1) * int64(v.Count)
	l.pods += int(v.Count)
	l.victims = append(l.victims, VictimOn{l.node, v})
}

// finish compares the current candidate with the best one.
func (s *search) finish() {
	if s.All {
		s.all = append(s.all, *s.candidate(&s.current))
	}
	if s.Each != nil {
		s.Each(s.choice(&s.current))
	}
	order := -1
	if s.best.node != none {
		order = s.current.compare(&s.best)
	}
	switch {
	case order < 0:
		s.best, s.current = s.current, loss{victims: s.best.victims[:0]}
		s.ties = append(s.ties[:0], s.best.node)
	case order == 0:
		s.ties = append(s.ties, s.current.node)
	}
}

// candidate returns the candidate of a loss. The two parts of one entry that a budget splits are one again.
func (s *search) candidate(l *loss) *verdict.Candidate {
	if !l.sorted {
		slices.SortFunc(l.victims, func(a, b VictimOn) int { return cluster.CompareImportance(a.Victim, b.Victim) })
	}
	c := &verdict.Candidate{Node: l.node, Violations: l.violations}
	for i := range l.victims {
		v := &l.victims[i]
		if i > 0 && !l.sorted && v.Same(&l.victims[i-1].Victim) {
			c.Victims[len(c.Victims)-1].Count += int(v.Count)
			continue
		}
		c.Victims = append(c.Victims, s.State.VictimReference(v.Node, &v.Victim))
	}
	return c
}
