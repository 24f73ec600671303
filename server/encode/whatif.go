package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// WhatIf encodes the answer for a scenario of a WhatIfRequest.
func WhatIf(index int, in *stowagev1.Scenario, w *verdict.WhatIf, names Names) ([]byte, error) {
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+placementBytes*len(w.Placements))}
	e.message(&stowagev1.WhatIfResponse{ScenarioIndex: uint32(index), Name: in.GetName()})
	e.lengthDelimited(3, func() { e.place(&w.Place, "") })
	for i := range w.Requeued { // one message after the other: there may be a million
		r := &w.Requeued[i]
		out := &stowagev1.RequeuedPod{Pod: podReference(&r.Pod), Unknown: r.Unknown, Preempted: r.Preempted}
		if names != nil {
			out.NodeName = names[r.Pod.Node]
		}
		e.lengthDelimited(4, func() { e.message(out) })
	}
	e.message(&stowagev1.WhatIfResponse{Stopped: w.Stopped})
	return e.b, e.err
}
