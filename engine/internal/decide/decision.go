package decide

import (
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeunschedulable"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Decision decides about one pod in a state.
type Decision struct {
	*plugin.Cycle
	*Framework
	// Failure is kube-scheduler's failure to score the pod, set by Score; nil for none.
	Failure *Failure
}

// New returns the decision about a pod. It evaluates node affinity and taints, which do not depend on other pods. The claims of pods that
// are assumed in the state get devices if the profile has DynamicResources.
func New(f *Framework, s *cluster.State, pod *cluster.Pending) *Decision {
	s.WithholdDevices(f.profile.DisabledFilters.Has(uint8(verdict.DynamicResources)))
	return &Decision{Framework: f, Cycle: &plugin.Cycle{
		State:     s,
		Pod:       pod,
		Profile:   f.profile,
		Required:  nodeaffinity.Required(s, pod.Spec()),
		Tolerated: tainttoleration.Tolerated(s, pod.Spec().Tolerations, f.profile),
	}}
}

// Renominated returns the decision about a pod that differs in its nomination alone.
func (d *Decision) Renominated(pod *cluster.Pending) *Decision {
	cycle := *d.Cycle
	cycle.Pod = pod
	return &Decision{Framework: d.Framework, Cycle: &cycle}
}

// Cordons reports what nodes that are cordoned later are to the pod: whether they reject it, and whether decisions about other nodes
// depend on them.
func (d *Decision) Cordons() (reject, count bool) {
	enabled := slices.Contains(d.Filters, nodeunschedulable.Plugin) // otherwise it depends on the taints that a node has already
	reject = enabled && !tainttoleration.Tolerate(d.Pod.Spec().Tolerations, &cluster.UnschedulableTaint, d.profile)
	return reject, !enabled || podtopologyspread.HonorsTaints(d.Cycle)
}

// Outcome is the result of filtering.
type Outcome struct {
	Feasible nodeset.Set
	// Failure is the error of a filter, with which kube-scheduler ends the cycle; nil for none. No node is feasible then.
	Failure    *Failure
	Rejections []verdict.Rejection
	Message    string
}

// Filter runs PreEnqueue, PreFilter, and then the filters, each over the nodes that passed the filters before it
// (pkg/scheduler/schedule_one.go findNodesThatFitPod, v1.37). If the pod's nominated node is feasible, it is the only feasible node,
// and no node is rejected.
func (d *Decision) Filter(ctx context.Context, candidates nodeset.Set) (*Outcome, error) {
	return d.filter(ctx, candidates, true)
}

// FilterAll is Filter as if the pod were not nominated.
func (d *Decision) FilterAll(ctx context.Context, candidates nodeset.Set) (*Outcome, error) {
	return d.filter(ctx, candidates, false)
}

func (d *Decision) filter(ctx context.Context, candidates nodeset.Set, nominatedFirst bool) (*Outcome, error) {
	n := candidates.Len()
	o := &Outcome{Feasible: nodeset.New(d.State.Len())}
	if gated := d.Gated(); gated != nil {
		if n > 0 {
			o.Rejections = []verdict.Rejection{gated.Of(candidates)}
		}
		o.Message = gated.Reason.Message
		return o, nil
	}
	if n == 0 {
		o.Message = verdict.ReasonOf(verdict.ReasonNoNodes).Message
		return o, nil
	}
	pre := d.PreFilter()
	if pre.Rejected != nil {
		o.Rejections = []verdict.Rejection{pre.Rejected.Of(candidates)}
		o.Message = pre.Rejected.Message(n)
		return o, nil
	}
	filtered, out := plugin.Both(candidates, pre.Nodes), nodeset.Set(nil)
	if pre.Nodes != nil {
		out = candidates.Minus(pre.Nodes)
	}
	nominated, first := uint32(0), false
	if nominatedFirst {
		nominated, first = d.NominatedNode(candidates)
	}
	if first && !filtered.Has(nominated) {
		filtered.Add(nominated) // a copy, because PreFilter excludes the node
		out.Remove(nominated)
	}
	rest, rejections, err := d.pass(ctx, filtered)
	if err != nil {
		return nil, err
	}
	switch {
	case first && rest.Has(nominated):
		o.Feasible.Add(nominated)
		return o, nil
	case first:
		pre.by = append(pre.by, rejectionOf(nominated, rejections).Plugin)
	}
	if out != nil && !out.Empty() {
		rejections = append(rejections, pre.excluded().Of(out))
	}
	d.SortRejections(rejections)
	o.Rejections, o.Feasible = rejections, rest
	if o.Failure = failureOf(rejections); o.Failure != nil {
		if !rest.Empty() {
			all := Rejections{List: rejections}
			all.Add(o.Failure.Rejection(rest))
			o.Rejections, o.Feasible = all.List, nodeset.New(d.State.Len())
			d.SortRejections(o.Rejections)
		}
		o.Message = o.Failure.Message
		return o, nil
	}
	if rest.Empty() {
		o.Message = verdict.FitError(n, o.Rejections)
	}
	return o, nil
}

// failureOf returns the error of a filter on the first node that has one; nil for none. kube-scheduler filters nodes at the same time,
// and reports any of the errors (pkg/scheduler/framework/runtime/framework.go RunFilterPlugins, v1.37).
func failureOf(rejections []verdict.Rejection) *Failure {
	var first *verdict.Rejection
	for i := range rejections {
		if r := &rejections[i]; r.Code == verdict.Error && (first == nil || r.Nodes[0] < first.Nodes[0]) {
			first = r
		}
	}
	if first == nil {
		return nil
	}
	reason := first.Reasons[0]
	return &Failure{first.Plugin, reason, fmt.Sprintf("running %q filter plugin: %s", first.Plugin, reason.Message)}
}

// pass runs the filters over nodes. A node with nominated pods passes twice, with them and without them
// (pkg/scheduler/framework/runtime/framework.go RunFilterPluginsWithNominatedPods, v1.37).
func (d *Decision) pass(ctx context.Context, nodes nodeset.Set) (rest nodeset.Set, rejections []verdict.Rejection, err error) {
	with := d.withNominated(nodes)
	rest = nodes
	err = d.EachFilter(ctx, func(p *plugin.Plugin, rules *rule.Set) bool {
		with.filter(p, rules, false)
		allowed, rejected := rules.Reject(p.Name, rest)
		rest = allowed
		rejections = append(rejections, rejected...)
		return !rest.Empty() || with.open()
	})
	if err != nil || with == nil || with.rejected.Empty() {
		return rest, rejections, err
	}
	return rest.Minus(with.rejected), with.replace(rejections), nil
}

// EachFilter compiles the rules of each filter plugin and passes them to use until use returns false. It skips a plugin
// without rules. Compiling one plugin at a time saves the counting of later ones when no node is left.
func (d *Decision) EachFilter(ctx context.Context, use func(*plugin.Plugin, *rule.Set) bool) error {
	rules := &rule.Set{}
	for _, p := range d.Filters {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.Compile == nil {
			continue
		}
		if p.Compile(d.Cycle, rules); rules.Empty() {
			continue
		}
		if !use(p, rules) {
			break
		}
		rules = &rule.Set{} // use may keep the other one
	}
	return ctx.Err()
}

// Rules compiles the pod's rules.
func (d *Decision) Rules() *rule.Set {
	all := &rule.Set{}
	for _, p := range d.Filters {
		if p.Compile != nil {
			p.Compile(d.Cycle, all)
		}
	}
	return all
}

// Static returns the candidates that pass PreEnqueue, PreFilter and the static rules; nil if the pod is rejected as a
// whole.
func (d *Decision) Static(candidates nodeset.Set) nodeset.Set {
	if d.Gated() != nil || candidates.Empty() {
		return nil
	}
	pre := d.PreFilter()
	if pre.Rejected != nil {
		return nil
	}
	rest := plugin.Both(candidates, pre.Nodes).Clone()
	for _, p := range d.Filters {
		if !p.Static || p.Compile == nil {
			continue
		}
		var rules rule.Set
		p.Compile(d.Cycle, &rules)
		for i := range rules.Static {
			rest.AndNot(rules.Static[i].Rejected)
		}
	}
	return rest
}
