package engine

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// PluginInfo describes a plugin.
type PluginInfo struct {
	Name verdict.Plugin
	// Filters reports whether the plugin can reject pods or nodes. A profile can disable that.
	Filters bool
	// Weight returns the field of the plugin's weight; nil if the plugin does not score.
	Weight func(*api.Weights) *int64
}

// Plugins returns the plugins in the order in which they run.
func Plugins() []PluginInfo {
	out := make([]PluginInfo, len(registry.Plugins))
	for i, p := range registry.Plugins {
		out[i] = PluginInfo{p.Name, p.PreEnqueue != nil || p.PreFilter != nil || p.Compile != nil, p.Weight}
	}
	return out
}
