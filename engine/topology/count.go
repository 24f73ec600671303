package topology

import (
	"runtime"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
)

// Members is pods of one kind: Counts[i] of them on node Nodes[i], and one more on each of Assumed.
type Members struct {
	Nodes   []uint32
	Counts  []int32
	Assumed []uint32
}

// Len returns how many entries there are to count.
func (m Members) Len() int { return len(m.Nodes) + len(m.Assumed) }

// shardEntries is from how many entries on a second worker pays: counting takes about 1 ns an entry, and to fork, join
// and reduce costs a few microseconds.
const shardEntries = 1 << 16

// Count returns the number of pods of all members per domain, on the nodes of only (nil for all).
func Count(c *Column, members []Members, only nodeset.Set) []int64 {
	counts := make([]int64, c.Len())
	count(counts, c, members, only)
	return counts
}

// Add adds the weight of pods to the counts of their domains, and reports whether any is on a node with the key.
func Add(counts []int64, c *Column, m Members, weight int64) (touched bool) {
	domain, pods := c.Domain, m.Counts[:len(m.Nodes)]
	some := int32(0) // not None: without a branch the loop takes three fifths of the time
	for j, n := range m.Nodes {
		d := domain[n]
		counts[d] += int64(pods[j]) * weight
		some |= d - None
	}
	touched = some != 0
	for _, n := range m.Assumed {
		d := c.Domain[n]
		counts[d] += weight
		touched = touched || d != None
	}
	return touched
}

// Mark sets the domains of pods, but for None, to 1 in a table by domain, and reports whether there is any.
func Mark(table []uint8, c *Column, m Members) (any bool) {
	for j, n := range m.Nodes {
		if d := c.Domain[n]; d != None && m.Counts[j] > 0 {
			table[d], any = 1, true
		}
	}
	for _, n := range m.Assumed {
		if d := c.Domain[n]; d != None {
			table[d], any = 1, true
		}
	}
	return any
}

// PerNode returns the number of pods of all members per node, of n nodes.
func PerNode(n int, members []Members) []int64 {
	counts := make([]int64, n)
	for i := range members {
		m := &members[i]
		for j, node := range m.Nodes {
			counts[node] += int64(m.Counts[j])
		}
		for _, node := range m.Assumed {
			counts[node]++
		}
	}
	return counts
}

// sharesPerWorker is how many shares there are for each worker: one that begins late has fewer of them.
const sharesPerWorker = 8

// count adds to counts. Large numbers of entries are counted by several workers, share by share, the first of them into
// counts and each other into counts of its own, which are then added up: integers, so that the result does not depend on
// who counted what.
func count(counts []int64, c *Column, members []Members, only nodeset.Set) {
	entries := 0
	for i := range members {
		entries += members[i].Len()
	}
	workers := min(runtime.GOMAXPROCS(0), entries/shardEntries)
	if workers < 2 {
		countShard(counts, c, members, only)
		return
	}
	n := workers * sharesPerWorker
	shares := make([][]Members, n)
	for i := range shares {
		shares[i], members = take(members, (entries+n-1)/n)
	}
	var next atomic.Int64
	work := func(shard []int64) {
		for i := next.Add(1); i <= int64(n); i = next.Add(1) {
			countShard(shard, c, shares[i-1], only)
		}
	}
	done := make(chan []int64, workers)
	for range workers - 1 {
		go func() {
			// Each shard is an allocation of its own, so no two workers write to one cache line.
			shard := make([]int64, len(counts))
			work(shard)
			done <- shard
		}()
	}
	work(counts)
	for range workers - 1 {
		for d, n := range <-done {
			counts[d] += n
		}
	}
}

// take cuts members after so many entries, or at their end.
func take(members []Members, entries int) (taken, rest []Members) {
	for i, m := range members {
		if m.Len() < entries {
			entries -= m.Len()
			continue
		}
		first, second := m.cut(entries)
		return append(members[:i:i], first), append([]Members{second}, members[i+1:]...)
	}
	return members, nil
}

// cut splits the entries after so many, which there must be.
func (m Members) cut(entries int) (first, second Members) {
	n := min(entries, len(m.Nodes))
	first = Members{m.Nodes[:n], m.Counts[:n], m.Assumed[:entries-n]}
	return first, Members{m.Nodes[n:], m.Counts[n:], m.Assumed[entries-n:]}
}

func countShard(counts []int64, c *Column, members []Members, only nodeset.Set) {
	for i := range members {
		m := &members[i]
		if only == nil {
			Add(counts, c, *m, 1)
			continue
		}
		for j, n := range m.Nodes {
			if only.Has(n) {
				counts[c.Domain[n]] += int64(m.Counts[j])
			}
		}
		for _, n := range m.Assumed {
			if only.Has(n) {
				counts[c.Domain[n]]++
			}
		}
	}
}
