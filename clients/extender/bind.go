package extender

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/lease"
	"github.com/stowage-scheduler/stowage/clients/live"
)

// Bind binds a pod to a node that is still feasible.
func (e *Extender) Bind(ctx context.Context, args *extenderv1.ExtenderBindingArgs) (*extenderv1.ExtenderBindingResult, error) {
	if !e.Ready() {
		return nil, explained(live.ErrNotReady)
	}
	if node, assumed := e.cluster.NodeOf(args.PodUID); node != "" && !assumed {
		if node != args.Node {
			return nil, fmt.Errorf("the pod is already bound to node %s", node)
		}
		return &extenderv1.ExtenderBindingResult{}, nil // the response to an earlier attempt was lost
	}
	pod, err := e.podToBind(ctx, args)
	if err != nil {
		e.decisions.remove(args.PodUID)
		return nil, err
	}
	for {
		term, err := e.term(ctx)
		if err != nil {
			e.decisions.remove(args.PodUID)
			e.metrics.bound(ctx, "fenced")
			return nil, err
		}
		if err := e.commit(ctx, pod, args.Node); err != nil {
			e.decisions.remove(args.PodUID)
			if node, assumed := e.cluster.NodeOf(args.PodUID); node == args.Node && !assumed {
				return &extenderv1.ExtenderBindingResult{}, nil // the informer has shown it meanwhile
			}
			e.metrics.bound(ctx, "refused")
			return nil, err
		}
		err = e.bind(ctx, pod, args.Node, term)
		switch {
		case err == nil:
			return &extenderv1.ExtenderBindingResult{}, nil
		case !errors.Is(err, errLate):
			return nil, err
		}
	}
}

// term is the term of kube-scheduler's lease, an error while kube-scheduler does not hold it.
func (e *Extender) term(ctx context.Context) (uint64, error) {
	if err := e.options.Lease.Check(ctx); err != nil {
		return 0, err
	}
	term := e.options.Lease.Term()
	if term == 0 {
		return 0, lease.ErrNotHeld
	}
	return term, nil
}

// errLate means that a bind could not be sent soon enough after its commit, or in the same term of the lease.
var errLate = errors.New("the bind could not be sent in time")

// podToBind finds a pod by its name and uid.
func (e *Extender) podToBind(ctx context.Context, args *extenderv1.ExtenderBindingArgs) (*corev1.Pod, error) {
	if d := e.decisions.get(args.PodUID); d != nil {
		return d.pod, nil
	}
	pod, err := e.pods.Pods(args.PodNamespace).Get(args.PodName)
	if err != nil || pod.UID != args.PodUID {
		pod, err = e.api.CoreV1().Pods(args.PodNamespace).Get(ctx, args.PodName, metav1.GetOptions{})
	}
	switch {
	case err != nil:
		return nil, err
	case pod.UID != args.PodUID:
		return nil, fmt.Errorf("pod %s/%s was replaced: its uid is %s", args.PodNamespace, args.PodName, pod.UID)
	}
	return pod, nil
}

// freshFor is how long a decision holds without another evaluation at bind. After a suspension, a process does not immediately know
// the pods that others have bound meanwhile.
const freshFor = time.Second

// commit checks that the node is still feasible, and assumes the pod there. Commits are serialized.
func (e *Extender) commit(ctx context.Context, pod *corev1.Pod, node string) error {
	release, err := e.take(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := e.cluster.CatchUp(ctx); err != nil {
		return err
	}
	d := e.decisions.get(pod.UID)
	if d != nil && live.Elapsed(d.made, time.Now()) > freshFor {
		d = nil
	}
	if d != nil && d.node == node && e.cluster.Extend(pod.UID, node) {
		e.committed(pod, node)
		return nil // Filter has assumed the pod
	}
	assumption := live.Assumption{Pod: pod, Node: node}
	if d != nil && d.found != nil {
		if _, feasible := d.found.score(node); feasible {
			err := e.cluster.Assume(d.found.view, assumption)
			if err == nil {
				e.committed(pod, node)
				return nil
			} else if !errors.Is(err, live.ErrChanged) {
				return err
			}
		}
	}
	e.cluster.Forget(pod.UID) // it must not count against itself
	found, err := e.evaluate(ctx, pod, []string{node}, true)
	if err != nil {
		return err
	}
	if len(found.feasible) == 0 {
		why := "does not exist"
		for _, r := range found.answer.GetRejections() {
			why = reasons(r)
		}
		return fmt.Errorf("node %s is no longer feasible: %s", node, why)
	}
	if err := e.cluster.Assume(nil, assumption); err != nil {
		return err
	}
	e.committed(pod, node)
	return nil
}

func (e *Extender) committed(pod *corev1.Pod, node string) {
	if e.decisions.get(pod.UID) == nil {
		e.decisions.add(&decision{pod: pod})
	}
	e.decisions.change(pod.UID, func(d *decision) { d.node, d.open, d.binding, d.committed = node, false, true, time.Now() })
}

// lookTimeout bounds reading the outcome of a bind.
const lookTimeout = 2 * time.Second

// bind binds an assumed pod in a term of the lease. It returns errLate if it sent nothing because the client waited, or the process
// was suspended, until the commit was no longer fresh or the term had ended. The pod is then forgotten and must be committed again.
func (e *Extender) bind(ctx context.Context, pod *corev1.Pod, node string, term uint64) error {
	began := time.Now()
	looking, look := connect.WithLook(ctx, func() error {
		if e.options.Lease.Term() != term {
			return errLate
		}
		d := e.decisions.get(pod.UID)
		if d != nil && !d.committed.IsZero() && live.Elapsed(d.committed, time.Now()) > freshFor {
			return errLate
		}
		return nil
	})
	err := e.options.Bindings.CoreV1().Pods(pod.Namespace).Bind(looking, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	e.metrics.part(ctx, "api", began)
	if errors.Is(err, errLate) || errors.Is(err, lease.ErrNotHeld) {
		if err = look.Unclear(); err == nil {
			e.cluster.Forget(pod.UID)
			return errLate
		}
	}
	bound, known := err == nil, true
	if err != nil && !live.IsRefusal(err) {
		bound, known = e.outcome(ctx, pod, node)
	}
	switch {
	case bound:
		e.decisions.change(pod.UID, func(d *decision) { d.binding, d.found = false, nil })
		e.metrics.bound(ctx, "bound")
		return nil
	case !known:
		e.log.Warn("the outcome of a bind is unknown; the pod stays assumed", "pod", pod.Namespace+"/"+pod.Name,
			"node", node, "error", err)
		e.decisions.change(pod.UID, func(d *decision) { d.binding, d.unclear, d.found = false, time.Now(), nil })
		e.metrics.bound(ctx, "unclear")
		return err
	}
	e.cluster.Forget(pod.UID)
	e.decisions.remove(pod.UID)
	e.metrics.bound(ctx, "failed")
	return err
}

// outcome reads from the API server whether a pod is bound to a node. A pending pod may still be bound.
func (e *Extender) outcome(ctx context.Context, pod *corev1.Pod, node string) (bound, known bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	now, err := e.api.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, true
	case err != nil:
		return false, false
	case now.UID == pod.UID && now.Spec.NodeName == node:
		return true, true
	}
	return false, now.UID != pod.UID || now.Spec.NodeName != "" || now.DeletionTimestamp != nil
}
