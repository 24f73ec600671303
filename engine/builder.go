package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// Builder compiles a cluster part by part, for callers that do not want to hold all of it at once. Templates and classes
// come before the nodes that refer to them; what they point to is kept and must not change. Of a node nothing else is
// kept: its strings and slices may be overwritten once AddNode returns. A Builder is for one goroutine.
type Builder struct{ compiling *cluster.Builder }

// NewBuilder returns a builder of an empty cluster.
func NewBuilder() *Builder { return &Builder{cluster.NewBuilder()} }

// Fork returns a builder to add nodes to. Everything else is what b has, to which nothing must be added any more; b has no
// nodes. Forks of one builder may be made and used at once.
func (b *Builder) Fork() *Builder { return &Builder{b.compiling.Fork()} }

// Grow makes room for a number of nodes, so that adding them costs less.
func (b *Builder) Grow(nodes int) { b.compiling.Grow(nodes) }

// AddTemplate adds the next of the cluster's pod templates.
func (b *Builder) AddTemplate(t *api.PodTemplate) { b.compiling.AddTemplate(t) }

// AddClass adds the next of the cluster's node classes.
func (b *Builder) AddClass(class *api.NodeClass) { b.compiling.AddClass(class) }

// AddNode adds the next node with its pods. It returns the context's error if that ends first; the builder is of no use
// then.
func (b *Builder) AddNode(ctx context.Context, node *api.Node) error {
	return b.compiling.AddNode(ctx, node)
}

// Draft is a node that is prepared to be added.
type Draft = cluster.Draft

// Preparer returns what prepares nodes for AddDraft: it does what can be done while others prepare nodes or add them, but
// no templates and classes. It is for one goroutine. A node and its draft must stay as they are until AddDraft.
func (b *Builder) Preparer() func(*Draft, *api.Node) { return b.compiling.Drafts().Prepare }

// AddDraft is AddNode of a node that is prepared.
func (b *Builder) AddDraft(ctx context.Context, n *Draft, node *api.Node) error {
	return b.compiling.AddDraft(ctx, n, node)
}

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(ns api.Namespace) { b.compiling.AddNamespace(ns) }

// AddWorkloadSelector adds a selector for default spreading.
func (b *Builder) AddWorkloadSelector(s api.WorkloadSelector) { b.compiling.AddWorkloadSelector(s) }

// Build returns the compiled cluster. The builder must not be used afterwards.
func (b *Builder) Build() *Cluster { return newCluster(b.compiling.Build()) }
