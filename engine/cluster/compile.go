package cluster

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/intern"
	"github.com/stowage-scheduler/stowage/engine/memo"
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/selector"
	"github.com/stowage-scheduler/stowage/engine/topology"
)

// Bounds of what a cluster remembers. A column costs 4 bytes a node, counts 8 bytes a domain.
const (
	maxColumns = 256
	maxCounts  = 1024
)

// Cluster is a compiled cluster.
type Cluster struct {
	// Names are the nodes' names.
	Names []string
	// Unschedulable is the nodes with spec.unschedulable.
	Unschedulable nodeset.Set
	Taints        Taints
	Images        map[string]*Image

	symbols    *intern.Table // frozen
	index      map[string]uint32
	labels     []selector.Labels // by node
	resources  *Resources
	namespaces []namespace
	byName     map[intern.ID]selector.Labels // namespace labels by name
	workloads  workloads
	groups     []Group
	roles      roles
	named      [][]NamedPod // by node, in the order stated

	columns memo.Map[intern.ID, *topology.Column]
	counts  memo.Map[string, []int64]
}

type namespace struct {
	name   intern.ID
	labels selector.Labels
}

// Compile compiles a stated cluster. It returns the context's error if that ends first.
func Compile(ctx context.Context, stated *api.Cluster) (*Cluster, error) {
	n := len(stated.Nodes)
	c := &Cluster{
		Names:         make([]string, n),
		Unschedulable: nodeset.New(n),
		Taints:        compileTaints(stated.Nodes),
		Images:        compileImages(stated.Nodes),
		symbols:       intern.New(),
		index:         make(map[string]uint32, n),
		labels:        make([]selector.Labels, n),
		resources:     newResources(stated.Nodes),
		byName:        make(map[intern.ID]selector.Labels, len(stated.Namespaces)),
		named:         make([][]NamedPod, n),
	}
	c.columns.Limit = maxColumns
	c.counts.Limit = maxCounts
	for _, ns := range stated.Namespaces {
		compiled := namespace{c.symbols.Intern(ns.Name), selector.CompileLabels(c.symbols, ns.Labels)}
		c.namespaces = append(c.namespaces, compiled)
		c.byName[compiled.name] = compiled.labels
	}
	c.workloads = compileWorkloads(c.symbols, stated.WorkloadSelectors)

	pods := grouping{cluster: c, stated: stated, templates: make(map[templateKey]*compiledTemplate), shapes: newShapes()}
	for i := range stated.Nodes {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		node := &stated.Nodes[i]
		c.Names[i] = node.Name
		c.index[node.Name] = uint32(i)
		c.labels[i] = selector.CompileLabels(c.symbols, node.Labels)
		if node.Unschedulable {
			c.Unschedulable.Add(uint32(i))
		}
		if err := pods.addNode(ctx, uint32(i), node); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Len returns the number of nodes.
func (c *Cluster) Len() int { return len(c.Names) }

// Node returns the index of the node with a name.
func (c *Cluster) Node(name string) (uint32, bool) {
	i, ok := c.index[name]
	return i, ok
}

// Named returns the pods on a node that were stated one by one.
func (c *Cluster) Named(node uint32) []NamedPod { return c.named[node] }
