package extender

import (
	"context"
	"slices"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Prioritize scores nodes for a pod. For the nodes that Filter returned, it makes no call.
func (e *Extender) Prioritize(ctx context.Context, args *extenderv1.ExtenderArgs) (extenderv1.HostPriorityList, error) {
	if err := validate(args); err != nil {
		return nil, err
	}
	if d := e.decisions.get(args.Pod.UID); d != nil && d.found != nil {
		if out, ok := d.found.priorities(*args.NodeNames); ok {
			e.metrics.shared(ctx)
			return out, nil
		}
	}
	found, err := e.evaluate(ctx, args.Pod, *args.NodeNames, false)
	if err != nil {
		return nil, err
	}
	out := make(extenderv1.HostPriorityList, 0, len(*args.NodeNames))
	for _, name := range *args.NodeNames {
		score, _ := found.score(name) // an infeasible node scores 0
		out = append(out, extenderv1.HostPriority{Host: name, Score: score})
	}
	return out, nil
}

// priorities returns the scores of nodes if they are all feasible nodes of the evaluation: scores depend on the other nodes.
func (e *evaluation) priorities(names []string) (extenderv1.HostPriorityList, bool) {
	if len(names) != len(e.feasible) {
		return nil, false
	}
	out := make(extenderv1.HostPriorityList, 0, len(names))
	for _, name := range names {
		score, ok := e.score(name)
		if !ok {
			return nil, false
		}
		out = append(out, extenderv1.HostPriority{Host: name, Score: score})
	}
	return out, true
}

func (e *evaluation) score(name string) (int64, bool) {
	i, ok := e.view.NodeIndex(name)
	if !ok {
		return 0, false
	}
	at, ok := slices.BinarySearch(e.feasible, i)
	if !ok {
		return 0, false
	}
	return e.scores[at], true
}
