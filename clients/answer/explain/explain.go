// Package explain answers why a pod is pending, what would place it, and whether a pod on a node could move.
//
// An answer has everything that is known of a pod: the verdict of each node, what the counts of its rules are, which pods kube-scheduler
// would preempt, whether it has a node after the other pending pods, how its rollout continues, and remedies, each of which was tried:
// changes of the pod, of a node, of its workload, with what they do for all of its pods and for the pods that make room.
package explain

import (
	"context"
	"errors"

	"github.com/stowage-scheduler/stowage/clients/advice"
	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/pod"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options choose the pods.
type Options struct {
	// Targets are pods and workloads: NAME, KIND/NAME or NAMESPACE/KIND/NAME. Of a workload, one pending pod of each spec is explained,
	// else one of its pods on nodes.
	Targets []string
	// Namespace is the namespace of targets without one; empty for any.
	Namespace string
	// Pod is a pending pod or its workload, without Targets; empty for the only one.
	Pod string
}

// Answer is the answer about pods.
type Answer struct {
	answer.Judgement
	Pods []*Pod
	// Findings are placement rules of the pods that have no effect or look like mistakes.
	Findings []review.Finding
	// Single says that the question names no targets: the answer is about one pending pod.
	Single bool
}

// Pod is the answer about a pod.
type Pod struct {
	answer.Judgement
	*target.Chosen
	// Words has the sentences for the response, and what is known beyond it.
	Words *words.Explanation
	// Response is the response of the server. Its indexes are of the nodes of Words.Cluster, which lacks a pod that is on a node.
	Response *stowagev1.FilterResponse
	// After is the fate of the pod after other pending pods; nil if they do not count.
	After *words.After
	// Devices are the devices that the claims of a pending pod get if it is placed now, alone, on its best node.
	Devices []*stowagev1.ClaimDevices
	// Advice are changes of the workload that place the pods.
	Advice []advice.Advice
	// Findings are the findings of the answer, if it is about this pod alone.
	Findings []review.Finding
}

// Ask explains pods. With an error, the answer has the findings alone.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	all, err := o.Choose(q)
	if err != nil {
		return nil, err
	}
	out := &Answer{Single: len(o.Targets) == 0}
	if out.Single {
		out.Findings, err = pod.Findings(q, all[0])
	} else {
		out.Findings, err = findings(q, all)
	}
	if err != nil {
		return nil, err
	}
	a := &asker{Question: q}
	err = q.Put(func() error {
		a.reset()
		if all, err = o.Choose(q); err != nil { // the server may have refused one
			return err
		}
		for len(out.Pods) < len(all) { // the answers so far hold if an object is refused later
			one, err := a.explain(ctx, all[len(out.Pods)])
			if err != nil {
				return err
			}
			out.Pods = append(out.Pods, one)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	out.Notes = q.Notes()
	for _, p := range out.Pods {
		if out.Single {
			p.Findings = out.Findings
		}
		if out.Status == answer.Yes || p.Status == answer.No {
			out.Status = p.Status
		}
		out.Caveats = append(out.Caveats, p.Caveats...)
	}
	return out, nil
}

// Choose returns the pods that the options name.
func (o Options) Choose(q *answer.Question) ([]*target.Chosen, error) {
	if len(o.Targets) == 0 {
		of, err := target.Pending(q.Snapshot, o.Pod)
		if err != nil {
			return nil, err
		}
		return []*target.Chosen{of}, nil
	}
	var out []*target.Chosen
	var errs []error
	for _, text := range o.Targets {
		t, err := target.Parse(text, o.Namespace, q.Snapshot)
		if err == nil {
			var of []*target.Chosen
			of, err = t.Choose(q.Snapshot)
			out = append(out, of...)
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// findings returns the findings about the rules of pending pods.
func findings(q *answer.Question, all []*target.Chosen) ([]review.Finding, error) {
	var pods []kube.PodSource
	for _, t := range all {
		if len(t.Pending) == 0 {
			continue
		}
		if by, ok := q.Snapshot.SourceOf(t.Pending[0]); ok {
			by.Count = t.Count()
			pods = append(pods, by)
		}
	}
	return q.Review(pods)
}

// Feasible reports whether the pod has a feasible node now; of a pod on a node, another one than its own.
func (p *Pod) Feasible() bool {
	here := p.Node()
	for _, name := range p.Response.GetFeasibleNodes().GetNames() {
		if name != here {
			return here != "" || p.Response.GetMessage() == ""
		}
	}
	return false
}

// Good reports whether the pod has a node, after other pending pods if these count.
func (p *Pod) Good() bool {
	return (p.Feasible() || p.After.Later() != "") && p.After.String() == ""
}

// Node is the node of a pod on a node, empty for a pending pod.
func (p *Pod) Node() string {
	if len(p.Pending) > 0 {
		return ""
	}
	return p.On.Pod.Spec.NodeName
}
