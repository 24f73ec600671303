package cluster

import (
	"iter"
	"math/bits"

	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// byLabel finds groups by their labels. Those with a label are in its bucket, in ascending order, perhaps with others.
type byLabel struct {
	shift  int      // of a hash, to a bucket
	starts []uint32 // by bucket, and where the last one ends
	groups []uint32
}

// newByLabel takes one pass to see how large the buckets are, and another to fill them.
func newByLabel(groups []Group) *byLabel {
	labels := 0
	for i := range groups {
		labels += len(groups[i].Labels)
	}
	width := bits.Len(uint(labels))
	x := &byLabel{shift: 64 - width, starts: make([]uint32, 1<<width+1), groups: make([]uint32, labels)}
	for i := range groups {
		for _, l := range groups[i].Labels {
			x.starts[x.bucket(l)+1]++
		}
	}
	for i := 1; i < len(x.starts); i++ {
		x.starts[i] += x.starts[i-1]
	}
	next := make([]uint32, 1<<width)
	copy(next, x.starts)
	for i := range groups {
		for _, l := range groups[i].Labels {
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

func (x *byLabel) memory() int64 { return byLabelMemory(len(x.groups)) }

// byLabelMemory is what it takes to find so many labels.
func byLabelMemory(labels int) int64 { return 4 * int64(1<<bits.Len(uint(labels))+1+labels) }

// byLabel is found out when first asked for.
func (c *Cluster) byLabel() *byLabel {
	x := c.terms.byLabel.Load()
	if x == nil {
		x = newByLabel(c.groups)
		c.terms.byLabel.Store(x)
	}
	return x
}

// Selectable iterates over the groups that a selector may select, without looking at most of those that lack a label which
// it asks for, until the request ends.
func (s *State) Selectable(by *selector.Selector) iter.Seq2[int, *Group] {
	label, asks := by.Label()
	return func(yield func(int, *Group) bool) {
		if !asks {
			for i, g := range s.Groups() {
				if !yield(i, g) {
					return
				}
			}
			return
		}
		if s.Symbols.Shared(label.Key) && s.Symbols.Shared(label.Value) {
			last := -1
			for i, of := range s.Cluster.byLabel().having(label) {
				if int(of) == last { // two of its labels are in the bucket
					continue
				}
				if last = int(of); i%1024 == 0 && s.Ended() || !yield(int(of), &s.groups[of]) {
					return
				}
			}
		}
		for i := len(s.Cluster.groups); i < len(s.groups); i++ {
			if !yield(i, &s.groups[i]) {
				return
			}
		}
	}
}
