package cluster

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// recount is a difference in the number of a group's pods on a node.
type recount struct {
	group int32
	node  uint32
	more  int32
}

// recount records that pods are added to a node of a base with nodes, or removed from it if sign is -1.
func (b *Builder) recount(node uint32, pods []podsOf, sign int32) {
	if b.base.Len() == 0 {
		return
	}
	for _, p := range pods {
		b.recounts = append(b.recounts, recount{p.group, node, sign * p.count})
	}
}

// regroup computes the members of the groups and reports whether they equal the base's.
func (b *Builder) regroup() (same bool) {
	c := b.c
	lists := [...]struct {
		of  *[]int
		has func(group int) bool
	}{
		{&c.ports, func(group int) bool { return len(c.groups.get(group).HostPorts) > 0 }},
		{&c.volumeGroups, func(group int) bool { return len(c.groups.get(group).Volumes) > 0 }},
	}
	var stale [len(lists)]bool
	more := c.groups.len() > b.base.groups.len()
	for i := range lists {
		for g := b.base.groups.len(); g < c.groups.len() && !stale[i]; g++ {
			stale[i] = lists[i].has(g)
		}
	}
	if b.removed || b.base.Len() == 0 {
		c.gather()
		stale = [len(lists)]bool{true, true}
	} else {
		changed := b.applyRecounts()
		for i := range lists {
			stale[i] = stale[i] || slices.ContainsFunc(changed, func(group int32) bool { return lists[i].has(int(group)) })
		}
		same = len(changed) == 0 && !more
	}
	if c.terms == nil || more {
		c.terms = indexesOf(c.terms, c.groups.len())
	}
	for i := range lists {
		if !stale[i] {
			continue
		}
		*lists[i].of = nil
		for g := range c.groups.len() {
			if lists[i].has(g) && !c.groups.get(g).empty() {
				*lists[i].of = append(*lists[i].of, g)
			}
		}
	}
	return same
}

// gather computes the members of all groups from the rows.
func (c *Cluster) gather() {
	sizes, total := make([]int, c.groups.len()), 0
	for i := range uint32(c.Len()) {
		pods := c.row(i).pods
		for _, p := range pods {
			sizes[p.group]++
		}
		total += len(pods)
	}
	nodes, first := make([]uint32, total), make([]int, c.groups.len()) // where the members of each group begin
	c.memberBytes = 4 * int64(total)
	total = 0
	for i, size := range sizes {
		first[i], total = total, total+size
		g := c.groups.edit(i)
		g.Nodes, g.Counts = nodes[first[i]:total:total], nil
	}
	next := slices.Clone(first)
	for i := range uint32(c.Len()) {
		for _, p := range c.row(i).pods {
			at := next[p.group]
			nodes[at] = i
			if next[p.group]++; p.count == 1 {
				continue
			}
			g := c.groups.edit(int(p.group))
			if g.Counts == nil {
				g.Counts = g.AllCounts()
				c.memberBytes += 4 * int64(cap(g.Counts))
			}
			g.Counts[at-first[p.group]] = p.count
		}
	}
}

// applyRecounts applies the differences to the members, and returns the groups that changed.
func (b *Builder) applyRecounts() (changed []int32) {
	slices.SortFunc(b.recounts, func(x, y recount) int {
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(x.node, y.node))
	})
	sums := b.recounts[:0] // one difference for each group and node
	for _, r := range b.recounts {
		if n := len(sums); n > 0 && sums[n-1].group == r.group && sums[n-1].node == r.node {
			sums[n-1].more += r.more
		} else {
			sums = append(sums, r)
		}
	}
	sums = slices.DeleteFunc(sums, func(r recount) bool { return r.more == 0 })
	for rest := sums; len(rest) > 0; {
		n := slices.IndexFunc(rest, func(r recount) bool { return r.group != rest[0].group })
		if n < 0 {
			n = len(rest)
		}
		changed = append(changed, rest[0].group)
		g := b.c.groups.edit(int(rest[0].group))
		b.c.memberBytes -= bytesOfMembers(&g.Members)
		g.apply(rest[:n])
		b.c.memberBytes += bytesOfMembers(&g.Members)
		rest = rest[n:]
	}
	return changed
}

// apply applies differences, ascending by node.
func (g *Group) apply(changes []recount) {
	before, counts := g.Members, g.AllCounts()
	g.Nodes, g.Counts = make([]uint32, 0, len(counts)+len(changes)), make([]int32, 0, len(counts)+len(changes))
	from := 0
	upTo := func(at int) {
		g.Nodes, g.Counts = append(g.Nodes, before.Nodes[from:at]...), append(g.Counts, counts[from:at]...)
		from = at
	}
	for _, r := range changes {
		at, found := slices.BinarySearch(before.Nodes, r.node)
		upTo(at)
		count := r.more
		if found {
			count += counts[at]
			from++
		}
		if count > 0 {
			g.Nodes, g.Counts = append(g.Nodes, r.node), append(g.Counts, count)
		}
	}
	upTo(len(counts))
	if !slices.ContainsFunc(g.Counts, func(n int32) bool { return n != 1 }) {
		g.Counts = nil
	}
}

func bytesOfMembers(m *topology.Members) int64 { return 4 * int64(cap(m.Nodes)+cap(m.Counts)) }
