package rule

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Spread rejects the nodes without the topology key, and the nodes in whose domain the pod would exceed maxSkew.
type Spread struct {
	ID         verdict.PodRule
	Column     *topology.Column
	MaxSkew    int64
	MinDomains int
	// SelfMatch reports whether the pod counts itself.
	SelfMatch bool
	// Counted are the nodes whose pods count. The minimum is over their domains.
	Counted nodeset.Set
	Pods    Pods
	// Adds reports whether a pod of a shape counts when it is added to the counts or removed from them for a decision about
	// its node, where that differs from Pods; may be nil.
	Adds func(*cluster.Shape) bool
	// Key is equal for rules with equal Pods.
	Key string

	members  []topology.Members
	present  []bool  // domains with nodes that count
	counts   []int64 // by domain; nil until counted
	domains  int     // number of domains with nodes that count
	minimum  int64
	least    int   // number of domains with the minimum; 0 below MinDomains
	second   int64 // the minimum without one domain that has it, if least is 1; unless stale
	stale    bool
	exceeded nodeset.Set // nodes in whose domain the pod would exceed MaxSkew
}

// CompileSpread computes the rejected nodes of the rules of one pod. It counts rules with equal pods together.
func CompileSpread(rules []*Spread) {
	var toCount []*Spread
	for i, r := range rules {
		for _, other := range rules[:i] {
			if other.Key == r.Key {
				r.members = other.members
				break
			}
		}
		if r.members == nil {
			r.members = r.Pods.Members()
		}
		if m := r.members; r.Column.Each() && (len(m) == 0 || len(m) == 1 && len(m[0].Assumed) == 0) {
			r.compileByNode()
		} else {
			toCount = append(toCount, r)
		}
	}
	countSpread(toCount)
	for _, r := range toCount {
		exceeded := make([]uint8, r.Column.Len())
		for d := range exceeded {
			if d != topology.None && r.skew(r.counts[d]) > r.MaxSkew {
				exceeded[d] = 1
			}
		}
		r.exceeded = r.Column.Where(exceeded)
	}
}

// compileByNode computes the rejected nodes where each node is a domain and at most one group has pods that count.
func (r *Spread) compileByNode() {
	r.domains = r.Counted.Len()
	var pods topology.Members
	if len(r.members) > 0 {
		pods = r.members[0]
	}
	if r.domains >= r.MinDomains {
		r.second = math.MaxInt64
		with := 0 // domains with pods
		for i, n := range pods.Nodes {
			if r.Counted.Has(n) {
				r.lower(int64(pods.Count(i)), 1)
				with++
			}
		}
		if with < r.domains {
			r.lower(0, r.domains-with)
		}
	}
	// The skew of a domain without pods is 1 at most, and so exceeds no MaxSkew.
	r.exceeded = make(nodeset.Set, len(r.Counted))
	for i, n := range pods.Nodes {
		if r.Counted.Has(n) && r.skew(int64(pods.Count(i))) > r.MaxSkew {
			r.exceeded.Add(n)
		}
	}
}

// countSpread counts the pods of rules. A domain with nodes that count is present even without pods.
func countSpread(rules []*Spread) {
	for i, r := range rules {
		if r.counts != nil {
			continue
		}
		var same []*Spread
		var columns []*topology.Column
		var in []nodeset.Set
		for _, other := range rules[i:] {
			if other.Key == r.Key {
				same, columns, in = append(same, other), append(columns, other.Column), append(in, other.someCounted())
			}
		}
		counts := topology.CountIn(columns, r.members, in)
		for j, other := range same {
			other.counts = counts[j]
			other.findPresent()
			other.findMinimum()
		}
	}
}

// someCounted returns Counted, nil for all nodes.
func (r *Spread) someCounted() nodeset.Set {
	if r.Counted.Full(len(r.Column.Domain)) {
		return nil
	}
	return r.Counted
}

func (r *Spread) findPresent() {
	if r.someCounted() != nil {
		r.present = r.Column.Present(r.Counted)
	} else {
		r.present = make([]bool, r.Column.Len())
		for d := range r.present {
			r.present[d] = d != topology.None || !r.Column.Having.Full(len(r.Column.Domain))
		}
	}
	r.domains = 0
	for _, p := range r.present {
		if p {
			r.domains++
		}
	}
}

// findMinimum computes the minimum. It is 0 below MinDomains.
func (r *Spread) findMinimum() {
	r.minimum, r.least, r.second, r.stale = 0, 0, math.MaxInt64, false
	if r.Floor() {
		return
	}
	for d, p := range r.present {
		if p {
			r.lower(r.counts[d], 1)
		}
	}
}

// lower lowers the minimum by a number of domains with a count.
func (r *Spread) lower(count int64, domains int) {
	switch {
	case r.least == 0 || count < r.minimum:
		if r.least > 0 {
			r.second = r.minimum
		}
		r.minimum, r.least = count, domains
	case count == r.minimum:
		r.least += domains
	case count < r.second:
		r.second = count
	}
}

// minimumWith returns the minimum with additional pods in a domain that has a count and nodes that count, or with as many
// fewer if it is negative.
func (r *Spread) minimumWith(count, pods int64) int64 {
	if r.Floor() {
		return r.minimum
	}
	others := r.minimum
	if count == r.minimum && r.least == 1 {
		if r.stale {
			r.findMinimum()
		}
		others = r.second
	}
	return min(others, count+pods)
}

