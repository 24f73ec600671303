package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// played puts the change to WhatIf, as a scenario in which controllers create evicted pods again, in the order of kube-scheduler's
// queue. The pod must keep a node.
func (m *making) played(ctx context.Context, before *scenario.Case, s *oracle.Scheduler, stowage conformance.Service) error {
	simulation, ok := stowage.(conformance.Simulation)
	if !ok {
		return errors.New("the service answers no WhatIf")
	}
	c := *before
	c.Whole, c.WhatIf = true, []scenario.WhatIf{m.scenario(before)}
	q, err := newQuestion(&c, s, Form{})
	if err != nil {
		return err
	}
	pod, err := convert.PendingPod(m.pod)
	if err != nil {
		return err
	}
	q.request.Scenarios[0].Queue = []*stowagev1.PendingPods{{Pod: pod}}
	answers, err := simulation.WhatIf(ctx, q.request)
	if err != nil {
		return fmt.Errorf("what-if: %w", err)
	}
	placed := answers[0].GetPlacement().GetPlacements()[0]
	if placed.GetUnplacedCount()+placed.GetEvictedCount() > 0 {
		return fmt.Errorf("what-if: the pod has no node: %s", placed.GetMessage())
	}
	return nil
}

// scenario returns the change of the cluster.
func (m *making) scenario(before *scenario.Case) scenario.WhatIf {
	w := scenario.WhatIf{Requeue: true}
	for i, n := range m.Nodes {
		if i >= len(before.Nodes) || !equality.Semantic.DeepEqual(n, before.Nodes[i]) {
			w.Delta.Nodes = append(w.Delta.Nodes, n)
		}
	}
	for _, p := range m.Pods {
		if p.Spec.NodeName == m.node {
			w.Delta.Pods = append(w.Delta.Pods, p)
		}
	}
	for _, p := range before.Pods {
		stays := slices.ContainsFunc(m.Pods, func(o *corev1.Pod) bool { return scenario.PodName(o) == scenario.PodName(p) })
		if stays {
			continue
		}
		at := slices.IndexFunc(w.Evictions, func(e scenario.Evictions) bool { return e.Node == p.Spec.NodeName })
		if at < 0 {
			at, w.Evictions = len(w.Evictions), append(w.Evictions, scenario.Evictions{Node: p.Spec.NodeName})
		}
		w.Evictions[at].Pods = append(w.Evictions[at].Pods, scenario.PodName(p))
	}
	return w
}
