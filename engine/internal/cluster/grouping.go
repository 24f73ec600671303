package cluster

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// grouping puts pods into groups while a cluster is compiled.
type grouping struct {
	c *Cluster
	// byPointer holds what was compiled of templates that pods have for themselves.
	byPointer map[*api.PodTemplate]*template
	loads     loads
	// seen says where in the row of the node at hand a group is, and on how many nodes it is. Stamps tell nodes apart.
	seen  []struct{ stamp, place, size int32 }
	stamp int32
	arena arena[podsOf]

	// base is the cluster that c derives from; nil if none.
	base   *Cluster
	added  []int32 // groups that base does not have
	ownIDs bool    // whether c.groupOf is no longer the base's
}

// template is a compiled pod template. What each of its pods needs comes first, so that it shares a cache line.
type template struct {
	// groups are those of its pods without anything of their own, the terminating ones second, plus one; 0 until such a
	// pod was met.
	groups [2]int32
	usage  Usage
	shape  *Shape // of its pods without anything of their own
	load   int32  // one more than the place of its pods' load, once that is known to have one
	stated *api.PodTemplate
	index  int       // -1 if it is some pods' own
	next   *template // of the same pointer, with another index
}

// slotOf numbers the pods of templates that have nothing of their own.
func slotOf(template int, terminating bool) int32 {
	slot := int32(template) << 1
	if terminating {
		slot++
	}
	return slot
}

func (g *grouping) addNode(ctx context.Context, n *Draft, node *api.Node) error {
	g.stamp++
	if n.counted {
		for i := range n.row.pods {
			p := &n.row.pods[i]
			p.group = g.groupOf(&g.c.templates[p.group>>1], p.group&1)
			g.see(p.group).size++
		}
		return nil
	}
	n.row.pods = g.arena.take(len(node.PodCounts) + len(node.Pods))
	for i := range node.PodCounts {
		p := &node.PodCounts[i]
		slot := slotOf(p.Template, p.Terminating)
		g.count(n, g.groupOf(&g.c.templates[p.Template], slot&1), p.Count)
	}
	if len(node.Pods) > 0 {
		for i := range node.Pods {
			if i%16 == 15 && ctx.Err() != nil {
				return ctx.Err()
			}
			p := &node.Pods[i]
			group, t, usage := g.pod(p)
			g.count(n, group, 1)
			n.occupy(usage, 1)
			n.row.named[i].Group, n.row.named[i].load = group, g.loadAs(p, t, usage)
		}
	}
	n.row.pods = g.arena.keep(n.row.pods)
	return nil
}

// occupyCounted adds pods that a node has by number. The sums stay in registers.
func (n *Draft) occupyCounted(templates []template, counts []api.PodCount) {
	var all, cpu, memory, storage, defaultedCPU, defaultedMemory int64
	for i := range counts {
		p := &counts[i]
		u, count := &templates[p.Template].usage, int64(p.Count)
		all += count
		cpu += u.Amounts[CPU] * count
		memory += u.Amounts[Memory] * count
		storage += u.Amounts[EphemeralStorage] * count
		defaultedCPU += u.Defaulted[CPU] * count
		defaultedMemory += u.Defaulted[Memory] * count
		if len(u.Scalars) > 0 {
			n.occupyScalars(u, count)
		}
	}
	n.amounts[pods] += all
	n.amounts[requested+CPU] += cpu
	n.amounts[requested+Memory] += memory
	n.amounts[requested+EphemeralStorage] += storage
	n.amounts[defaulted+CPU] += defaultedCPU
	n.amounts[defaulted+Memory] += defaultedMemory
}

// see returns what was seen of a group.
func (g *grouping) see(group int32) *struct{ stamp, place, size int32 } {
	if int(group) >= len(g.seen) {
		g.seen = append(g.seen, make([]struct{ stamp, place, size int32 }, int(group)+1-len(g.seen))...)
	}
	return &g.seen[group]
}

// count counts pods on the node at hand.
func (g *grouping) count(n *Draft, group, count int32) {
	s := g.see(group)
	if s.stamp == g.stamp {
		n.row.pods[s.place].count += count
		return
	}
	s.stamp, s.place = g.stamp, int32(len(n.row.pods))
	s.size++
	n.row.pods = append(n.row.pods, podsOf{group, count})
}

// sizes returns on how many nodes each group is, of those that were added.
func (g *grouping) sizes() []int {
	sizes := make([]int, len(g.c.groups))
	for i := range g.seen {
		sizes[i] = int(g.seen[i].size)
	}
	return sizes
}

// groupOf returns the group of a template's pods that have nothing of their own, the terminating ones in place 1.
func (g *grouping) groupOf(t *template, place int32) int32 {
	if group := t.groups[place]; group > 0 {
		return group - 1
	}
	return g.meet(t, place)
}

func (g *grouping) meet(t *template, place int32) int32 {
	shape := t.shape
	if place == 1 {
		terminating := *shape
		terminating.Terminating = true
		shape = &terminating
	}
	group := g.group(shape, t.index)
	t.groups[place] = group + 1
	return group
}

// compiled compiles a template.
func (g *grouping) compiled(stated *api.PodTemplate, index int) template {
	return template{
		stated: stated,
		index:  index,
		shape:  compileShape(g.c.symbols, stated, nil, false, nil),
		usage:  usageOf(&stated.Spec, nil),
	}
}

// pod returns the group of a pod stated one by one, its template and what it uses. What it shares with others by pointer
// is compiled once.
func (g *grouping) pod(p *api.Pod) (group int32, t *template, usage *Usage) {
	if p.TemplateIndex >= 0 && g.c.stated[p.TemplateIndex] == p.Template {
		t = &g.c.templates[p.TemplateIndex]
	} else {
		first := g.byPointer[p.Template]
		t = first
		for t != nil && t.index != p.TemplateIndex {
			t = t.next
		}
		if t == nil {
			own := g.compiled(p.Template, p.TemplateIndex)
			t, own.next = &own, first
			g.byPointer[p.Template] = t
		}
	}
	usage = &t.usage
	if p.ResourceStatus != nil {
		own := usageOf(&p.Template.Spec, p.ResourceStatus)
		usage = &own
	}
	if len(p.Labels) == 0 {
		return g.groupOf(t, slotOf(0, p.Terminating)), t, usage
	}
	return g.group(compileShape(g.c.symbols, p.Template, p.Labels, p.Terminating, t.shape.Rules), t.index), t, usage
}

// loadAs returns where the load of a pod stands whose template is compiled.
func (g *grouping) loadAs(p *api.Pod, t *template, usage *Usage) int32 {
	if t.load > 0 && p.ResourceStatus == nil {
		return t.load - 1
	}
	place := g.loadOf(p, usage)
	if place != asTemplate && p.ResourceStatus == nil {
		t.load = place + 1
	}
	return place
}

// group returns the group of a shape and template, a new one if there is none.
func (g *grouping) group(s *Shape, template int) int32 {
	c := g.c
	id := s.identity(c.symbols, template)
	i, ok := c.groupOf[id]
	if ok {
		return i
	}
	g.ownGroups()
	added := Group{Shape: s, Template: template, id: id}
	if n := len(c.free); n > 0 {
		i = c.free[n-1]
		c.free = c.free[:n-1]
		c.groups[i] = added
	} else {
		i = int32(len(c.groups))
		c.groups = append(c.groups, added)
	}
	c.groupOf[id] = i
	if g.base != nil {
		g.added = append(g.added, i)
	}
	return i
}
