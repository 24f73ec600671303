package simulate

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Feasibility has the nodes on which a pod can be scheduled.
type Feasibility struct {
	// Nodes are the feasible nodes, in the order of NodeNames.
	Nodes []string
	// Why has the reasons of the infeasible nodes. Its Message is empty if any node is feasible.
	Why Why
	// Doubts are as in Result.
	Doubts []*stowagev1.Doubt
}

// Feasible returns the nodes on which a pod can be scheduled. nodes are the candidates, all if nil. The pod needs no name.
func (s *Snapshot) Feasible(ctx context.Context, pod *corev1.Pod, nodes *Nodes) (*Feasibility, error) {
	q := s.newQueue()
	request := &stowagev1.FilterRequest{}
	var err error
	if request.Pod, err = q.pending(pod); err != nil {
		return nil, fmt.Errorf("pod %s: %w", keyOfPod(pod), err)
	}
	if request.CandidateNodes, err = s.candidates(nodes); err != nil {
		return nil, err
	}
	var answer *stowagev1.FilterResponse
	err = s.ask(ctx, s.profile, q.fresh, func(about *stowagev1.DecisionContext) (err error) {
		request.Context = about
		answer, err = s.client.Filter(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Feasibility{
		Nodes: s.now.order.named(answer.GetFeasibleNodes().GetIndexes()),
		Why:   *s.now.order.why(answer.Message, answer.Rejections, answer.InternalError), Doubts: answer.Doubts,
	}, nil
}

// Preemption is the result of kube-scheduler's preemption for a pod.
type Preemption struct {
	// Feasible are the nodes that are feasible without preemption. If there are any, the other fields are not set.
	Feasible []string
	// Node is the node to nominate the pod to, "" if preemption does not help.
	Node string
	// Victims are the pods to evict from Node, the most important first, as added or scheduled.
	Victims []*corev1.Pod
	// Violations is the number of victims that violate a PodDisruptionBudget.
	Violations uint64
	// Message is kube-scheduler's event text.
	Message string
	// Doubts are as in Result.
	Doubts []*stowagev1.Doubt
}

// Preemption returns the pods that kube-scheduler would evict for a pod. It evicts none: see Evict. nodes are the candidates, all if
// nil.
func (s *Snapshot) Preemption(ctx context.Context, pod *corev1.Pod, nodes *Nodes) (*Preemption, error) {
	q := s.newQueue()
	request := &stowagev1.PreemptRequest{}
	var err error
	if request.Pod, err = q.pending(pod); err != nil {
		return nil, fmt.Errorf("pod %s: %w", keyOfPod(pod), err)
	}
	if request.CandidateNodes, err = s.candidates(nodes); err != nil {
		return nil, err
	}
	var answer *stowagev1.PreemptResponse
	err = s.ask(ctx, s.profile, q.fresh, func(about *stowagev1.DecisionContext) (err error) {
		request.Context = about
		answer, err = s.client.Preempt(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Preemption{
		Feasible: s.now.order.named(answer.GetFeasibleNodes().GetIndexes()), Message: answer.Message, Doubts: answer.Doubts,
	}
	found := answer.GetPreemption().GetNominated()
	if found == nil {
		return out, nil
	}
	out.Node, out.Violations = s.now.order.names[found.NodeIndex], found.PdbViolations
	for _, v := range found.Victims {
		p := s.base.at(&s.now, out.Node, keyOf(v.Namespace, v.Name))
		if p == nil {
			return nil, fmt.Errorf("preemption on node %s evicts a pod %q without a name of its own", out.Node, keyOf(v.Namespace, v.Name))
		}
		out.Victims = append(out.Victims, p.object)
	}
	return out, nil
}

// ScheduleGroup places the pods of a PodGroup of k8s.io/api/scheduling/v1beta1, typed or unstructured, or none of them if fewer than
// its minimum get nodes. Pods of the group that already have nodes count towards the minimum. The annotations of convert.PodGroup can
// request a joint placement. Stop has no effect.
func (s *Snapshot) ScheduleGroup(ctx context.Context, g metav1.Object, pods []*corev1.Pod,
	o ScheduleOptions,
) (*GroupResult, error) {
	name := keyOf(g.GetNamespace(), g.GetName())
	group, err := convert.PodGroup(g)
	if err != nil {
		return nil, fmt.Errorf("PodGroup %s: %w", name, err)
	}
	o.Stop = false
	q := s.newQueue()
	for _, p := range pods {
		if of := convert.PodGroupName(p); of != name {
			return nil, fmt.Errorf("pod %s: is in pod group %q", keyOfPod(p), of)
		}
		if err := q.add(p, group.Name); err != nil {
			return nil, fmt.Errorf("pod %s: %w", keyOfPod(p), err)
		}
	}
	if len(pods) == 0 {
		return nil, fmt.Errorf("PodGroup %s: has no pods to schedule", name)
	}
	if int(group.GetMinCount()) > len(pods)+len(s.base.members(&s.now, name)) {
		out := &GroupResult{Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE, Message: kube.TooFewMembers}
		for _, p := range pods {
			out.Results = append(out.Results, Result{Pod: p, Why: &Why{Message: out.Message}})
		}
		return out, nil
	}
	results, placement, err := q.place(ctx, &o, group)
	if err != nil {
		return nil, err
	}
	placed := placement.Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE ||
		placement.Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT
	return &GroupResult{Placed: placed, Status: placement.Status, Message: placement.Message, Results: results}, nil
}
