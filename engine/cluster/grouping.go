package cluster

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// grouping puts pods into groups while a cluster is compiled.
type grouping struct {
	c *Cluster
	// byPointer holds what was compiled of templates that pods have for themselves.
	byPointer map[templateKey]*template
	// seen says where in the row of the node at hand a group is. Stamps tell nodes apart.
	seen  []struct{ stamp, place int32 }
	stamp int32
	arena arena[podsOf]

	// base is the cluster that c derives from; nil if none.
	base   *Cluster
	added  []int32 // groups that base does not have
	ownIDs bool    // whether c.groupOf is no longer the base's
}

type templateKey struct {
	stated *api.PodTemplate
	index  int
}

// template is a compiled pod template.
type template struct {
	stated *api.PodTemplate
	index  int // -1 if it is some pods' own
	rules  *Rules
	usage  Usage
	groups [2]int32 // of its pods without anything of their own, the terminating ones second; noGroup until one was met
}

const noGroup = -1

func (g *grouping) addNode(ctx context.Context, n *draft, node *api.Node) error {
	g.stamp++
	n.row.pods = g.arena.take(len(node.PodCounts) + len(node.Pods))
	for i := range node.PodCounts {
		p := &node.PodCounts[i]
		t := g.template(p.Template)
		g.count(n, g.groupOf(t, p.Terminating), p.Count)
		n.occupy(&t.usage, int64(p.Count))
	}
	if len(node.Pods) > 0 {
		size := 0
		for i := range node.Pods {
			size += len(node.Pods[i].Name)
		}
		names := make([]byte, 0, size)
		n.row.named = make([]NamedPod, len(node.Pods))
		for i := range node.Pods {
			if i%16 == 15 && ctx.Err() != nil {
				return ctx.Err()
			}
			p := &node.Pods[i]
			group, usage := g.pod(p)
			g.count(n, group, 1)
			n.occupy(usage, 1)
			n.row.named[i].Group = group
			names = append(names, p.Name...)
		}
		all := string(names)
		for i := range node.Pods {
			length := len(node.Pods[i].Name)
			n.row.named[i].Name, all = all[:length], all[length:]
		}
	}
	n.row.pods = g.arena.keep(n.row.pods)
	return nil
}

// count counts pods on the node at hand.
func (g *grouping) count(n *draft, group, count int32) {
	if int(group) >= len(g.seen) {
		g.seen = append(g.seen, make([]struct{ stamp, place int32 }, int(group)+1-len(g.seen))...)
	}
	s := &g.seen[group]
	if s.stamp == g.stamp {
		n.row.pods[s.place].count += count
		return
	}
	s.stamp, s.place = g.stamp, int32(len(n.row.pods))
	n.row.pods = append(n.row.pods, podsOf{group, count})
}

// template returns the compiled template with an index.
func (g *grouping) template(index int) *template {
	t := g.c.templates[index]
	if t == nil {
		t = g.compile(g.c.stated[index], index)
		g.c.templates[index] = t
	}
	return t
}

func (g *grouping) compile(stated *api.PodTemplate, index int) *template {
	shape := compileShape(g.c.symbols, stated, nil, false, nil)
	return &template{
		stated: stated,
		index:  index,
		rules:  shape.Rules,
		usage:  usageOf(&stated.Spec, nil),
		groups: [2]int32{noGroup, noGroup},
	}
}

// groupOf returns the group of a template's pods that have nothing of their own.
func (g *grouping) groupOf(t *template, terminating bool) int32 {
	i := 0
	if terminating {
		i = 1
	}
	if t.groups[i] == noGroup {
		group := g.group(compileShape(g.c.symbols, t.stated, nil, terminating, t.rules), t.index)
		g.setGroup(t, i, group)
		return group
	}
	return t.groups[i]
}

func (g *grouping) setGroup(t *template, i int, group int32) {
	if g.base != nil && t.index >= 0 && g.c.templates[t.index] == t {
		own := *t
		t = &own
		g.c.templates[t.index] = t
	}
	t.groups[i] = group
}

// pod returns the group of a pod stated one by one, and what it uses. What it shares with others by pointer is compiled
// once.
func (g *grouping) pod(p *api.Pod) (group int32, usage *Usage) {
	var t *template
	if p.TemplateIndex >= 0 && g.c.stated[p.TemplateIndex] == p.Template {
		t = g.template(p.TemplateIndex)
	} else {
		key := templateKey{p.Template, p.TemplateIndex}
		if t = g.byPointer[key]; t == nil {
			t = g.compile(p.Template, p.TemplateIndex)
			g.byPointer[key] = t
		}
	}
	usage = &t.usage
	if p.ResourceStatus != nil {
		own := usageOf(&p.Template.Spec, p.ResourceStatus)
		usage = &own
	}
	if len(p.Labels) == 0 {
		return g.groupOf(t, p.Terminating), usage
	}
	return g.group(compileShape(g.c.symbols, p.Template, p.Labels, p.Terminating, t.rules), t.index), usage
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