// SkewWith returns by how much the domain of a node would exceed the minimum with the pod and additional pods on the node,
// or with as many fewer if it is negative.
func (r *Spread) SkewWith(node uint32, pods int64) int64 {
	var count int64
	if r.counts != nil {
		count = r.counts[r.Column.Domain[node]]
	} else {
		count = r.countOn(node)
	}
	if pods == 0 || !r.Counted.Has(node) {
		return r.skew(count)
	}
	return r.skewOver(r.minimumWith(count, pods), count+pods)
}

// countOn returns the number of pods in the domain of a node after compileByNode.
func (r *Spread) countOn(node uint32) int64 {
	if len(r.members) == 0 || !r.Counted.Has(node) {
		return 0
	}
	if i, ok := slices.BinarySearch(r.members[0].Nodes, node); ok {
		return int64(r.members[0].Count(i))
	}
	return 0
}

// allowsWith reports whether the rule allows a node that has the key with additional pods on it, or with as many fewer if
// it is negative.
func (r *Spread) allowsWith(node uint32, pods int64) bool {
	if r.counts == nil && pods == 0 {
		return !r.exceeded.Has(node)
	}
	return r.SkewWith(node, pods) <= r.MaxSkew
}

// Added returns how many of some nominated pods count when they are added.
func (r *Spread) Added(pods []cluster.Nominated) (count int64) {
	for i := range pods {
		count += one(r.adds(pods[i].Group))
	}
	return count
}

// Count counts the pods by domain, once.
func (r *Spread) Count() *Spread {
	if r.counts == nil {
		countSpread([]*Spread{r})
	}
	return r
}

// Floor reports whether the minimum is 0 because there are fewer domains than MinDomains.
func (r *Spread) Floor() bool { return r.domains < r.MinDomains }

// Present reports by domain whether it has nodes that count. It must not be changed.
func (r *Spread) Present() []bool { return r.Count().present }

// Counts returns the number of pods by domain. It must not be changed.
func (r *Spread) Counts() []int64 {
	if r.counts == nil {
		r.Count()
	}
	return r.counts
}

// Minimum returns the global minimum.
func (r *Spread) Minimum() int64 { return r.minimum }

// Matches reports whether pods of a shape count, on nodes that count.
func (r *Spread) Matches(s *cluster.Shape) bool { return r.Pods.Weight(&cluster.Group{Shape: s}) > 0 }

func (r *Spread) missing() nodeset.Set {
	nodes := len(r.Column.Domain)
	if r.Column.Having.Full(nodes) {
		return nil
	}
	return nodeset.Full(nodes).Minus(r.Column.Having)
}

// skew returns by how much a domain with a number of pods would exceed the minimum with the pod in it.
func (r *Spread) skew(count int64) int64 { return r.skewOver(r.minimum, count) }

func (r *Spread) skewOver(minimum, count int64) int64 {
	skew := count - minimum
	if r.SelfMatch {
		skew++
	}
	return skew
}

// Skew returns by how much a domain would exceed the minimum with the pod in it.
func (r *Spread) Skew(domain int32) int64 { return r.skew(r.Counts()[domain]) }

// AllowsCount reports whether the pod may be in a domain with a number of pods.
func (r *Spread) AllowsCount(count int64) bool { return r.skew(count) <= r.MaxSkew }

// AllowsOver reports whether the pod may be in a domain with a number of other pods if the minimum is the given one.
func (r *Spread) AllowsOver(minimum, count int64) bool {
	return r.skewOver(minimum, count) <= r.MaxSkew
}

// Allows reports whether the rule allows a node.
func (r *Spread) Allows(node uint32) bool {
	d := r.Column.Domain[node]
	return d != topology.None && r.AllowsCount(r.Counts()[d])
}

// adds reports whether a pod of a group counts when it is added.
func (r *Spread) adds(g *cluster.Group) bool {
	if r.Adds != nil {
		return r.Adds(g.Shape)
	}
	return r.Pods.matches(g)
}

// HighestMinimum returns the highest minimum that a number of additional pods can reach. It is at most bound, unless the current
// minimum is higher.
func (r *Spread) HighestMinimum(pods int, bound int64) int64 {
	minimum := r.Count().minimum
	if r.least == 0 {
		return minimum
	}
	for ; minimum < bound; minimum++ {
		for d, present := range r.present {
			if present && r.counts[d] <= minimum {
				pods--
			}
		}
		if pods < 0 {
			break
		}
	}
	return minimum
}

// Fork returns the rule with counts of its own.
func (r *Spread) Fork() *Spread {
	fork := *r.Count()
	fork.counts = slices.Clone(r.counts)
	return &fork
}

// Add counts pods that come to a node, or leave it if count is negative, and reports whether they count there.
func (r *Spread) Add(node uint32, count int64) bool {
	if !r.Counted.Has(node) {
		return false
	}
	r.Count()
	r.stale = true
	d := r.Column.Domain[node]
	before := r.counts[d]
	r.counts[d] += count
	switch now := r.counts[d]; {
	case r.least == 0:
	case now < r.minimum:
		r.minimum, r.least = now, 1
	case before == r.minimum && now != before:
		if r.least--; r.least == 0 {
			r.findMinimum()
		}
	case now == r.minimum && now != before:
		r.least++
	}
	return true
}

// Count counts the pods of all rules, so that Add can change the counts.
func (s *Set) Count() {
	s.CountPods()
	for _, e := range s.Exclusions {
		e.Counts()
	}
}

// CountPods is Count for all rules but the exclusions.
func (s *Set) CountPods() {
	countSpread(s.Spread)
	if s.Affinity != nil {
		s.Affinity.Count()
	}
}
