package decide

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// PodRejection is the rejection of a pod before any node is filtered.
type PodRejection struct {
	Plugin verdict.Plugin
	Code   verdict.Code
	Reason verdict.Reason
}

// Of returns the rejection of nodes.
func (r *PodRejection) Of(nodes nodeset.Set) verdict.Rejection {
	return verdict.Rejection{Plugin: r.Plugin, Code: r.Code, Reasons: []verdict.Reason{r.Reason}, Nodes: nodes.Indexes()}
}

// Message returns kube-scheduler's event text for a number of candidates. For code Error it is the text of the error
// (pkg/scheduler/framework/runtime/framework.go RunPreFilterPlugins, v1.37).
func (r *PodRejection) Message(candidates int) string {
	if r.Code == verdict.Error {
		return fmt.Sprintf("running PreFilter plugin %q: %s", r.Plugin, r.Reason.Message)
	}
	return verdict.PodError(candidates, r.Reason)
}

// Gated returns the rejection by PreEnqueue, nil if there is none.
func (d *Decision) Gated() *PodRejection { return d.Framework.Gated(d.Pod.Spec()) }

// Gated returns the rejection of a pod by PreEnqueue, nil if there is none.
func (f *Framework) Gated(spec *api.PodSpec) *PodRejection {
	for _, p := range f.Filters {
		if p.PreEnqueue == nil {
			continue
		}
		if reason, gated := p.PreEnqueue(spec); gated {
			return &PodRejection{p.Name, verdict.UnschedulableAndUnresolvable, reason}
		}
	}
	return nil
}

// PreFilterResult is the result of PreFilter.
type PreFilterResult struct {
	// Rejected is nil if no plugin rejects the pod.
	Rejected *PodRejection
	// Nodes are the nodes to consider, nil for all.
	Nodes nodeset.Set

	by []verdict.Plugin // plugins that restrict the nodes
}

// excluded returns the rejection of a node that PreFilter excludes.
func (r *PreFilterResult) excluded() *PodRejection {
	return restriction(r.by, "node(s) didn't satisfy plugin(s) %v")
}

func restriction(by []verdict.Plugin, format string) *PodRejection {
	names := make([]string, len(by))
	for i, p := range by {
		names[i] = p.String()
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return &PodRejection{by[0], verdict.UnschedulableAndUnresolvable, verdict.Reason{
		Type: verdict.ReasonNarrowedOut, Message: fmt.Sprintf(format, names),
	}}
}

// PreFilter runs the plugins' PreFilter (pkg/scheduler/framework/runtime/framework.go RunPreFilterPlugins, v1.37).
func (d *Decision) PreFilter() *PreFilterResult {
	result := &PreFilterResult{}
	var names []string
	for _, p := range d.Filters {
		if p.PreFilter == nil {
			continue
		}
		r := p.PreFilter(d.Cycle)
		if r.Code != 0 {
			return &PreFilterResult{Rejected: &PodRejection{p.Name, r.Code, r.Reason}}
		}
		if !r.Restricted {
			continue
		}
		if len(result.by) == 0 {
			names = r.Names
		} else {
			names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(r.Names, n) })
		}
		if result.by = append(result.by, p.Name); len(names) == 0 {
			return &PreFilterResult{Rejected: restriction(result.by, "node(s) didn't satisfy plugin(s) %v simultaneously")}
		}
	}
	if len(result.by) == 0 {
		return result
	}
	result.Nodes = nodeset.New(d.State.Len())
	for _, name := range names {
		if i, ok := d.State.Node(name); ok {
			result.Nodes.Add(i)
		}
	}
	return result
}

// RejectedBy returns the rejection of the pod by one plugin's PreFilter, nil if there is none.
func (d *Decision) RejectedBy(p *plugin.Plugin) *PodRejection {
	if p.PreFilter == nil {
		return nil
	}
	if r := p.PreFilter(d.Cycle); r.Code != 0 {
		return &PodRejection{p.Name, r.Code, r.Reason}
	}
	return nil
}

// Unplaceable returns rules that keep kube-scheduler from placing the pod on any candidate, or on more than one:
// scheduling gates, rejections of the pod as a whole, and errors of PreScore.
func (d *Decision) Unplaceable(candidates nodeset.Set) []verdict.PodRule {
	var rules []verdict.PodRule
	if gated := d.Gated(); gated != nil {
		rules = append(rules, verdict.PodRule{Plugin: gated.Plugin})
	}
	for _, p := range d.Filters {
		whole := d.RejectedBy(p)
		switch {
		case whole == nil:
		case whole.Reason.Type == verdict.ReasonUnparsablePod:
			rules = append(rules, verdict.PodRule{Plugin: p.Name, Error: whole.Reason.Message})
		case !p.Static: // otherwise static rules reject all nodes
			rules = append(rules, verdict.PodRule{Plugin: p.Name})
		}
	}
	_, first := d.NominatedNode(candidates) // as the only feasible node, it is not scored
	if failure := d.PreScoreFailure(d.Pod.Spec()); failure != nil && !first && d.Static(candidates).Len() > 1 {
		rules = append(rules, verdict.PodRule{Plugin: failure.Plugin, Error: failure.Reason.Message})
	}
	return rules
}
