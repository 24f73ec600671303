package audit

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/review"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// losses finds the pods that have no other node if their node is lost. It simulates the loss of each node, with replacements of all
// its pods at once.
func (a *audit) losses(ctx context.Context) error {
	a.uncontrolled()
	if len(a.cluster.Nodes) < 2 {
		return nil
	}
	request := &stowagev1.WhatIfRequest{Context: a.context(a.Profile()), QueueMode: a.queueMode()}
	var nodes []int // by scenario
	for i, n := range a.cluster.Nodes {
		if len(n.Pods) == 0 {
			continue
		}
		nodes = append(nodes, i)
		request.Scenarios = append(request.Scenarios, &stowagev1.Scenario{
			Evictions:    []*stowagev1.NodeEvictions{{NodeName: n.Name, Drained: true}},
			RemovedNodes: []string{n.Name}, RequeueEvicted: true,
		})
	}
	var stranded, preempted groups
	err := a.whatIf(ctx, request, func(r *stowagev1.WhatIfResponse) {
		node, again := nodes[r.ScenarioIndex], map[int]bool{}
		a.doubts = append(a.doubts, stowage.Doubts(r)...)
		for i, back := range r.GetRequeued() {
			placement := r.GetPlacement().GetPlacements()[i]
			lost := int(placement.GetUnplacedCount() + placement.GetEvictedCount())
			at, known := a.index(back.GetPod())
			if back.GetPreempted() && known {
				again[at] = true
				if lost > 0 && a.pods[at].node != node {
					preempted.add(groupKey{workload: a.pods[at].workload}, "pods that come back preempt them", lost, node)
				}
				continue
			}
			if lost == 0 || back.GetUnknown() {
				continue
			}
			if known && !a.pods[at].other {
				stranded.add(groupKey{workload: a.pods[at].workload}, cmp.Or(placement.GetMessage(), "preempted again"), lost, node)
			}
		}
		for _, e := range r.GetPlacement().GetEvictions() {
			for _, victim := range e.GetVictims() {
				if at, known := a.index(victim); known && a.pods[at].node != node && !again[at] {
					preempted.add(groupKey{workload: a.pods[at].workload}, "pods that come back preempt them", 1, node)
				}
			}
		}
	})
	if err != nil {
		return err
	}
	for _, g := range []*groups{&stranded, &preempted} {
		a.report(g, review.Warning, NoOtherNode, plainly("%s without a node if a node is lost (%s): %s"))
	}
	return nil
}

// queueMode is how the pods of a lost node are placed again.
func (a *audit) queueMode() stowagev1.QueueMode {
	if a.Snapshot.Live {
		return stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	return stowagev1.QueueMode_QUEUE_MODE_UNSPECIFIED
}

// index returns the index of a pod in a response.
func (a *audit) index(p *stowagev1.PodReference) (at int, known bool) {
	_, queued := p.GetOrigin().(*stowagev1.PodReference_QueueIndex)
	at, known = a.named[podKey{p.GetNamespace(), p.GetName()}]
	return at, known && !queued && p.GetName() != ""
}

// uncontrolled finds the pods without a controller.
func (a *audit) uncontrolled() {
	for _, p := range a.pods {
		if metav1.GetControllerOfNoCopy(p.object) != nil {
			continue
		}
		a.found = append(a.found, review.Finding{
			Severity: review.Note, Rule: NoController, Object: review.Object(p.workload), Pods: 1,
			Nodes:   []string{a.cluster.Nodes[p.node].Name},
			Message: "it has no controller: nothing creates it again if its node is lost",
		})
	}
}
