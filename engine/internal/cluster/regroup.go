package cluster

import (
	"cmp"
	"maps"
	"slices"
)

// recount is a difference in how many pods of a group are on a node.
type recount struct {
	group int32
	node  uint32
	more  int32
}

// regroup brings the groups up to date with the rows, and reports whether anything differs from the base's.
func (e *edit) regroup() (differ bool) {
	c := e.c
	touched := e.pods.added
	if e.renumbered {
		sizes := make([]int, len(c.groups))
		for _, r := range c.rows {
			for _, p := range r.pods {
				sizes[p.group]++
			}
		}
		c.gather(sizes)
		touched = touched[:0]
		for i := range c.groups {
			touched = append(touched, int32(i))
		}
		differ = true
	} else {
		slices.SortFunc(e.recounts, func(a, b recount) int {
			return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.node, b.node))
		})
		for rest := e.recounts; len(rest) > 0; {
			group, n := rest[0].group, 1
			for n < len(rest) && rest[n].group == group {
				n++
			}
			if c.groups[group].recount(rest[:n]) {
				touched, differ = append(touched, group), true
			}
			rest = rest[n:]
		}
	}
	if e.drop(touched) || len(e.pods.added) > 0 {
		c.findRoles()
	}
	return differ
}

// recount applies differences, in ascending order of nodes, and reports whether they come to anything.
func (g *Group) recount(changes []recount) bool {
	sums := make([]recount, 0, len(changes))
	for _, r := range changes {
		if n := len(sums); n > 0 && sums[n-1].node == r.node {
			sums[n-1].more += r.more
		} else {
			sums = append(sums, r)
		}
	}
	sums = slices.DeleteFunc(sums, func(r recount) bool { return r.more == 0 })
	if len(sums) == 0 {
		return false
	}
	nodes, counts := make([]uint32, 0, len(g.Nodes)+len(sums)), make([]int32, 0, len(g.Nodes)+len(sums))
	before := g.AllCounts()
	from := 0
	for _, r := range sums {
		at, found := slices.BinarySearch(g.Nodes[from:], r.node)
		at += from
		nodes, counts = append(nodes, g.Nodes[from:at]...), append(counts, before[from:at]...)
		count := r.more
		if from = at; found {
			count += before[at]
			from++
		}
		if count > 0 {
			nodes, counts = append(nodes, r.node), append(counts, count)
		}
	}
	g.Nodes, g.Counts = append(nodes, g.Nodes[from:]...), append(counts, before[from:]...) //nolint:gocritic // appendAssign: both are built here, for the group
	if !slices.ContainsFunc(g.Counts, func(n int32) bool { return n != 1 }) {
		g.Counts = nil
	}
	return true
}

// nobody is the shape of groups that stand free.
var nobody = &Shape{Rules: &Rules{}}

// drop frees those of some groups that have no pods left, and reports whether there are any.
func (e *edit) drop(groups []int32) bool {
	c := e.c
	dropped := false
	for _, i := range groups {
		g := &c.groups[i]
		if len(g.Nodes) > 0 || g.Shape == nobody {
			continue
		}
		dropped = true
		e.pods.ownGroups()
		delete(c.groupOf, g.id)
		if g.Template >= 0 {
			t := &c.templates[g.Template]
			if place := slices.Index(t.groups[:], i+1); place >= 0 {
				t.groups[place] = 0
			}
		}
		*g = Group{Shape: nobody, Template: -1}
		c.free = append(c.free, i)
	}
	return dropped
}

// ownGroups makes adding and dropping groups leave the base alone.
func (g *grouping) ownGroups() {
	if g.base != nil && !g.ownIDs {
		g.ownIDs = true
		g.c.groupOf = maps.Clone(g.c.groupOf)
	}
}
