package rule

import (
	"iter"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Tracked is a set of rules for decisions about one node, while pods come to any nodes and leave them again. It counts them as
// kube-scheduler's AddPod and RemovePod do in the state of a scheduling cycle.
type Tracked struct {
	set  *Set
	node uint32
	// room is what is free on the node by need.
	room []int64
	// excluded is, by exclusion, the weight of the pods in the domain of the node. Without Tracking.Leaving, the pods that were there
	// count as one.
	excluded []int64
	spread   []trackedSpread
	numbers  int
	recount  bool
	// static is the rule that rejects the node whatever pods are there, nil for none.
	static *Static
}

// Tracking are the options of Track.
type Tracking struct {
	// Recount lets spread rules count as Pods do, and find their minimum over all domains.
	Recount bool
	// Leaving are pods of the node by group: at least all pods that may ever leave it. With nil, no existing pod leaves.
	Leaving iter.Seq2[*cluster.Group, int64]
}

type trackedSpread struct {
	*Spread
	counts []int64 // by domain
	critical
	// extra is how many nominated pods of the node count.
	extra int64
	// exact reports by domain whether the domain counts for a minimum over all domains; nil for the minimum of critical.
	exact []bool
}

// Track returns a set for decisions about a node, with the pods that are nominated to it and count. The set counts its pods
// itself from then on, and nothing else may use it: it loses what only decisions about other nodes need, such as the groups of
// pods that count, which may be as many as the pods of the cluster.
func (s *Set) Track(node uint32, nominated []cluster.Nominated, o Tracking) *Tracked {
	t := &Tracked{set: s, node: node, recount: o.Recount}
	if r := s.rejecting(node); r != nil {
		t.static = &Static{Code: r.Code, Reason: r.Reason, Also: r.Also}
	}
	for _, r := range s.Spread {
		counts := r.Counts()
		spread := trackedSpread{Spread: r, counts: counts, critical: criticalOf(r.present, counts), extra: r.Added(nominated)}
		if o.Recount {
			spread.exact = r.present
		}
		t.spread = append(t.spread, spread)
	}
	for i := range s.Fit.Needs() {
		need := &s.Fit.needs[i]
		room := need.Room(node)
		for j := range nominated {
			room -= nominated[j].Usage.Of(need.Resource)
		}
		t.room = append(t.room, room)
	}
	if s.Affinity != nil {
		s.Affinity.Count()
		for i := range nominated {
			s.Affinity.Add(node, one(s.Affinity.Pods.matches(nominated[i].Group)))
		}
	}
	for _, k := range s.Others {
		for i := range nominated {
			k.Add(node, k.Weight(nominated[i].Group))
		}
	}
	for _, e := range s.Exclusions {
		weight := e.heldBy(node, o.Leaving)
		if _, in := e.Domain(node); in {
			for i := range nominated {
				weight += e.Pods.Weight(nominated[i].Group)
			}
		}
		t.excluded = append(t.excluded, weight)
	}
	t.trim()
	return t
}

// The numbers of 8 bytes that a set, a rule and a need take in addition to counts and sets of nodes, rounded up.
const (
	numbersOfSet  = 64
	numbersOfRule = 96
	numbersOfNeed = 24
)

// trim drops what only decisions about other nodes need, and finds how much is left.
func (t *Tracked) trim() {
	s := t.set
	s.Static = nil
	t.numbers = numbersOfSet + numbersOfNeed*len(t.room) + numbersOfRule*(len(t.spread)+len(s.Exclusions))
	for i := range t.spread {
		r := &t.spread[i]
		r.members, r.present, r.exceeded, r.Pods.Groups = nil, nil, nil, nil
		t.numbers += len(r.counts) + len(r.Counted)
	}
	if a := s.Affinity; a != nil {
		a.rejected, a.Pods.Groups = nil, nil
		for i := range a.Terms {
			t.numbers += numbersOfRule + len(a.Terms[i].Counts)
		}
	}
	for _, k := range s.Others {
		t.numbers += numbersOfRule + len(k.Counts())
	}
	for _, e := range s.Exclusions {
		e.rejected, e.counts, e.holders, e.Held, e.Pods.Groups = nil, nil, nil, nil, nil
	}
}

// Numbers is about how many numbers of 8 bytes it takes, at least as many as it does.
func (t *Tracked) Numbers() int { return t.numbers }

// Weights returns what one pod of a group counts by counter; nil if it does not count anywhere.
func (t *Tracked) Weights(g *cluster.Group) Vector { return t.set.weights(g, t.recount) }

// Add counts a pod with weights that comes to a node, or that leaves it with a sign of -1.
func (t *Tracked) Add(node uint32, weights Vector, sign int64) {
	w := t.set.parts(weights)
	for i := range t.spread {
		if w.spread[i] != 0 {
			t.spread[i].add(node, sign)
		}
	}
	if w.affinity != 0 {
		t.set.Affinity.Add(node, sign)
	}
	for i, e := range t.set.Exclusions {
		if n := w.exclusions[i]; n != 0 && e.SameDomain(node, t.node) {
			t.excluded[i] += sign * n
		}
	}
	for i, k := range t.set.Others {
		if n := w.others[i]; n != 0 {
			k.Add(node, sign*n)
		}
	}
}

// Spreads reports whether weights have a part that spread rules count.
func (t *Tracked) Spreads(weights Vector) bool {
	return weights != nil && slices.ContainsFunc(weights[:len(t.spread)], func(n int64) bool { return n != 0 })
}

// Occupy lets a pod come to the node, or leave it with a sign of -1.
func (t *Tracked) Occupy(u *cluster.Usage, sign int64) {
	for i := range t.room {
		t.room[i] -= sign * u.Of(t.set.Fit.needs[i].Resource)
	}
}

// Allows reports whether the rules allow the node.
func (t *Tracked) Allows() bool {
	if t.static != nil {
		return false
	}
	for i, need := range t.set.Fit.Needs() {
		if need.Amount > t.room[i] {
			return false
		}
	}
	code, _ := t.failing()
	return code == 0
}

// Rejection returns the rejection of the node by a plugin with all rules, and whether there is one.
func (t *Tracked) Rejection(by verdict.Plugin) (verdict.Rejection, bool) {
	if t.static != nil {
		return t.static.rejection(by, t.node), true
	}
	code, reason := t.failing()
	more := make(Vector, len(t.room))
	for i := range more {
		more[i] = t.set.Fit.needs[i].Room(t.node) - t.room[i]
	}
	return t.set.rejection(by, t.node, code, reason, more)
}

// failing returns the code and reason of the first rule that counts pods by domain and rejects the node; 0 if none does.
func (t *Tracked) failing() (verdict.Code, verdict.Reason) {
	for i := range t.spread {
		r := &t.spread[i]
		if !r.Column.Having.Has(t.node) {
			return verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonSpreadMissingLabel)
		}
		if !r.allows(t.node) {
			return verdict.Unschedulable, verdict.ReasonOf(verdict.ReasonSpread)
		}
	}
	if a := t.set.Affinity; a != nil && !a.Allows(t.node) {
		return verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonPodAffinity)
	}
	for i, e := range t.set.Exclusions {
		if t.excluded[i] > 0 {
			return verdict.Unschedulable, e.Reason
		}
	}
	for _, k := range t.set.Others {
		if k.Excess(t.node, 0) > 0 {
			return k.Rejection()
		}
	}
	return 0, verdict.Reason{}
}

