package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodename"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeunschedulable"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/schedulinggates"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// decision is what the engine works out about one pod.
type decision struct {
	*plugin.Cycle
	fit    *noderesources.Fit
	spread *podtopologyspread.Filter // nil if it has nothing to say
	pods   *interpodaffinity.Filter  // nil if it has nothing to say
	// failure is why kube-scheduler fails to score the pod, after score; nil if it does not.
	failure *scoreFailure
}

// decide works out what holds for the pod however the nodes fill up.
func decide(s *cluster.State, pod *cluster.Pending, p *api.Profile) *decision {
	return &decision{Cycle: &plugin.Cycle{
		State:     s,
		Pod:       pod,
		Profile:   p,
		Required:  nodeaffinity.Required(s, pod.Spec()),
		Tolerated: tainttoleration.Tolerated(s, pod.Spec().Tolerations, p),
	}}
}

// outcome is what filtering came to.
type outcome struct {
	feasible   nodeset.Set
	rejections []verdict.Rejection
	message    string
}

// filter holds back gated pods, runs what stands before filtering, then the filters over the nodes that are left, each asked only about the
// nodes that passed those before (pkg/scheduler/schedule_one.go findNodesThatFitPod, v1.37).
func (d *decision) filter(ctx context.Context, candidates nodeset.Set) (*outcome, error) {
	n := candidates.Len()
	o := &outcome{feasible: nodeset.New(d.State.Len())}
	if reason, held := schedulinggates.Held(d.Pod.Spec()); held {
		if n > 0 {
			gated := podRejection{verdict.SchedulingGates, verdict.UnschedulableAndUnresolvable, reason}
			o.rejections = []verdict.Rejection{gated.of(candidates)}
		}
		o.message = reason.Message
		return o, nil
	}
	if n == 0 {
		o.message = verdict.ReasonOf(verdict.ReasonNoNodes).Message
		return o, nil
	}
	narrowed, by, whole := d.preFilter()
	if whole != nil {
		o.rejections = []verdict.Rejection{whole.of(candidates)}
		o.message = whole.message(n)
		return o, nil
	}
	rest := candidates
	if narrowed != nil {
		if out := candidates.Minus(narrowed); !out.Empty() {
			o.rejections = append(o.rejections, verdict.Rejection{
				Plugin: by[0],
				Code:   verdict.UnschedulableAndUnresolvable,
				Reasons: []verdict.Reason{{
					Type:    verdict.ReasonNarrowedOut,
					Message: fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sortedNames(by)),
				}},
				Nodes: out.Indexes(),
			})
		}
		rest = plugin.Both(candidates, narrowed)
	}
	err := d.eachFilter(ctx, func(name verdict.Plugin, f plugin.Filter) bool {
		refusals := f.Refuse(rest)
		if len(refusals) == 0 {
			return true
		}
		rest = rest.Clone()
		for i := range refusals {
			refusals[i].Leave(rest)
		}
		o.rejections = append(o.rejections, rejections(name, refusals)...)
		return !rest.Empty()
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(o.rejections, compareRejections)
	o.feasible = rest
	if rest.Empty() {
		o.message = verdict.FitError(n, o.rejections)
	}
	return o, nil
}

// static returns the candidates that pass what stands before filtering and the filters that no other pod has a say in,
// but for their resources, and NodePorts as of now; none if the pod is refused as a whole.
func (d *decision) static(candidates nodeset.Set) nodeset.Set {
	if _, held := schedulinggates.Held(d.Pod.Spec()); held || candidates.Empty() {
		return nil
	}
	narrowed, _, whole := d.preFilter()
	if whole != nil {
		return nil
	}
	rest := plugin.Both(candidates, narrowed).Clone()
	for name := verdict.NodeName; name <= verdict.NodePorts; name++ {
		f := d.prepare(name)
		if f == nil {
			continue
		}
		refusals := f.Refuse(rest)
		for i := range refusals {
			refusals[i].Leave(rest)
		}
	}
	return rest
}

func sortedNames(plugins []verdict.Plugin) []string {
	names := make([]string, len(plugins))
	for i, p := range plugins {
		names[i] = p.String()
	}
	slices.Sort(names)
	return names
}

// eachFilter prepares one filter after the other, in kube-scheduler's order, until use returns false. Each is prepared
// only when its turn comes, so that what refuses every node early saves the counting.
func (d *decision) eachFilter(ctx context.Context, use func(verdict.Plugin, plugin.Filter) bool) error {
	for name := verdict.NodeName; name <= verdict.InterPodAffinity; name++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f := d.prepare(name); f != nil && !use(name, f) {
			break
		}
	}
	return ctx.Err()
}

func (d *decision) prepare(name verdict.Plugin) plugin.Filter {
	switch name {
	case verdict.NodeName:
		return nodename.NewFilter(d.Cycle)
	case verdict.NodeUnschedulable:
		return nodeunschedulable.NewFilter(d.Cycle)
	case verdict.TaintToleration:
		return tainttoleration.NewFilter(d.Cycle)
	case verdict.NodeAffinity:
		return nodeaffinity.NewFilter(d.Cycle)
	case verdict.NodePorts:
		return nodeports.NewFilter(d.Cycle)
	case verdict.NodeResourcesFit:
		d.fit = noderesources.NewFilter(d.Cycle)
		return d.fit
	case verdict.PodTopologySpread:
		if d.spread = podtopologyspread.NewFilter(d.Cycle); d.spread != nil {
			return d.spread
		}
	case verdict.InterPodAffinity:
		if d.pods = interpodaffinity.NewFilter(d.Cycle); d.pods != nil {
			return d.pods
		}
	}
	return nil
}

func rejections(name verdict.Plugin, refusals []plugin.Refusal) []verdict.Rejection {
	out := make([]verdict.Rejection, len(refusals))
	for i, r := range refusals {
		out[i] = verdict.Rejection{Plugin: name, Code: verdict.Unschedulable, Reasons: r.Reasons, Nodes: r.Nodes}
		if r.Unresolvable {
			out[i].Code = verdict.UnschedulableAndUnresolvable
		}
	}
	slices.SortFunc(out, compareRejections)
	return out
}

func compareRejections(a, b verdict.Rejection) int {
	return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Nodes[0], b.Nodes[0]))
}
