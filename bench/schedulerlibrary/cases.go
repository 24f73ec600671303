package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	library "sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"
)

// timed is a call that both answer.
type timed struct {
	name string
	// prepare returns the call. What it prepares is not timed, such as copies of pods, which calls change.
	prepare func(*side) func(context.Context) (answer, error)
}

// answer is what answers must have in common. The library takes any feasible node, so nodes of scheduled pods may differ.
type answer struct {
	count   int
	digest  [sha256.Size]byte
	refused string
}

// cases are the calls. An odd node has a cpu of 2 free, which is too little for the pending pods.
func cases(o *objects) (out []timed) {
	for _, of := range []struct {
		name, app string
		by        func(*corev1.Pod) *corev1.Pod
	}{{"plain", "new", plain}, {"anti-affinity", "app-7", apart}, {"spread", "app-7", spread}} {
		out = append(out, feasible(of.name, pending(1, of.app, of.by)[0]))
		for _, count := range []int{1, 100} {
			out = append(out, schedule(of.name, pending(count, "new", of.by)))
		}
	}
	large := pod("large", "new", "100")
	return append(out, feasible("fits nowhere", large), schedule("fits nowhere", []*corev1.Pod{large}), template(1_000), preempt(o, 10))
}

// feasible is CanSchedulePod on all nodes. The feasible nodes and the reasons of the others must be equal.
func feasible(name string, p *corev1.Pod) timed {
	return timed{"CanSchedulePod, " + name, func(s *side) func(context.Context) (answer, error) {
		p := p.DeepCopy()
		return func(ctx context.Context) (answer, error) {
			nodes, why, err := s.CanSchedulePod(ctx, p, s.all)
			if err != nil {
				return answer{}, err
			}
			slices.Sort(nodes)
			digest := sha256.New()
			for _, name := range nodes {
				fmt.Fprintln(digest, name)
			}
			why.NodeToStatus.ForEachExplicitNode(func(name string, status *fwk.Status) {
				if len(why.NodeToStatus.Get(name).Reasons()) == 0 {
					err = errors.Join(err, fmt.Errorf("node %s is rejected without a reason: %v", name, status))
				}
			})
			return answer{count: len(nodes), digest: [sha256.Size]byte(digest.Sum(nil))}, err
		}
	}}
}

// schedule is SchedulePods on all nodes, as a dry run. As many pods must have a node, and the others the same reasons.
func schedule(name string, pods []*corev1.Pod) timed {
	what := "SchedulePods, " + name
	if len(pods) > 1 {
		what += fmt.Sprintf(", %d pods", len(pods))
	}
	return timed{what, func(s *side) func(context.Context) (answer, error) {
		pods := copies(pods)
		return func(ctx context.Context) (answer, error) {
			results, err := s.SchedulePods(ctx, pods, s.all, library.NewSchedulePodsOptions(true, false))
			return count(results), err
		}
	}}
}

func count(results []library.SchedulingResult) (out answer) {
	for _, r := range results {
		if r.SelectedNodeName != "" {
			out.count++
		} else {
			out.refused = r.Status.Message()
		}
	}
	return out
}

// template is SchedulePodsByTemplate on all nodes, as a dry run.
func template(pods int) timed {
	return timed{fmt.Sprintf("SchedulePodsByTemplate, %d pods", pods), func(s *side) func(context.Context) (answer, error) {
		t := &corev1.PodTemplateSpec{Spec: pod("", "", "4").Spec}
		return func(ctx context.Context) (answer, error) {
			results, err := s.SchedulePodsByTemplate(ctx, t, s.all, pods, library.NewSchedulePodsByTemplateOptions(true))
			return count(results), err
		}
	}}
}

// preempt is a transaction that preempts all pods of a full node, schedules a pod there, and reverts.
func preempt(o *objects, pods int) timed {
	return timed{fmt.Sprintf("a transaction: preempt %d pods, schedule 1 on their node, revert", pods), func(s *side) func(context.Context) (answer, error) {
		victims := copies(o.pods[podsPerNode : podsPerNode+pods])
		p := pod("large", "new", "30")
		on, placing := s.MakePlacement([]string{victims[0].Spec.NodeName})
		return func(ctx context.Context) (out answer, err error) {
			return out, errors.Join(placing, s.Transaction(ctx, func() (library.TransactionResult, error) {
				if _, err := s.preempt(ctx, victims); err != nil {
					return library.Revert, err
				}
				results, err := s.SchedulePods(ctx, []*corev1.Pod{p}, on, library.SchedulePodsOptions{})
				out = count(results)
				return library.Revert, err
			}))
		}
	}}
}
