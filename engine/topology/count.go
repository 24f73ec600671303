package topology

import (
	"runtime"

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
	for j, n := range m.Nodes {
		d := c.Domain[n]
		counts[d] += int64(m.Counts[j]) * weight
		touched = touched || d != None
	}
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

// count adds to counts. Large numbers of entries are counted by several workers, each an equal share of them into counts
// of its own, which are then added up: integers, so that the result does not depend on who counted what.
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
	shards := make([][]int64, workers)
	done := make(chan struct{}, workers)
	for w := range workers {
		var share []Members
		share, members = take(members, (entries+workers-1)/workers)
		go func() {
			// Each shard is an allocation of its own, so no two workers write to one cache line.
			shard := make([]int64, len(counts))
			countShard(shard, c, share, only)
			shards[w] = shard
			done <- struct{}{}
		}()
	}
	for range workers {
		<-done
	}
	for _, shard := range shards {
		for d, n := range shard {
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
