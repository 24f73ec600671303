package encode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The engine's enumerations have the contract's numbers; the test of this file compares them name by name.

func plugin(p verdict.Plugin) stowagev1.Plugin { return stowagev1.Plugin(p) }

func reasonType(t verdict.ReasonType) stowagev1.RejectionReason { return stowagev1.RejectionReason(t) }

func topologyRule(r verdict.TopologyRule) stowagev1.TopologyRule { return stowagev1.TopologyRule(r) }

func groupStatus(s verdict.GroupStatus) stowagev1.PodGroupStatus { return stowagev1.PodGroupStatus(s) }

func uncountedReason(r verdict.UncountedReason) stowagev1.UncountedReason {
	return stowagev1.UncountedReason(r)
}

func taintEffect(e api.TaintEffect) stowagev1.TaintEffect { return stowagev1.TaintEffect(e) }

func resolvability(c verdict.Code) stowagev1.Resolvability { return stowagev1.Resolvability(c) }
