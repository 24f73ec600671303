package topology

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// shardEntries is the number of entries from which on an additional worker pays. Counting takes about 1 ns an entry; to
// fork, join and reduce takes a few microseconds.
const shardEntries = 1 << 16

// Count returns the number of pods of all members per domain, on the nodes of only (nil for all).
func Count(c *Column, members []Members, only nodeset.Set) []int64 {
	return CountIn([]*Column{c}, members, []nodeset.Set{only})[0]
}

// CountIn is Count in several columns, each with its own nodes.
func CountIn(columns []*Column, members []Members, only []nodeset.Set) [][]int64 {
	counts := newCounts(columns)
	ones, others := members, []Members(nil)
	if passes := (len(members) + atOnce - 1) / atOnce; passes*len(columns[0].Domain)*dense > entries(members) {
		ones, others = nil, members
	} else if slices.ContainsFunc(members, func(m Members) bool { return !m.ones() }) {
		ones = nil
		for _, m := range members {
			if m.ones() {
				ones = append(ones, m)
			} else {
				others = append(others, m)
			}
		}
	}
	countOnes(counts, columns, ones, only)
	for i, c := range columns {
		count(counts[i], c, others, only[i])
	}
	return counts
}

func newCounts(columns []*Column) [][]int64 {
	counts := make([][]int64, len(columns))
	for i, c := range columns {
		counts[i] = make([]int64, c.Len())
	}
	return counts
}

// sharesPerWorker is the number of shares for each worker. A worker that begins late takes fewer.
const sharesPerWorker = 8

// count adds members to counts. Several workers count large numbers of entries share by share. Each has counts of its own,
// which are then added up: integers, so that the result does not depend on which worker counted what.
func count(counts []int64, c *Column, members []Members, only nodeset.Set) {
	entries := entries(members)
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

// take splits members after a number of entries, or at their end.
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

// cut splits the entries after a number of them. There must be that many.
func (m Members) cut(entries int) (first, second Members) {
	n := min(entries, len(m.Nodes))
	first, second = Members{Nodes: m.Nodes[:n], Assumed: m.Assumed[:entries-n]}, Members{Nodes: m.Nodes[n:], Assumed: m.Assumed[entries-n:]}
	if m.Counts != nil {
		first.Counts, second.Counts = m.Counts[:n], m.Counts[n:]
	}
	return first, second
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
				counts[c.Domain[n]] += int64(m.Count(j))
			}
		}
		for _, n := range m.Assumed {
			if only.Has(n) {
				counts[c.Domain[n]]++
			}
		}
	}
}
