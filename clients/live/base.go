package live

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// base is a snapshot that deltas refer to.
type base struct {
	snapshot  *stowage.Snapshot
	names     []string // of its nodes, by index
	index     map[string]uint32
	templates int // number of templates
	// origins maps its parts to their objects; nil unless the base was built from the model.
	origins *origins
	upload  upload
}

// origins maps the parts of a cluster, by index, to their objects.
type origins struct {
	classes [][]string // the nodes of each
	// parts leave out objects of the other lists, by the name of the list.
	parts map[string]leaveOut
}

// rebuild builds a base from the whole model. The caller holds the mutex.
func (c *Cluster) rebuild() error {
	m := c.model
	c.base = nil // the model is about to renumber its templates
	m.renumber()
	cluster, from := &stowagev1.Cluster{PodTemplates: m.templates.list}, &origins{parts: map[string]leaveOut{}}
	for _, p := range m.parts() {
		from.parts[p.path()] = p.list(cluster)
	}
	var names []string
	var whole []*stowagev1.Node
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		if n := m.nodes[name]; n.message != nil {
			names = append(names, name)
			whole = append(whole, n.full())
		}
	}
	cluster.Nodes, cluster.NodeClasses = compact.Nodes(whole)
	from.classes = make([][]string, len(cluster.NodeClasses))
	for i, n := range cluster.Nodes {
		if n.ClassIndex != nil {
			from.classes[n.GetClassIndex()] = append(from.classes[n.GetClassIndex()], names[i])
		}
	}
	snapshot, err := stowage.NewSnapshot(cluster)
	if err != nil {
		return err
	}
	c.base = &base{
		snapshot: snapshot, names: names, index: indexed(names), templates: len(m.templates.list),
		origins: from,
	}
	m.settle()
	m.refused.prune(m.pods, m.nominated)
	return nil
}

// renumber drops unused templates.
func (m *model) renumber() {
	if len(m.templates.list) == m.templates.used {
		return
	}
	var moves []uint32
	m.templates, moves = m.templates.renumbered()
	for uid, p := range m.pods {
		p.counted.template = moves[p.counted.template]
		if p.named != nil {
			// Views share these messages.
			p.named = onTemplate(p.named, p.counted.template)
			m.nodes[p.node].named[uid] = p.named
		}
	}
	for uid, p := range m.nominated {
		p.counted.template = moves[p.counted.template]
		if p.named != nil {
			p.named = onTemplate(p.named, p.counted.template)
			if m.pods[uid] == nil { // otherwise it is hidden, and its node may be unknown
				m.nodes[p.node].nominated[uid] = p.named
			}
		}
	}
	for _, n := range m.nodes {
		counts := make(map[counted]uint32, len(n.counts))
		for key, count := range n.counts {
			counts[counted{moves[key.template], key.terminating, key.readiness}] = count
		}
		n.counts = counts
	}
}

// onTemplate returns a pod's message with another template.
func onTemplate(p *stowagev1.Pod, template uint32) *stowagev1.Pod {
	out := compact.Shallow(p)
	out.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: template}
	return out
}
