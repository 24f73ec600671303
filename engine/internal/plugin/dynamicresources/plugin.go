// Package dynamicresources rejects nodes without devices for the pod's claims and extended resources
// (pkg/scheduler/framework/plugins/dynamicresources, v1.37).
package dynamicresources

import (
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is DynamicResources.
var Plugin = &plugin.Plugin{
	Name:      verdict.DynamicResources,
	PreFilter: preFilter,
	Compile:   compile,
	Waits:     waits,
	Explain:   explain,
	Score:     score,
	Weight:    func(w *api.Weights) *int64 { return &w.DynamicResources },
}

// preFilter rejects a pod whose claims cannot be used. kube-scheduler keeps most of these pods out of its queue with the same text
// (dynamicresources.go PreEnqueue and PreFilter, v1.37).
func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	d := c.State.DemandOf(c.Pod)
	if d == nil || d.Rejection == "" {
		return plugin.PreFilterResult{}
	}
	return plugin.PreFilterResult{Code: verdict.UnschedulableAndUnresolvable, Reason: verdict.Claim(d.Rejection)}
}

// compile rejects nodes as Filter does, and ends the cycle where a search fails.
func compile(c *plugin.Cycle, s *rule.Set) {
	d := c.State.DemandOf(c.Pod)
	if d == nil || d.Rejection != "" {
		return
	}
	reject := func(code verdict.Code, reason verdict.Reason, nodes nodeset.Set) {
		if !nodes.Empty() {
			s.Static = append(s.Static, rule.Static{ID: verdict.PodRule{Plugin: verdict.DynamicResources}, Code: code, Reason: reason, Rejected: nodes})
		}
	}
	if d.Left != nil {
		reject(verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(verdict.ReasonExtendedClaim), nodeset.Full(c.State.Len()))
		return
	}
	a := c.State.AllocationOf(c.Pod)
	for _, text := range slices.Sorted(maps.Keys(a.Errors)) {
		reject(verdict.Error, verdict.Claim(text), a.Errors[text])
	}
	for _, r := range [...]struct {
		reason verdict.ReasonType
		nodes  nodeset.Set
	}{
		{verdict.ReasonNotServed, a.Unserved}, {verdict.ReasonNoDevices, a.Impossible}, {verdict.ReasonInvalidPools, a.Invalid},
		{verdict.ReasonResourceClaimUnavailable, a.Unavailable}, {verdict.ReasonDevicesUndecided, a.Undecided},
	} {
		reject(verdict.UnschedulableAndUnresolvable, verdict.ReasonOf(r.reason), r.nodes)
	}
}

// explain adds how many devices of its candidates a pod could have, and why it cannot have the others.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	if d := c.State.DemandOf(c.Pod); d != nil && d.Left == nil {
		c.State.ExplainDevices(c.Pod, x.Candidates, x.Explanation)
	}
}

// waits returns that every pod which leaves is waited for: its claims lose their devices (dynamicresources.go
// isSchedulableAfterClaimChange, v1.37).
func waits(*plugin.Cycle) func(*plugin.Event) bool {
	return func(e *plugin.Event) bool { return e.Left }
}

// score prefers the nodes where claims get what they list first (dynamicresources.go Score and NormalizeScore, v1.37).
func score(c *plugin.Cycle, feasible []uint32) []int64 {
	a := c.State.AllocationOf(c.Pod)
	if a == nil || a.Scores == nil {
		return nil
	}
	scores := c.Scores(len(feasible))
	for i, node := range feasible {
		scores[i] = a.Scores[node]
	}
	plugin.Normalize(scores, false)
	return scores
}
