package decode

import (
	"cmp"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain decodes a DrainRequest except for its cluster.
func (r *Request) Drain(in *stowagev1.DrainRequest) engine.DrainOptions {
	o := engine.DrainOptions{
		Profile:       r.profile(in.GetContext().GetProfile()),
		Nodes:         r.someNodes("nodes", in.GetNodes()),
		Targets:       r.someNodes("target_nodes", in.GetTargetNodes()),
		Seed:          in.GetTieBreakSeed(),
		FewestPods:    r.fewestPods(in.GetTieBreak()),
		IgnoreBudgets: in.GetIgnoreBudgets(),
		Force:         in.GetForce(),

		DeleteEmptyDirData: in.GetDeleteEmptyDirData(), RefuseDaemonSetPods: in.GetRefuseDaemonSetPods(),
		Moves: in.GetIncludeMoves(),
		Steps: defaultDrainSteps,
	}
	mode := cmp.Or(in.GetMode(), stowagev1.DrainMode_DRAIN_MODE_EACH)
	o.Mode, _ = enum(&r.problems, nil, "mode", mode, engine.DrainEach, engine.DrainTogether, engine.DrainLargestSet)
	o.Scheduler, o.Terminating = r.scheduler(in.GetQueueMode()), r.terminating(in.GetEvictedPods())
	if in.MaxSteps != nil {
		at := path{name: "max_steps"}
		o.Steps = int(in.GetMaxSteps())
		if r.between(at, int64(o.Steps), 1, MaxSteps); mode != stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET {
			r.refuse(at, notAllowed, "is only allowed with DRAIN_MODE_LARGEST_SET")
		}
	}
	return o
}
