package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Cluster is a compiled cluster.
type Cluster struct {
	// Names are the nodes' names.
	Names []string
	// Unschedulable is the nodes with spec.unschedulable.
	Unschedulable nodeset.Set

	columns
	resources   *Resources
	symbols     *intern.Table                 // frozen
	index       []uint32                      // node by id of its name, noNode for other strings; may be shorter than symbols
	kinds       []*kind                       // kinds[0] is for nodes without a class; nil if the class was removed
	images      map[string]*Sparse[int64]     // sizes by name, of nodes' own images; kinds have others
	imagesMoved Moved                         // since images was made
	nominated   map[string]*Sparse[*nominees] // by nomineesColumn
	classes     []*api.NodeClass

	population
	objects
	memos
	account
}

// population is the pods of the nodes, in groups of equal ones.
type population struct {
	podTemplates []*api.PodTemplate
	templates    list[template] // by index
	loads        []load
	groups       list[Group]
	groupOf      groupIDs      // by shape and template
	ports        []int         // groups with host ports
	volumeGroups []int         // groups with claims or disks
	terms        []*groupTerms // of all groups, one behind the other
}

// objects are what the API server has besides nodes and pods.
type objects struct {
	namespaces []namespace
	byName     map[intern.ID]selector.Labels // namespace labels by name
	workloads  workloads
	budgets    Budgets
	podGroups  podGroups
	storage    *Storage
	devices    *Devices
}

// memos are caches of values computed from the other fields. Derived clusters share the caches that are still valid.
type memos struct {
	domains     *domains
	strings     intern.ID // the first id of the strings that no label of a node has
	counts      *counts
	perNode     *perNode
	attachments *attachments
	// attachedBefore is nil if nothing is known.
	attachedBefore *attachedBefore
	reaches        *reaches
	found          *founds
}

type namespace struct {
	name   intern.ID
	labels selector.Labels
}

const noNode = ^uint32(0)

// Compile builds a cluster whose nodes have more fields than others. If the context ends first, it returns the context's error.
func Compile(ctx context.Context, input *api.Cluster, more ...AnyField) (*Cluster, error) {
	b := NewBuilder(more...)
	b.Grow(len(input.Nodes))
	for _, ns := range input.Namespaces {
		b.AddNamespace(ns)
	}
	for _, s := range input.WorkloadSelectors {
		b.AddWorkloadSelector(s)
	}
	for _, p := range input.Budgets {
		b.AddPodDisruptionBudget(p)
	}
	for _, g := range input.PodGroups {
		b.AddPodGroup(g)
	}
	b.SetStorage(input.Storage)
	b.SetDevices(input.Devices)
	for _, t := range input.Templates {
		b.AddTemplate(t)
	}
	for _, class := range input.Classes {
		b.AddClass(class)
	}
	for i := range input.Nodes {
		if err := b.AddNode(ctx, &input.Nodes[i]); err != nil {
			return nil, err
		}
	}
	return b.Build(), ctx.Err()
}

// Len returns the number of nodes.
func (c *Cluster) Len() int { return len(c.Names) }

// Node returns the index of the node with a name.
func (c *Cluster) Node(name string) (uint32, bool) {
	id, ok := c.symbols.Lookup(name)
	if !ok || int(id) >= len(c.index) || c.index[id] == noNode {
		return 0, false
	}
	return c.index[id], true
}

// Templates returns the pod templates by index.
func (c *Cluster) Templates() []*api.PodTemplate { return c.podTemplates }

// Classes returns the node classes by index.
func (c *Cluster) Classes() []*api.NodeClass { return c.classes }

// PodsOn returns the number of pods on a node.
func (c *Cluster) PodsOn(node uint32) int64 { return c.resources.PodsOn(node) }

// Amounts returns the resources of the nodes. They must not be changed.
func (c *Cluster) Amounts() *Resources { return c.resources }

// Compare orders groups by their first pod in the cluster. Their indexes depend on the changes that led to the cluster.
func (c *Cluster) Compare(a, b int) int {
	x, y := c.groups.get(a).Nodes[0], c.groups.get(b).Nodes[0]
	return cmp.Or(cmp.Compare(x, y), c.CompareOn(x, a, b))
}

// CompareOn orders groups by their first pod on a node. Groups without pods there come last.
func (c *Cluster) CompareOn(node uint32, a, b int) int {
	pods := c.row(node).pods
	place := func(group int) int {
		if i := slices.IndexFunc(pods, func(p podsOf) bool { return int(p.group) == group }); i >= 0 {
			return i
		}
		return len(pods)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}
