package topology

import "iter"

// Members is equal pods: Counts[i] of them, possibly 0, on node Nodes[i], or one on each if Counts is nil; and one more on
// each node of Assumed.
type Members struct {
	Nodes   []uint32
	Counts  []int32
	Assumed []uint32
}

// Len returns the number of entries.
func (m *Members) Len() int { return len(m.Nodes) + len(m.Assumed) }

// Count returns the number of pods on Nodes[i].
func (m *Members) Count(i int) int {
	if m.Counts == nil {
		return 1
	}
	return int(m.Counts[i])
}

// All iterates over the nodes with pods and their numbers of pods. A node may occur more than once.
func (m *Members) All() iter.Seq2[uint32, int] {
	return func(yield func(uint32, int) bool) {
		for i, n := range m.Nodes {
			if count := m.Count(i); count > 0 && !yield(n, count) {
				return
			}
		}
		for _, n := range m.Assumed {
			if !yield(n, 1) {
				return
			}
		}
	}
}

// AllCounts returns Counts, or a list of ones if Counts is nil.
func (m *Members) AllCounts() []int32 {
	if m.Counts != nil {
		return m.Counts
	}
	counts := make([]int32, len(m.Nodes))
	for i := range counts {
		counts[i] = 1
	}
	return counts
}

// entries returns the number of entries of all members.
func entries(members []Members) int {
	n := 0
	for i := range members {
		n += members[i].Len()
	}
	return n
}

// Add adds the weight of pods to the counts of their domains, and reports whether any is on a node with the key.
func Add(counts []int64, c *Column, m Members, weight int64) (touched bool) {
	domain := c.Domain
	some := int32(0) // not None: without a branch the loop takes three fifths of the time
	if m.Counts == nil {
		for _, n := range m.Nodes {
			d := domain[n]
			counts[d] += weight
			some |= d - None
		}
	} else {
		pods := m.Counts[:len(m.Nodes)]
		for j, n := range m.Nodes {
			d := domain[n]
			counts[d] += int64(pods[j]) * weight
			some |= (d - None) & (-pods[j] >> 31) // of nodes with pods
		}
	}
	touched = some != 0
	for _, n := range m.Assumed {
		d := c.Domain[n]
		counts[d] += weight
		touched = touched || d != None
	}
	return touched
}

// Mark sets the domains of pods, except None, to 1 in a table by domain, and reports whether there are any.
func Mark(table []uint8, c *Column, m Members) (found bool) {
	for j, n := range m.Nodes {
		if d := c.Domain[n]; d != None && m.Count(j) > 0 {
			table[d], found = 1, true
		}
	}
	for _, n := range m.Assumed {
		if d := c.Domain[n]; d != None {
			table[d], found = 1, true
		}
	}
	return found
}

// PerNode returns the number of pods of all members per node, of n nodes.
func PerNode(n int, members []Members) []int64 {
	counts := make([]int64, n)
	for i := range members {
		m := &members[i]
		for j, node := range m.Nodes {
			counts[node] += int64(m.Count(j))
		}
		for _, node := range m.Assumed {
			counts[node]++
		}
	}
	return counts
}
