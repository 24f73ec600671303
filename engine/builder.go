package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// Builder compiles a cluster part by part, for callers that do not hold all of it in memory at once. Templates and
// classes come before the nodes that refer to them; the builder keeps what they point to, which must not change. Of a
// node it keeps nothing: the node's strings and slices may be overwritten once AddNode returns. A Builder is for one
// goroutine.
type Builder struct{ compiling *cluster.Builder }

// NewBuilder returns a builder of an empty cluster.
func NewBuilder() *Builder { return &Builder{cluster.NewBuilder()} }

// Fork returns a builder with everything that b has except its nodes. Nothing may be added to b afterwards. Forks of
// one builder may be made and used concurrently.
func (b *Builder) Fork() *Builder { return &Builder{b.compiling.Fork()} }

// Grow reserves memory for a number of nodes.
func (b *Builder) Grow(nodes int) { b.compiling.Grow(nodes) }

// AddTemplate adds the next pod template of the cluster.
func (b *Builder) AddTemplate(t *api.PodTemplate) { b.compiling.AddTemplate(t) }

// AddClass adds the next node class of the cluster.
func (b *Builder) AddClass(class *api.NodeClass) { b.compiling.AddClass(class) }

// AddNode adds the next node with its pods. If the context ends first, it returns the context's error, and the builder
// is unusable.
func (b *Builder) AddNode(ctx context.Context, node *api.Node) error {
	return b.compiling.AddNode(ctx, node)
}

// Draft is a node that is prepared for AddDraft.
type Draft = cluster.Draft

// Preparer returns a function that prepares nodes for AddDraft, concurrently with other preparers and with the addition
// of nodes, but not of templates and classes. The function is for one goroutine. A node and its draft must stay
// unchanged until AddDraft.
func (b *Builder) Preparer() func(*Draft, *api.Node) { return b.compiling.Preparer() }

// AddDraft is AddNode for a prepared node.
func (b *Builder) AddDraft(ctx context.Context, n *Draft, node *api.Node) error {
	return b.compiling.AddDraft(ctx, n, node)
}

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(ns api.Namespace) { b.compiling.AddNamespace(ns) }

// AddWorkloadSelector adds a selector for default spreading.
func (b *Builder) AddWorkloadSelector(s api.WorkloadSelector) { b.compiling.AddWorkloadSelector(s) }

// SetStorage sets the storage objects, which must be sorted and not change afterwards.
func (b *Builder) SetStorage(s api.Storage) { b.compiling.SetStorage(s) }

// SetDevices sets the objects that give devices, which must be sorted and not change afterwards.
func (b *Builder) SetDevices(d api.Devices) { b.compiling.SetDevices(d) }

// AddPodDisruptionBudget adds a budget for preemption.
func (b *Builder) AddPodDisruptionBudget(p api.PodDisruptionBudget) {
	b.compiling.AddPodDisruptionBudget(p)
}

// AddPodGroup adds a pod group.
func (b *Builder) AddPodGroup(g api.PodGroup) { b.compiling.AddPodGroup(g) }

// Build returns the compiled cluster. The builder must not be used afterwards.
func (b *Builder) Build() *Cluster { return newCluster(b.compiling.Build()) }
