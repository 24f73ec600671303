package cluster

import (
	"context"
	"maps"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// grouping puts pods into groups while a cluster is compiled.
type grouping struct {
	c *Cluster
	// own holds the compiled templates of pods with templates of their own.
	own   map[indexed]*ownTemplate
	loads distinct[load]
	// seen holds, by group, the group's index in row.pods of the node with the stamp.
	seen  []struct{ stamp, place int32 }
	stamp int32
	arena arena[podsOf]
	// known has the groups of the pods of the cluster's templates.
	known []groupsOf

	ownIDs bool // whether c.groupOf is no longer the base's
}

// indexed is a template with the index that its pods state.
type indexed struct {
	*api.PodTemplate
	index int
}

// template is a compiled pod template.
type template struct {
	usage  Usage
	shape  *Shape // of its running pods without labels of their own
	source *api.PodTemplate
	index  int // -1 if it is not one of the cluster's templates
}

// ownTemplate is a template of pods with templates of their own, with what is known of its pods.
type ownTemplate struct {
	template
	groups groupsOf
	load   int32 // its pods' index in Cluster.loads, plus one; 0 if unknown
}

// groupsOf are the groups of a template's pods without labels of their own, by podState, plus one; 0 if unknown.
type groupsOf [podStates]int32

func (g *grouping) addNode(ctx context.Context, n *Draft, node *api.Node) error {
	g.stamp++
	if n.counted {
		for i := range n.row.pods {
			p := &n.row.pods[i]
			p.group = g.groupOf(int(p.group)/podStates, int(p.group)%podStates)
		}
		return nil
	}
	n.row.pods = g.arena.take(len(node.PodCounts) + len(node.Pods))
	for i := range node.PodCounts {
		p := &node.PodCounts[i]
		g.count(n, g.groupOf(p.Template, podState(p.Terminating, p.Readiness)), p.Count)
	}
	for i := range node.Pods {
		if i%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := &node.Pods[i]
		group, usage, load := g.pod(p)
		g.count(n, group, 1)
		n.occupy(usage, 1)
		named := &n.row.named[i]
		named.Group, named.load, named.started, named.unread = group, load, startOf(p), unreadOf(p)
	}
	n.row.pods = g.arena.keep(n.row.pods)
	return nil
}

// occupyCounted adds the requests of counted pods to the node's amounts. The sums stay in registers.
func (n *Draft) occupyCounted(templates *list[template], counts []api.PodCount) {
	var all, cpu, memory, storage, defaultedCPU, defaultedMemory int64
	for i := range counts {
		p := &counts[i]
		u, count := &templates.get(p.Template).usage, int64(p.Count)
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

// groupOf returns the group of the pods of a template of the cluster that have no labels of their own.
func (g *grouping) groupOf(template, state int) int32 {
	if more := g.c.templates.len() - len(g.known); more > 0 {
		g.known = append(g.known, make([]groupsOf, more)...)
	}
	return g.groupIn(&g.known[template], g.c.templates.get(template), state)
}

// groupIn returns the group of a template's pods without labels of their own, which groups has from then on.
func (g *grouping) groupIn(groups *groupsOf, t *template, state int) int32 {
	group := &groups[state]
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
func (g *grouping) compiled(source *api.PodTemplate, index int) template {
	return template{
		source: source,
		index:  index,
		shape:  compileShape(g.c.symbols, source, "", nil, false, nil),
		usage:  usageOf(&source.Spec, nil),
	}
}

// pod returns the group, usage and load of a named pod. It compiles each template once.
func (g *grouping) pod(p *api.Pod) (group int32, usage *Usage, load int32) {
	var own *ownTemplate
	var t *template
	if p.TemplateIndex >= 0 && g.c.podTemplates[p.TemplateIndex] == p.Template {
		t = g.c.templates.get(p.TemplateIndex)
	} else {
		own = g.ownOf(p)
		t = &own.template
	}
	usage = &t.usage
	if p.ResourceStatus != nil {
		status := usageOf(&p.Template.Spec, p.ResourceStatus)
		usage = &status
	}
	load = g.loadOf(p, own, usage)
	if len(p.Labels) == 0 && (p.Name == "" || !ClaimsOfPods(&p.Template.Spec)) {
		state := podState(p.Terminating, p.Readiness)
		if own != nil {
			return g.groupIn(&own.groups, t, state), usage, load
		}
		return g.groupOf(p.TemplateIndex, state), usage, load
	}
	shape := compileShape(g.c.symbols, p.Template, p.Name, p.Labels, p.Terminating, t.shape.Rules)
	if !p.Terminating {
		shape.Readiness = p.Readiness
	}
	return g.group(shape, t.index), usage, load
}

// ownOf returns the template of a pod with a template of its own.
func (g *grouping) ownOf(p *api.Pod) *ownTemplate {
	key := indexed{p.Template, p.TemplateIndex}
	own := g.own[key]
	if own == nil {
		own = &ownTemplate{template: g.compiled(p.Template, p.TemplateIndex)}
		g.own[key] = own
	}
	return own
}

// group returns the group of a shape and template. It adds a new one.
func (g *grouping) group(s *Shape, template int) int32 {
	c := g.c
	id := s.identity(c.symbols, template)
	i, ok := c.groupOf.find(id)
	if ok {
		return i
	}
	if !g.ownIDs {
		c.groupOf, g.ownIDs = c.groupOf.derive(), true
	}
	i = int32(c.groups.len())
	c.groups.append(Group{Shape: s, Template: template})
	c.groupOf.upper[id] = i
	return i
}

// groupIDs is the groups by the identity of their shape and template, in two maps: a derived cluster shares the lower one, and copies the
// upper one before it adds to it.
type groupIDs struct{ lower, upper map[intern.ID]int32 }

func (g *groupIDs) find(id intern.ID) (group int32, known bool) {
	if group, known = g.upper[id]; !known {
		group, known = g.lower[id]
	}
	return group, known
}

// derive returns the groups for an owner that may add others.
func (g *groupIDs) derive() groupIDs {
	if len(g.upper)*unindexedShare <= len(g.lower) {
		upper := make(map[intern.ID]int32, len(g.upper)+1)
		maps.Copy(upper, g.upper)
		return groupIDs{g.lower, upper}
	}
	lower := g.upper
	if len(g.lower) > 0 {
		lower = maps.Clone(g.lower)
		maps.Copy(lower, g.upper)
	}
	return groupIDs{lower, make(map[intern.ID]int32)}
}

func (g *groupIDs) len() int { return len(g.lower) + len(g.upper) }
