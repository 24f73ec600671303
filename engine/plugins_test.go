package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestPlugins proves that every plugin that a verdict can name is registered, once, and has a name.
func TestPlugins(t *testing.T) {
	var registered []verdict.Plugin
	for _, p := range engine.Plugins() {
		registered = append(registered, p.Name)
		if name := p.Name.String(); name == "" || strings.HasPrefix(name, "Plugin(") {
			t.Errorf("plugin %d has no name", p.Name)
		}
	}
	slices.Sort(registered)
	var all []verdict.Plugin
	for p := verdict.NoPlugin + 1; p < verdict.PluginCount; p++ {
		all = append(all, p)
	}
	same(t, registered, all)
}
