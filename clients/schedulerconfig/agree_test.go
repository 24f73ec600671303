package schedulerconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// TestPluginsAgree compares the evaluated plugins with a server's: their order, which of them filter, and their
// default weights.
func TestPluginsAgree(t *testing.T) {
	want := decode.ProfileInfo()
	// A configuration has neither gates nor a release that it was compared with.
	got := &stowagev1.ProfileInfo{Name: want.Name, FeatureGates: want.FeatureGates, ComparedRelease: want.ComparedRelease}
	for _, p := range plugins {
		if p.id == stowagev1.Plugin_PLUGIN_UNSPECIFIED {
			continue
		}
		info := &stowagev1.PluginInfo{Plugin: p.id, Filters: p.at.filters()}
		if p.at.score {
			info.DefaultWeight = &p.weight
		}
		got.Plugins = append(got.Plugins, info)
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}
