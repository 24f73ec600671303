// Package topologyplacement names TopologyPlacementGenerator (pkg/scheduler/framework/plugins/topologyaware, v1.37). Package gang does its
// work, which is to choose the nodes on which a pod group is attempted.
package topologyplacement

import (
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is TopologyPlacementGenerator.
var Plugin = &plugin.Plugin{Name: verdict.TopologyPlacement}
