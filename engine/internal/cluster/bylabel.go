package cluster

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// byLabel is an index of groups by label. The bucket of a label has the groups with it, ascending, and possibly others.
type byLabel struct {
	shift  int      // from hash to bucket
	starts []uint32 // by bucket: its first index in groups; one more entry for the end
	groups []uint32
}

// newByLabel returns an index of a range of groups.
func newByLabel(groups *list[Group], from, to int) *byLabel {
	labels := 0
	for i := from; i < to; i++ {
		labels += len(groups.get(i).Labels)
	}
	width := bits.Len(uint(labels))
	x := &byLabel{shift: 64 - width, starts: make([]uint32, 1<<width+1), groups: make([]uint32, labels)}
	for i := from; i < to; i++ {
		for _, l := range groups.get(i).Labels {
			x.starts[x.bucket(l)+1]++
		}
	}
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	next := slices.Clone(x.starts)
	for i := from; i < to; i++ {
		for _, l := range groups.get(i).Labels {
			at := &next[x.bucket(l)]
			x.groups[*at] = uint32(i)
			*at++
		}
	}
	return x
}

func (x *byLabel) bucket(l selector.Label) uint64 {
	return (uint64(l.Key)<<32 | uint64(l.Value)) * 0x9e3779b97f4a7c15 >> x.shift
}

// having returns the groups of a label's bucket.
func (x *byLabel) having(l selector.Label) []uint32 {
	b := x.bucket(l)
	return x.groups[x.starts[b]:x.starts[b+1]]
}

// byLabel returns the index of a range of groups.
func (c *Cluster) byLabel(of *groupTerms) *byLabel {
	x := of.byLabel.Load()
	if x == nil {
		x = newByLabel(&c.groups, of.from, of.to)
		of.byLabel.Store(x)
	}
	return x
}

// Selectable iterates over a superset of the groups that a selector selects, until the request ends. It leaves out most
// groups without a label that the selector requires.
func (s *State) Selectable(by *selector.Selector) iter.Seq2[int, *Group] {
	label, required := by.Label()
	if !required {
		return s.Groups()
	}
	return func(yield func(int, *Group) bool) {
		if s.Symbols.Shared(label.Key) && s.Symbols.Shared(label.Value) {
			last := -1
			for _, of := range s.terms {
				for i, group := range s.Cluster.byLabel(of).having(label) {
					if int(group) == last || s.Group(int(group)).empty() { // two of its labels are in the bucket
						continue
					}
					if last = int(group); i%1024 == 0 && s.Ended() || !yield(last, s.Group(int(group))) {
						return
					}
				}
			}
		}
		for i := s.Cluster.groups.len(); i < min(s.groupCount(), s.Cluster.groups.len()+unindexed); i++ {
			if !yield(i, s.Group(i)) {
				return
			}
		}
		for _, i := range s.addedBy[label] {
			if !yield(int(i), s.Group(int(i))) {
				return
			}
		}
	}
}

// unindexed is how many of the groups that a request added are looked at one by one. Those behind them are found by label.
const unindexed = 16

// index adds a group created by the request to the groups that can be found by label.
func (s *State) index(i int, shape *Shape) {
	if i < s.Cluster.groups.len()+unindexed {
		return
	}
	if s.addedBy == nil {
		s.addedBy = make(map[selector.Label][]int32)
	}
	for _, l := range shape.Labels {
		s.addedBy[l] = append(s.addedBy[l], int32(i))
	}
}
