package snapshot

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage-scheduler/stowage/clients/simulate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// CanSchedulePod returns the nodes of a placement on which a pod can be scheduled, and why the others reject it.
func (s *ClusterSnapshot) CanSchedulePod(ctx context.Context, pod *corev1.Pod, placement *fwk.Placement) (
	[]string, *framework.Diagnosis, error,
) {
	if s.err != nil || placement == nil || len(placement.Nodes) == 0 {
		return nil, nil, s.err
	}
	by, err := s.by(pod)
	if err != nil {
		return nil, nil, err
	}
	nodes, err := s.candidates(placement)
	if err != nil {
		return nil, nil, err
	}
	found, err := by.Feasible(ctx, pod, nodes)
	switch {
	case err != nil:
		return nil, nil, err
	case found.Why.InternalError:
		return nil, nil, errors.New(found.Why.Message)
	}
	if err := s.state.Adopt(by); err != nil { // by may have put its changes to the server
		return nil, nil, err
	}
	return found.Nodes, diagnosis(&found.Why), undecided(pod, found.Doubts)
}

// undecided returns an error if plugins that Stowage does not evaluate may reject nodes for a pod.
func undecided(pod *corev1.Pod, doubts []*stowagev1.Doubt) error {
	if len(doubts) == 0 {
		return nil
	}
	return fmt.Errorf("pod %s/%s: undecided: %v", pod.Namespace, pod.Name, doubts)
}

func diagnosis(why *simulate.Why) *framework.Diagnosis {
	out := &framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	for _, r := range why.Rejections {
		code := fwk.Unschedulable
		if r.Unresolvable {
			code = fwk.UnschedulableAndUnresolvable
		}
		status := fwk.NewStatus(code, r.Reasons...).WithPlugin(r.Plugin)
		for _, n := range r.Nodes {
			out.NodeToStatus.Set(n, status)
		}
		out.AddPluginStatus(status)
	}
	return out
}

// SchedulePods schedules pods one by one on nodes of a placement. It takes the first feasible node; the library takes any. An error
// means that nothing has changed.
func (s *ClusterSnapshot) SchedulePods(ctx context.Context, pods []*corev1.Pod, placement *fwk.Placement, o SchedulePodsOptions) (
	[]SchedulingResult, error,
) {
	options := simulate.ScheduleOptions{DryRun: o.DryRun, Stop: o.StopOnFailure}
	return s.schedule(placement, &options, func() (out []simulate.Result, err error) {
		for from, to := 0, 1; from < len(pods); from, to = to, to+1 {
			for to < len(pods) && schedulerName(pods[to]) == schedulerName(pods[from]) {
				to++
			}
			by, err := s.by(pods[from])
			if err != nil {
				return out, err
			}
			copies := make([]*corev1.Pod, to-from) // the caller's pods change
			for i, p := range pods[from:to] {
				c := *p
				copies[i] = &c
			}
			results, err := by.Schedule(ctx, copies, options)
			if err != nil {
				return out, err
			}
			for i := range results {
				results[i].Pod = pods[from+i]
			}
			if out = append(out, results...); o.StopOnFailure && out[len(out)-1].Node == "" {
				to = len(pods)
			}
			if err := s.state.Adopt(by); err != nil {
				return out, err
			}
		}
		return out, nil
	})
}

// SchedulePodsByTemplate schedules up to a number of pods of a template, until one has no node.
func (s *ClusterSnapshot) SchedulePodsByTemplate(ctx context.Context, template *corev1.PodTemplateSpec, placement *fwk.Placement,
	maxPods int, o SchedulePodsByTemplateOptions,
) ([]SchedulingResult, error) {
	if maxPods <= 0 {
		return nil, s.err
	}
	options := simulate.ScheduleOptions{DryRun: o.DryRun}
	return s.schedule(placement, &options, func() ([]simulate.Result, error) {
		t := corev1.PodTemplateSpec{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		if t.Name == "" {
			t.Name = "templated-pod"
		}
		if t.Namespace == "" {
			t.Namespace = corev1.NamespaceDefault
		}
		by, err := s.by(&corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec})
		if err != nil {
			return nil, err
		}
		results, err := by.ScheduleTemplate(ctx, &t, maxPods, options)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			r.Pod.UID = types.UID(uuid.NewString())
		}
		return results, s.state.Adopt(by)
	})
}

// schedule converts the results of do, which schedules pods on a placement. If it returns an error, nothing has changed.
func (s *ClusterSnapshot) schedule(placement *fwk.Placement, o *simulate.ScheduleOptions, do func() ([]simulate.Result, error)) (
	[]SchedulingResult, error,
) {
	if s.err != nil || placement == nil || len(placement.Nodes) == 0 {
		return nil, s.err
	}
	nodes, err := s.candidates(placement)
	if err != nil {
		return nil, err
	}
	o.Nodes, o.FirstFit = nodes, true
	before := s.state.Fork()
	results, err := do()
	out, changed := make([]SchedulingResult, 0, len(results)), map[string]bool{}
	for _, r := range results {
		to := SchedulingResult{Pod: r.Pod, SelectedNodeName: r.Node, Status: statusOf(&r, len(placement.Nodes))}
		if r.Node != "" {
			to.Pod.Spec.NodeName = r.Node
			changed[r.Node] = true
		}
		out = append(out, to)
		err = errors.Join(err, undecided(r.Pod, r.Doubts))
	}
	switch {
	case err != nil:
		return out, errors.Join(err, s.state.Adopt(before))
	case !o.DryRun && len(changed) > 0:
		s.epoch.next()
		for node := range changed {
			err = errors.Join(err, s.view.write(s.state, node))
		}
	}
	return out, err
}

// statusOf is the status of a result, nil for success.
func statusOf(r *simulate.Result, nodes int) *fwk.Status {
	switch {
	case r.Why == nil:
		return nil
	case r.Why.InternalError:
		return fwk.AsStatus(errors.New(r.Why.Message))
	}
	return fwk.NewStatus(fwk.Unschedulable).WithError(&framework.FitError{Pod: r.Pod, NumAllNodes: nodes, Diagnosis: *diagnosis(r.Why)})
}
