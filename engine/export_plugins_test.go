package engine

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// WithPlugins returns c with additional plugins, which run last.
func (c *Cluster) WithPlugins(plugins ...*plugin.Plugin) *Cluster {
	more := newCluster(c.compiled)
	more.plugins = slices.Concat(more.plugins, plugins)
	return more
}
