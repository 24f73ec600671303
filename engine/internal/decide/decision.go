package decide

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
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

// New returns the decision about a pod. It evaluates node affinity and taints, which do not depend on other pods.
func New(f *Framework, s *cluster.State, pod *cluster.Pending) *Decision {
	return &Decision{Framework: f, Cycle: &plugin.Cycle{
		State:     s,
		Pod:       pod,
		Profile:   f.profile,
		Required:  nodeaffinity.Required(s, pod.Spec()),
		Tolerated: tainttoleration.Tolerated(s, pod.Spec().Tolerations, f.profile),
	}}
}

// Outcome is the result of filtering.
type Outcome struct {
	Feasible   nodeset.Set
	Rejections []verdict.Rejection
	Message    string
}

// Filter runs PreEnqueue, PreFilter, and then the filters, each over the nodes that passed those before it
// (pkg/scheduler/schedule_one.go findNodesThatFitPod, v1.37).
func (d *Decision) Filter(ctx context.Context, candidates nodeset.Set) (*Outcome, error) {
	n := candidates.Len()
	o := &Outcome{Feasible: nodeset.New(d.State.Len())}
	if gated := d.Gated(); gated != nil {
		if n > 0 {
			o.Rejections = []verdict.Rejection{gated.of(candidates)}
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
		o.Rejections = []verdict.Rejection{pre.Rejected.of(candidates)}
		o.Message = pre.Rejected.Message(n)
		return o, nil
	}
	rest := candidates
	if pre.Nodes != nil {
		rest = plugin.Both(candidates, pre.Nodes)
		if out := candidates.Minus(pre.Nodes); !out.Empty() {
			o.Rejections = append(o.Rejections, pre.excluded().of(out))
		}
	}
	err := d.EachFilter(ctx, func(p *plugin.Plugin, rules *rule.Set) bool {
		allowed, rejections := rules.Reject(p.Name, rest)
		rest = allowed
		o.Rejections = append(o.Rejections, rejections...)
		return !rest.Empty()
	})
	if err != nil {
		return nil, err
	}
	d.SortRejections(o.Rejections)
	o.Feasible = rest
	if rest.Empty() {
		o.Message = verdict.FitError(n, o.Rejections)
	}
	return o, nil
}

// EachFilter compiles the rules of each filter plugin and passes them to use until use returns false. It skips a plugin
// without rules. Compiling one plugin at a time saves the counting of later ones when no node is left.
func (d *Decision) EachFilter(ctx context.Context, use func(*plugin.Plugin, *rule.Set) bool) error {
	for _, p := range d.Filters {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.Compile == nil {
			continue
		}
		var rules rule.Set
		if p.Compile(d.Cycle, &rules); !rules.Empty() && !use(p, &rules) {
			break
		}
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