func (s *trackedSpread) add(node uint32, sign int64) {
	if !s.Counted.Has(node) {
		return
	}
	d := s.Column.Domain[node]
	s.counts[d] += sign
	s.update(d, s.counts[d])
}

func (s *trackedSpread) allows(node uint32) bool {
	d := s.Column.Domain[node]
	count, least := s.counts[d], s.critical
	if s.extra > 0 && s.Counted.Has(node) {
		for range s.extra {
			count++
			least.update(d, count)
		}
	}
	minimum := least[0].pods
	if s.exact != nil {
		minimum = s.least(d, count)
	}
	if s.Floor() {
		minimum = 0
	}
	return s.AllowsOver(minimum, count)
}

// least returns the minimum over all domains if one has a number of pods.
func (s *trackedSpread) least(domain int32, pods int64) int64 {
	minimum := int64(math.MaxInt32)
	for d, counts := range s.exact {
		switch {
		case !counts:
		case int32(d) == domain:
			minimum = min(minimum, pods)
		default:
			minimum = min(minimum, s.counts[d])
		}
	}
	return minimum
}

// critical is two domains with few pods. The first has the minimum. It is exact while pods come to one domain only or leave it:
// kube-scheduler forgets the domains beyond the second (pkg/scheduler/framework/plugins/podtopologyspread/ filtering.go
// criticalPaths, v1.37), and so takes a minimum that is too high once pods have come to both. kube-scheduler looks at the domains in
// the order of a map; here the order is by their first nodes.
type critical [2]struct {
	domain int32
	pods   int64
}

const noDomain = -1

func criticalOf(present []bool, counts []int64) critical {
	c := critical{{noDomain, math.MaxInt32}, {noDomain, math.MaxInt32}}
	for d, is := range present {
		if is && d != topology.None {
			c.update(int32(d), counts[d])
		}
	}
	return c
}

func (c *critical) update(domain int32, pods int64) {
	switch {
	case c[0].domain == domain:
		c[0].pods = pods
	case c[1].domain == domain:
		c[1].pods = pods
	case pods < c[0].pods:
		c[0], c[1] = struct {
			domain int32
			pods   int64
		}{domain, pods}, c[0]
		return
	case pods < c[1].pods:
		c[1].domain, c[1].pods = domain, pods
		return
	default:
		return
	}
	if c[0].pods > c[1].pods {
		c[0], c[1] = c[1], c[0]
	}
}
