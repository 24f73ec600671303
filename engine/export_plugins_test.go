package engine

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// WithPlugins returns a cluster that is like c, with more plugins, which run last.
func (c *Cluster) WithPlugins(plugins ...*plugin.Plugin) *Cluster {
	more := newCluster(c.compiled)
	more.plugins = slices.Concat(more.plugins, plugins)
	return more
}
