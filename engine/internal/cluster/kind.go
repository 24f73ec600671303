package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// kind is a compiled node class.
type kind struct {
	class    *api.NodeClass
	labels   selector.Labels
	nameKeys []intern.ID    // keys of labels whose value is the node's name; they win over labels
	images   []named[int64] // with sizes, ascending, each name once
}

// noClass is the class of nodes without a class.
var noClass = &api.NodeClass{}

func compileKind(t *intern.Table, class *api.NodeClass) *kind {
	k := &kind{class: class, labels: selector.CompileLabels(t, class.Labels)}
	for _, key := range class.NameLabelKeys {
		k.nameKeys = append(k.nameKeys, t.Intern(key))
	}
	k.images = distinctNames(appendImages(nil, class.Images))
	return k
}

// ClassOf returns the class of a node, nil for none.
func (c *Cluster) ClassOf(node uint32) *api.NodeClass {
	if class := c.kindAt(node).class; class != noClass {
		return class
	}
	return nil
}

// Label returns the value of a node's label and whether the node has it.
func (c *Cluster) Label(node uint32, key intern.ID) (value intern.ID, present bool) {
	row := c.row(node)
	if v, ok := row.labels.Get(key); ok {
		return v, true
	}
	k := c.kindAt(node)
	if slices.Contains(k.nameKeys, key) {
		return row.name, true
	}
	return k.labels.Get(key)
}

// buildColumn builds the topology column of a key.
func (c *Cluster) buildColumn(key intern.ID) *topology.Column {
	return topology.Build(c.Len(), c.symbols.Len(), func(node uint32) (intern.ID, bool) { return c.Label(node, key) })
}

// Interned returns the number of strings, values of fields, node classes and pod loads, including entries that only removed nodes
// used.
func (c *Cluster) Interned() int {
	interned := c.symbols.Len() + len(c.kinds) + len(c.loads)
	for _, f := range c.fields {
		interned += f.values()
	}
	return interned
}
