package cluster

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// grouping puts pods into groups while a cluster is compiled.
type grouping struct {
	cluster   *Cluster
	stated    *api.Cluster
	templates map[templateKey]*compiledTemplate
	shapes    shapes
}

type templateKey struct {
	template    *api.PodTemplate
	terminating bool
}

type compiledTemplate struct {
	group int
	rules *Rules
	usage Usage
}

func (g *grouping) addNode(ctx context.Context, i uint32, node *api.Node) error {
	for _, pc := range node.PodCounts {
		t := g.template(g.stated.Templates[pc.Template], pc.Terminating, pc.Template)
		g.add(i, t.group, &t.usage, pc.Count)
	}
	for j := range node.Pods {
		if j%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := &node.Pods[j]
		t := g.pod(p)
		g.add(i, t.group, &t.usage, 1)
		g.cluster.named[i] = append(g.cluster.named[i], NamedPod{Name: p.Name, Group: int32(t.group)})
	}
	return nil
}

func (g *grouping) add(node uint32, group int, u *Usage, count int32) {
	g.cluster.resources.add(node, u, int64(count))
	m := &g.cluster.groups[group].Members
	if n := len(m.Nodes); n > 0 && m.Nodes[n-1] == node {
		m.Counts[n-1] += count
		return
	}
	m.Nodes = append(m.Nodes, node)
	m.Counts = append(m.Counts, count)
}

// pod compiles a pod stated one by one; what it shares with others by pointer only once.
func (g *grouping) pod(p *api.Pod) *compiledTemplate {
	if len(p.Labels) == 0 && p.ResourceStatus == nil && p.TemplateIndex >= 0 {
		return g.template(p.Template, p.Terminating, p.TemplateIndex)
	}
	if p.TemplateIndex < 0 {
		return &compiledTemplate{
			group: g.group(compileShape(g.cluster.symbols, p.Template, p.Labels, p.Terminating, nil), p.TemplateIndex),
			usage: usageOf(&p.Template.Spec, p.ResourceStatus),
		}
	}
	shared := g.template(p.Template, p.Terminating, p.TemplateIndex)
	shape := compileShape(g.cluster.symbols, p.Template, p.Labels, p.Terminating, shared.rules)
	own := &compiledTemplate{group: g.group(shape, p.TemplateIndex), usage: shared.usage}
	if p.ResourceStatus != nil {
		own.usage = usageOf(&p.Template.Spec, p.ResourceStatus)
	}
	return own
}

func (g *grouping) template(t *api.PodTemplate, terminating bool, index int) *compiledTemplate {
	key := templateKey{t, terminating}
	if c, ok := g.templates[key]; ok {
		return c
	}
	shape := compileShape(g.cluster.symbols, t, nil, terminating, nil)
	c := &compiledTemplate{group: g.group(shape, index), rules: shape.Rules, usage: usageOf(&t.Spec, nil)}
	g.templates[key] = c
	return c
}

func (g *grouping) group(s *Shape, template int) int {
	i, found := g.shapes.find(s, template, len(g.cluster.groups))
	if found {
		return i
	}
	g.cluster.groups = append(g.cluster.groups, Group{Shape: s, Template: template})
	g.cluster.roles.add(i, s)
	return i
}
