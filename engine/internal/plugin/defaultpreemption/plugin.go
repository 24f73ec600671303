// Package defaultpreemption names DefaultPreemption (pkg/scheduler/framework/plugins/defaultpreemption, v1.37). Package
// preempt does its work, which begins when the filters are done.
package defaultpreemption

import (
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is DefaultPreemption.
var Plugin = &plugin.Plugin{Name: verdict.DefaultPreemption}
