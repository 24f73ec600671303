package cluster

import (
	"context"
	"maps"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// grouping puts pods into groups while a cluster is compiled.
type grouping struct {
	c *Cluster
	// own holds the compiled templates of pods with templates of their own.
	own   map[indexed]*template
	loads distinct[load]
	// seen holds, by group, the group's index in row.pods of the node with the stamp.
	seen  []struct{ stamp, place int32 }
	stamp int32
	arena arena[podsOf]
	// counted holds the groups of counted pods plus one, by podsOf.group of a draft; 0 if unknown.
	counted []int32

	ownGroupOf bool // whether c.groupOf is no longer the base's
}

// indexed is a template with the index that its pods state.
type indexed struct {
	*api.PodTemplate
	index int
}

// template is a compiled pod template. What each of its pods needs comes first, so that it shares a cache line.
type template struct {
	// groups are those of its pods without labels of their own, by podState, plus one; 0 if unknown.
	groups [podStates]int32

	usage  Usage
	shape  *Shape // of its running pods without labels of their own
	load   int32  // its pods' index in Cluster.loads, plus one; 0 if unknown
	stated *api.PodTemplate
	index  int // -1 if it is not one of the cluster's templates
}

func (g *grouping) addNode(ctx context.Context, n *Draft, node *api.Node) error {
	g.stamp++
	if n.counted {
		if more := podStates*len(g.c.templates) - len(g.counted); more > 0 {
			g.counted = append(g.counted, make([]int32, more)...)
		}
		for i := range n.row.pods {
			p := &n.row.pods[i]
			group := &g.counted[p.group]
			if *group == 0 {
				*group = g.groupOf(&g.c.templates[int(p.group)/podStates], int(p.group)%podStates) + 1
			}
			p.group = *group - 1
		}
		return nil
	}
	n.row.pods = g.arena.take(len(node.PodCounts) + len(node.Pods))
	for i := range node.PodCounts {
		p := &node.PodCounts[i]
		g.count(n, g.groupOf(&g.c.templates[p.Template], podState(p.Terminating, p.Readiness)), p.Count)
	}
	for i := range node.Pods {
		if i%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := &node.Pods[i]
		group, t, usage := g.pod(p)
		g.count(n, group, 1)
		n.occupy(usage, 1)
		named := &n.row.named[i]
		named.Group, named.load, named.started, named.unread = group, g.loadOf(p, t, usage), startOf(p), unreadOf(p)
	}
	n.row.pods = g.arena.keep(n.row.pods)
	return nil
}

// occupyCounted adds the requests of counted pods to the node's amounts. The sums stay in registers.
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
	n.amounts[Requested(CPU)] += cpu
	n.amounts[Requested(Memory)] += memory
	n.amounts[Requested(EphemeralStorage)] += storage
	n.amounts[Requested(Pods)] += all
	n.amounts[Defaulted(CPU)] += defaultedCPU
	n.amounts[Defaulted(Memory)] += defaultedMemory
}

// count adds pods to the node with the current stamp.
func (g *grouping) count(n *Draft, group, count int32) {
	if more := int(group) + 1 - len(g.seen); more > 0 {
		g.seen = append(g.seen, make([]struct{ stamp, place int32 }, more)...)
	}
	s := &g.seen[group]
	if s.stamp == g.stamp {
		n.row.pods[s.place].count += count
		return
	}
	s.stamp, s.place = g.stamp, int32(len(n.row.pods))
	n.row.pods = append(n.row.pods, podsOf{group, count})
}

// groupOf returns the group of a template's pods without labels of their own.
func (g *grouping) groupOf(t *template, state int) int32 {
	group := &t.groups[state]
	if *group == 0 {
		shape := t.shape
		if state != 0 {
			shape = shape.in(state)
		}
		*group = g.group(shape, t.index) + 1
	}
	return *group - 1
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

// pod returns the group, template and usage of a named pod. It compiles each template once.
func (g *grouping) pod(p *api.Pod) (group int32, t *template, usage *Usage) {
	if p.TemplateIndex >= 0 && g.c.stated[p.TemplateIndex] == p.Template {
		t = &g.c.templates[p.TemplateIndex]
	} else {
		key := indexed{p.Template, p.TemplateIndex}
		if t = g.own[key]; t == nil {
			own := g.compiled(p.Template, p.TemplateIndex)
			t = &own
			g.own[key] = t
		}
	}
	usage = &t.usage
	if p.ResourceStatus != nil {
		own := usageOf(&p.Template.Spec, p.ResourceStatus)
		usage = &own
	}
	if len(p.Labels) == 0 {
		return g.groupOf(t, podState(p.Terminating, p.Readiness)), t, usage
	}
	shape := compileShape(g.c.symbols, p.Template, p.Labels, p.Terminating, t.shape.Rules)
	if !p.Terminating {
		shape.Readiness = p.Readiness
	}
	return g.group(shape, t.index), t, usage
}

// group returns the group of a shape and template. It adds a new one.
func (g *grouping) group(s *Shape, template int) int32 {
	c := g.c
	id := s.identity(c.symbols, template)
	i, ok := c.groupOf[id]
	if ok {
		return i
	}
	if !g.ownGroupOf {
		c.groupOf, g.ownGroupOf = maps.Clone(c.groupOf), true
	}
	i = int32(len(c.groups))
	c.groups = append(c.groups, Group{Shape: s, Template: template})
	c.groupOf[id] = i
	return i
}
