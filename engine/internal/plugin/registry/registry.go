// Package registry lists the plugins.
package registry

import (
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/defaultpreemption"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/dynamicresources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodedeclaredfeatures"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodename"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeunschedulable"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodevolumelimits"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/schedulinggates"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/topologyplacement"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/volumebinding"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/volumerestrictions"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/volumezone"
)

// Plugins are the plugins in the order in which kube-scheduler's default profile runs them
// (pkg/scheduler/apis/config/v1/default_plugins.go, v1.37).
var Plugins = []*plugin.Plugin{
	schedulinggates.Plugin,
	nodename.Plugin,
	nodeunschedulable.Plugin,
	tainttoleration.Plugin,
	nodeaffinity.Plugin,
	nodeports.Plugin,
	noderesources.Fit,
	volumerestrictions.Plugin,
	nodevolumelimits.Plugin,
	volumebinding.Plugin,
	volumezone.Plugin,
	podtopologyspread.Plugin,
	interpodaffinity.Plugin,
	dynamicresources.Plugin,
	defaultpreemption.Plugin,
	noderesources.Balanced,
	imagelocality.Plugin,
	nodedeclaredfeatures.Plugin,
	topologyplacement.Plugin,
}
