package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// CompileWith compiles a cluster whose nodes have additional fields.
func CompileWith(ctx context.Context, stated *api.Cluster, fields ...cluster.AnyField) (*Cluster, error) {
	compiled, err := cluster.Compile(ctx, stated, fields...)
	if err != nil {
		return nil, err
	}
	return newCluster(compiled), nil
}

// WithPlugins returns c with additional plugins, which run last.
func (c *Cluster) WithPlugins(plugins ...*plugin.Plugin) *Cluster {
	more := newCluster(c.compiled)
	more.plugins = slices.Concat(more.plugins, plugins)
	return more
}
