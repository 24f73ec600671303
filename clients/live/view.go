package live

import (
	"maps"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// View is the cluster at one moment. Responses to requests with Reference use its node indexes.
type View struct {
	version uint64
	base    *base
	delta   *stowagev1.ClusterDelta // nil if nothing differs from the base
	names   []string
	index   map[string]uint32
	refused map[string]string
}

// Reference refers to the cluster in requests.
func (v *View) Reference() *stowagev1.SnapshotReference {
	return &stowagev1.SnapshotReference{Address: v.base.snapshot.Address(), Delta: v.delta}
}

// Version increases with every change of a field of the contract that decisions about nodes read. Views with one version
// may differ in PodDisruptionBudgets and start times.
func (v *View) Version() uint64 { return v.version }

// NodeCount is the number of nodes.
func (v *View) NodeCount() int { return len(v.names) }

// TemplateCount is the number of pod templates: the index of the first one that a delta to the view adds.
func (v *View) TemplateCount() int { return v.base.templates + len(v.delta.GetPodTemplates()) }

// NodeName is the name of a node by its index.
func (v *View) NodeName(index uint32) string { return v.names[index] }

// NodeIndex finds a node by its name.
func (v *View) NodeIndex(name string) (uint32, bool) {
	i, ok := v.index[name]
	return i, ok
}

// Refused returns why a node accepts no pods and may be missing from the view: Stowage rejects the node, or the resources of
// a pod on it are unknown. It is "" for other nodes.
func (v *View) Refused(node string) string { return v.refused[node] }

// A delta beyond these limits becomes part of a new base, because every request carries and applies the delta.
const (
	differentNodes     = 64
	differentTemplates = 64
	differentOthers    = 256
)

// current builds the view of the current state. The caller holds the mutex.
func (c *Cluster) current() (*View, error) {
	m := c.model
	if c.view != nil {
		return c.view, nil
	}
	m.convertDevices()
	switch {
	case c.base == nil || !c.base.upload.inProgress() && m.templates.wasteful():
		if err := c.rebuild(); err != nil {
			return nil, err
		}
	case c.base.upload.inProgress(): // another base would need a complete upload as well
	case len(m.dirty) > differentNodes || len(m.templates.list)-c.base.templates > differentTemplates || m.differentParts() > differentOthers:
		if err := c.rebase(); err != nil {
			return nil, err
		}
	}
	v := &View{version: m.version, base: c.base, names: c.base.names, index: c.base.index}
	v.delta = m.delta(c.base)
	if d := v.delta; d != nil && (len(d.RemovedNodes) > 0 || slices.ContainsFunc(d.Nodes, func(n *stowagev1.Node) bool {
		_, there := c.base.index[n.Name]
		return !there
	})) {
		v.names, v.index = c.base.after(d)
	}
	v.refused = m.refusedNodes()
	c.view = v
	return v, nil
}

// rebase makes the delta part of the base.
func (c *Cluster) rebase() error {
	d := c.model.delta(c.base)
	if d == nil {
		c.model.settle()
		return nil
	}
	snapshot, err := c.base.snapshot.With(d)
	if err != nil {
		c.log.Debug("the delta does not apply: building a new base", "error", err)
		return c.rebuild()
	}
	names, index := c.base.after(d)
	c.base = &base{snapshot: snapshot, names: names, index: index, templates: len(c.model.templates.list)}
	c.model.settle()
	return nil
}

// settle makes the current state the base.
func (m *model) settle() {
	clear(m.dirty)
	for _, p := range m.parts() {
		p.settle()
	}
}

// differentParts is the number of objects besides nodes that differ from the base, or may.
func (m *model) differentParts() (n int) {
	for _, p := range m.parts() {
		n += p.changes()
	}
	return n
}

// after returns the nodes of the base after a delta.
func (b *base) after(d *stowagev1.ClusterDelta) (names []string, index map[string]uint32) {
	gone := make(map[string]bool, len(d.RemovedNodes))
	for _, name := range d.RemovedNodes {
		gone[name] = true
	}
	names = slices.DeleteFunc(slices.Clone(b.names), func(name string) bool { return gone[name] })
	for _, n := range d.Nodes {
		if _, there := b.index[n.Name]; !there {
			names = append(names, n.Name)
		}
	}
	return names, indexed(names)
}

func indexed(names []string) map[string]uint32 {
	index := make(map[string]uint32, len(names))
	for i, name := range names {
		index[name] = uint32(i)
	}
	return index
}

// delta returns the difference to the base, nil if there is none.
func (m *model) delta(b *base) *stowagev1.ClusterDelta {
	d := &stowagev1.ClusterDelta{}
	for i := b.templates; i < len(m.templates.list); i++ {
		d.PodTemplates = append(d.PodTemplates, &stowagev1.IndexedPodTemplate{Index: uint32(i), Template: m.templates.list[i]})
	}
	different := len(d.PodTemplates) > 0
	for _, name := range slices.Sorted(maps.Keys(m.dirty)) {
		different = m.nodes[name].difference(name, m.dirty[name], d) || different
	}
	for _, p := range m.parts() {
		different = p.difference(d) || different
	}
	if different {
		return d
	}
	return nil
}
