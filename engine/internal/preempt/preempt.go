// Package preempt is kube-scheduler's DefaultPreemption: which pods of a node have to go so that a pod without feasible nodes fits
// there, and on which node they are the least loss (pkg/scheduler/framework/preemption and
// pkg/scheduler/framework/plugins/defaultpreemption, v1.37).
//
// It evaluates all nodes, as with minCandidateNodesPercentage 100. The rules of the pod are compiled once. The decision about a node
// adjusts the counts on it, so nothing is copied per node.
//
// Across extends kube-scheduler's search to victims on any nodes.
package preempt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Options are the options of Find.
type Options struct {
	// All requests Preemption.Candidates.
	All bool
	// RecountSpread lets topology spread count as Filter does.
	RecountSpread bool
	// Each receives every candidate; nil for none.
	Each func(*Choice)
	// Memory has what earlier searches for equivalent pods found; nil for none. It is not read with All or Each.
	Memory *Memory
}

// notFound is the text of kube-scheduler's event about PostFilter after PreFilter rejected the pod. DynamicResources, whose
// PreFilter has not run then, fails before DefaultPreemption runs (pkg/scheduler/framework/runtime/framework.go
// RunPostFilterPlugins, v1.37).
const notFound = "not found"

const prefix = "preemption: "

// Find returns what preemption finds for a pod without feasible candidates, from the rejections of the candidates; nil where
// kube-scheduler does not run it.
func Find(
	ctx context.Context, d *decide.Decision, candidates nodeset.Set, rejections []verdict.Rejection, o Options,
) (*verdict.Preemption, error) {
	p, _, err := FindVictims(ctx, d, candidates, rejections, o)
	return p, err
}

// FindVictims is Find, and also returns the victims for the nominated node, the most important first.
func FindVictims(
	ctx context.Context, d *decide.Decision, candidates nodeset.Set, rejections []verdict.Rejection, o Options,
) (*verdict.Preemption, []VictimOn, error) {
	if d.Gated() != nil || candidates.Empty() {
		return nil, nil, ctx.Err()
	}
	rejected, disabled := d.PreFilter().Rejected, d.DisabledPostFilters()
	said := prefix
	switch {
	case rejected != nil && rejected.Code == verdict.Error,
		slices.ContainsFunc(rejections, func(r verdict.Rejection) bool { return r.Code == verdict.Error }):
		return nil, nil, ctx.Err()
	case rejected != nil && rejected.Plugin != verdict.DynamicResources && !disabled.DynamicResources: // whose PreFilter did not run
		return &verdict.Preemption{Message: notFound}, nil, ctx.Err()
	case disabled.DynamicResources && disabled.DefaultPreemption:
		return nil, nil, ctx.Err()
	}
	if !disabled.DynamicResources {
		own := d.State.Deallocation(d.Pod, claimed(rejections))
		if disabled.DefaultPreemption {
			return &verdict.Preemption{Message: own}, nil, ctx.Err()
		}
		if own != "" {
			said = own + ", " + prefix
		}
	}
	if reason := ineligible(d, rejections); reason != "" {
		return &verdict.Preemption{Message: said + reason}, nil, ctx.Err()
	}
	potential := potentialNodes(d, rejections)
	s, err := newSearch(ctx, d, potential, o)
	if err != nil {
		return nil, nil, err
	}
	if err := s.dryRun(ctx, potential); err != nil {
		return nil, nil, err
	}
	if others := candidates.Minus(potential); !others.Empty() {
		s.rejections.Add(ownRejection(verdict.ReasonPreemptionNotHelpful, others.Indexes()...))
	}
	d.SortRejections(s.rejections.List)
	if text := failure(s.rejections.List); text != "" && s.best.node == none {
		return &verdict.Preemption{Message: prefix + text}, nil, ctx.Err()
	}
	p := &verdict.Preemption{Rejections: s.rejections.List, Candidates: s.all}
	if s.best.node == none {
		p.ClearsNomination = true
		p.Message = said + verdict.FitError(candidates.Len(), s.rejections.List)
		return p, nil, ctx.Err()
	}
	p.Best, p.Nominated = s.ties, s.candidate(&s.best)
	p.Message = fmt.Sprintf("%sfound a potential placement for pod on node %s, preempting %d victims",
		prefix, d.State.Names[s.best.node], s.best.pods)
	return p, s.best.victims, ctx.Err()
}

// potentialNodes returns the nodes that evictions may make feasible.
func potentialNodes(d *decide.Decision, rejections []verdict.Rejection) nodeset.Set {
	potential := nodeset.New(d.State.Len())
	for _, r := range rejections {
		if r.Code == verdict.Unschedulable {
			for _, n := range r.Nodes {
				potential.Add(n)
			}
		}
	}
	return potential
}

// failure returns the errors of filters on nodes without victims, in the order of the nodes, empty if there are none. They end preemption
// without candidates (pkg/scheduler/framework/preemption/preemption.go DryRunPreemption, v1.37).
func failure(rejections []verdict.Rejection) string {
	failed := slices.DeleteFunc(slices.Clone(rejections), func(r verdict.Rejection) bool { return r.Code != verdict.Error })
	slices.SortFunc(failed, func(a, b verdict.Rejection) int { return cmp.Compare(slices.Min(a.Nodes), slices.Min(b.Nodes)) })
	texts := make([]string, len(failed))
	for i, r := range failed {
		texts[i] = fmt.Sprintf("running %q filter plugin: %s", r.Plugin, r.Reasons[0].Message)
	}
	if len(texts) > 1 {
		return "[" + strings.Join(texts, ", ") + "]"
	}
	return strings.Join(texts, "")
}

// claimed returns the nodes that are rejected because of a claim that has devices.
func claimed(rejections []verdict.Rejection) (nodes []uint32) {
	for i := range rejections {
		if r := &rejections[i]; r.Plugin == verdict.DynamicResources && r.Reasons[0].Type == verdict.ReasonResourceClaimUnavailable {
			nodes = append(nodes, r.Nodes...)
		}
	}
	return nodes
}

// ineligible returns why the pod may not preempt, empty if it may
// (pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go PodEligibleToPreemptOthers, v1.37).
func ineligible(d *decide.Decision, rejections []verdict.Rejection) string {
	if d.Pod.Spec().NeverPreempts {
		return "not eligible due to preemptionPolicy=Never."
	}
	node, known := d.State.Node(d.Pod.NominatedNode)
	if d.Pod.NominatedNode == "" || !known {
		return ""
	}
	for _, r := range rejections {
		if r.Code != verdict.Unschedulable {
			continue
		}
		for _, n := range r.Nodes {
			if n == node && d.State.AnyPreempted(n, d.Pod.Spec().Priority) {
				return "not eligible due to a terminating pod on the nominated node."
			}
		}
	}
	return ""
}

// rulesOf compiles the rules of the plugins.
func rulesOf(ctx context.Context, d *decide.Decision) (parts []part, err error) {
	err = d.EachFilter(ctx, func(p *plugin.Plugin, rules rules) bool {
		parts = withPart(parts, p, rules)
		return true
	})
	return parts, err
}
