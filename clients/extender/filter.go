package extender

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// errWithNodes names the missing setting.
var errWithNodes = errors.New("the request has nodes instead of their names: set nodeCacheCapable: true for this extender in KubeSchedulerConfiguration")

// errBinding means that kube-scheduler filters a pod again although its bind is in progress. The pod stays assumed.
var errBinding = errors.New("the pod is being bound: waiting for its outcome")

var errNoPod = errors.New("the request has no pod")

// validate returns the error of a request without a pod, or with nodes instead of their names.
func validate(args *extenderv1.ExtenderArgs) error {
	switch {
	case args.Nodes != nil || args.NodeNames == nil:
		return errWithNodes
	case args.Pod == nil:
		return errNoPod
	}
	return nil
}

// Filter returns the feasible nodes of a pod.
func (e *Extender) Filter(ctx context.Context, args *extenderv1.ExtenderArgs) (*extenderv1.ExtenderFilterResult, error) {
	if err := validate(args); err != nil {
		return nil, err
	}
	if err := e.cluster.CatchUp(ctx); err != nil {
		return nil, err
	}
	if err := e.again(ctx, args.Pod); err != nil {
		return nil, err
	}
	if e.options.Decide == AtFilter {
		return e.decide(ctx, args)
	}
	began := time.Now()
	settled := e.decisions.wait(ctx, args.Pod.UID, e.options.OutcomeWait)
	e.metrics.waited(ctx, began, settled)
	made := time.Now()
	found, err := e.evaluateUpToDate(ctx, args.Pod, *args.NodeNames)
	if err != nil {
		return nil, err
	}
	e.decisions.add(&decision{pod: args.Pod, found: found, made: made, open: len(found.feasible) > 0})
	return e.filtered(found, found.feasible), nil
}

// decide returns only the best node, and assumes the pod there.
func (e *Extender) decide(ctx context.Context, args *extenderv1.ExtenderArgs) (*extenderv1.ExtenderFilterResult, error) {
	release, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	made := time.Now()
	found, err := e.evaluateUpToDate(ctx, args.Pod, *args.NodeNames)
	if err != nil {
		return nil, err
	}
	if len(found.best) == 0 {
		return e.filtered(found, nil), nil
	}
	node := found.view.NodeName(found.best[0])
	if err := e.cluster.Assume(nil, live.Assumption{Pod: args.Pod, Node: node}); err != nil {
		return nil, err
	}
	e.decisions.add(&decision{pod: args.Pod, found: found, made: made, node: node})
	return e.filtered(found, found.best[:1]), nil
}

// again forgets the last decision about a pod: kube-scheduler filters the pod again only if that decision had no result. If the pod
// may nevertheless be bound, again first reads it from the API server.
func (e *Extender) again(ctx context.Context, pod *corev1.Pod) error {
	node, assumed := e.cluster.NodeOf(pod.UID)
	if node != "" && !assumed {
		return fmt.Errorf("the pod is already bound to node %s", node)
	}
	before := e.decisions.get(pod.UID)
	var unclear time.Time
	switch {
	case before == nil && !assumed:
		return nil
	case before != nil && before.binding:
		return errBinding
	case before != nil:
		unclear = before.unclear
	}
	// The pod stays assumed: only the API server knows whether it was bound.
	if assumed || !unclear.IsZero() {
		now, err := e.api.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("reading the outcome of the last bind: %w", err)
		case now.UID == pod.UID && now.Spec.NodeName != "":
			return fmt.Errorf("the pod is already bound to node %s", now.Spec.NodeName)
		case now.UID == pod.UID && time.Since(unclear) < e.options.UnclearFor:
			return errors.New("the last bind may still succeed: waiting for its outcome")
		}
	}
	release, err := e.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	if now := e.decisions.get(pod.UID); now != nil && now.binding {
		return errBinding
	}
	e.decisions.remove(pod.UID)
	e.cluster.Forget(pod.UID)
	return nil
}

// filtered is the result of Filter. NodeNames is never nil: if both it and Nodes are missing, kube-scheduler counts no node as
// feasible and reports nothing. It reads the reasons only if no node is left (pkg/scheduler/schedule_one.go schedulePod, v1.37).
func (e *Extender) filtered(found *evaluation, feasible []uint32) *extenderv1.ExtenderFilterResult {
	out := &extenderv1.ExtenderFilterResult{
		NodeNames: new([]string), FailedNodes: extenderv1.FailedNodesMap{}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
	}
	*out.NodeNames = make([]string, 0, len(feasible))
	for _, i := range feasible {
		*out.NodeNames = append(*out.NodeNames, found.view.NodeName(i))
	}
	if len(feasible) > 0 && !e.options.AllReasons {
		return out
	}
	for _, r := range found.answer.GetRejections() {
		to := out.FailedAndUnresolvableNodes
		if e.options.PreemptionCandidates && r.GetCode() == stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE {
			to = out.FailedNodes
		}
		text := reasons(r)
		for _, i := range r.GetNodes().GetIndexes() {
			to[found.view.NodeName(i)] = text
		}
	}
	for _, name := range found.refused {
		out.FailedAndUnresolvableNodes[name] = "node(s) were refused by Stowage"
	}
	for _, name := range found.unknown {
		out.FailedAndUnresolvableNodes[name] = "node(s) were not known to Stowage yet"
	}
	return out
}

func reasons(r *stowagev1.Rejection) string {
	var texts []string
	for _, reason := range r.GetReasons() {
		texts = append(texts, reason.GetMessage())
	}
	return strings.Join(texts, ", ")
}
