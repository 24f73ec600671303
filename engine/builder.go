package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/cluster"
)

// Builder compiles a cluster part by part, for callers that do not want to hold all of it at once. Templates and classes
// come before the nodes that refer to them; what they point to is kept and must not change. Of a node nothing else is
// kept: its strings and slices may be overwritten once AddNode returns. A Builder is for one goroutine.
type Builder struct{ compiling *cluster.Builder }

// NewBuilder returns a builder of an empty cluster.
func NewBuilder() *Builder { return &Builder{cluster.NewBuilder()} }

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

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(ns api.Namespace) { b.compiling.AddNamespace(ns) }

// AddWorkloadSelector adds a selector for default spreading.
func (b *Builder) AddWorkloadSelector(s api.WorkloadSelector) { b.compiling.AddWorkloadSelector(s) }

// Build returns the compiled cluster. The builder must not be used afterwards.
func (b *Builder) Build() *Cluster { return newCluster(b.compiling.Build()) }
