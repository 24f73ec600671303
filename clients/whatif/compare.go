package whatif

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Comparison is what a change leads to, beside what is without it.
type Comparison struct {
	// Changes are the changes, in words.
	Changes []string `json:"changes"`
	// Fine says that every pod that had a node has one, and so has every pod that the change adds, and that all rollouts are
	// complete.
	Fine bool `json:"fine"`
	// Before and After count the pods to place: pending pods and, after the change, also new pods and replacements.
	Before Tally `json:"before"`
	After  Tally `json:"after"`
	// Tied is the number of pods of DaemonSets and mirror pods that go with nodes that are taken away, Terminating the number of
	// evicted pods that were about to leave.
	Tied        int `json:"tied"`
	Terminating int `json:"terminating"`
	// Pods are the pods to place, and pods that leave or lose their nodes.
	Pods []Change `json:"pods"`
	// Rollouts are the rollouts of workloads whose template the change edits.
	Rollouts []*Rollout `json:"rollouts"`
	// Findings are placement rules of pending pods that are void or suspicious only after the change.
	Findings []review.Finding `json:"findings"`
	// ScaleDowns are commands that choose the pods to delete of workloads that get fewer replicas.
	ScaleDowns []string `json:"scaleDowns,omitempty"`
}

// Leaves reports whether a pod of a workload leaves its node because there are fewer replicas.
func (c *Comparison) Leaves(of Object) bool {
	return slices.ContainsFunc(c.Pods, func(p Change) bool {
		return p.Cause == Removed && p.Effect == Leaves && p.From != "" && p.Workload == of
	})
}

// Tally counts pods to place.
type Tally struct {
	Pods     int `json:"pods"`
	Placed   int `json:"placed"`
	Unplaced int `json:"unplaced"`
}

// Change is a pod before and after the change. Pod.From is the node that it was on or was placed on before.
type Change struct {
	Pod
	// Cause is why the pod is listed.
	Cause Cause `json:"cause"`
	// Effect is the result for the pod.
	Effect Effect `json:"effect"`
}

// Cause is why a pod is listed.
type Cause string

// The causes.
const (
	// Pending pods have no node yet.
	Pending Cause = "pending"
	// New pods are added by the change.
	New Cause = "new"
	// Evicted pods leave the nodes that the change takes away, or are evicted by it.
	Evicted Cause = "evicted"
	// Preempted pods are evicted by pods of higher priority, before or after the change.
	Preempted Cause = "preempted"
	// Removed pods are taken away by the change, such as by fewer replicas.
	Removed Cause = "removed"
)

// Effect is the result of the change for a pod.
type Effect string

// The effects.
const (
	// Placed: a new pod has a node.
	Placed Effect = "placed"
	// Unplaced: a new pod has no node.
	Unplaced Effect = "unplaced"
	// Keeps: a pod has a node before and after, maybe another one.
	Keeps Effect = "keeps"
	// Gains: a pod has a node only after the change.
	Gains Effect = "gains"
	// Loses: a pod has a node only before the change.
	Loses Effect = "loses"
	// Waits: a pod has no node before and after.
	Waits Effect = "waits"
	// Leaves: a pod is taken away.
	Leaves Effect = "leaves"
)

// State is a snapshot with the answer to a scenario of it. Pods of the queue come first in the answer.
type State struct {
	Snapshot   *kube.Snapshot
	Disruption *kube.Disruption
	Answer     *stowagev1.WhatIfResponse
}

// named is a pod by name that pods of two snapshots share; pods with one name are distinguished by their order.
type named struct {
	origin kube.Origin
	pod    string
}

// queued is the pods of one name to place.
type queued struct {
	named
	pod   Pod
	fates []fate
}

// queue lists the fates of the pods to place that do not come from nodes, pods with nodes first.
func (s *State) queue() []*queued {
	var out []*queued
	known := map[named]*queued{}
	add := func(e kube.Entry, of []fate) {
		name := named{e.Origin, e.Pods.GetPod().GetName()}
		q := known[name]
		if q == nil {
			q = &queued{named: name, pod: Pod{
				Namespace: e.Origin.Namespace, Name: e.Origin.Name, Workload: objectOf(e.Workload),
			}}
			if e.Origin.Kind == "StatefulSet" {
				q.pod.Name = e.Pods.GetPod().GetName()
			}
			known[name] = q
			out = append(out, q)
		}
		q.fates = append(q.fates, of...)
	}
	for i, e := range s.Snapshot.Queue {
		add(e, fates(s.Answer.GetPlacement().GetPlacements()[i]))
	}
	for _, e := range s.Snapshot.Waiting {
		add(e, fates(&stowagev1.Placement{UnplacedCount: e.Pods.PodCount(), Message: e.Message}))
	}
	return out
}

// Compare compares what a change leads to with what is without it.
func Compare(changes []string, before, after *State) *Comparison {
	c := &Comparison{Changes: changes, Fine: true, Pods: []Change{}, Rollouts: []*Rollout{}, Findings: []review.Finding{}}
	c.pending(before, after)
	c.evicted(after)
	c.removed(before, after)
	c.preempted(before, after)
	for i := range c.Pods {
		if e := c.Pods[i].Effect; e == Loses || e == Unplaced {
			c.Fine = false
		}
	}
	return c
}

func (c *Comparison) add(p Pod, cause Cause, effect Effect) {
	c.Pods = append(c.Pods, Change{p, cause, effect})
}

func (t *Tally) count(f fate) {
	if t.Pods++; f.node != "" {
		t.Placed++
	} else {
		t.Unplaced++
	}
}

// pending compares the pods to place.
func (c *Comparison) pending(before, after *State) {
	was := map[named][]fate{}
	var order []*queued
	for _, q := range before.queue() {
		was[q.named] = q.fates
		order = append(order, q)
		for _, f := range q.fates {
			c.Before.count(f)
		}
	}
	for _, q := range after.queue() {
		for _, f := range q.fates {
			c.After.count(f)
			p := q.pod
			p.Node, p.Reason = f.node, f.reason
			earlier := was[q.named]
			if len(earlier) == 0 {
				c.add(p, New, effectOf(f, Placed, Unplaced))
				continue
			}
			p.From, was[q.named] = earlier[0].node, earlier[1:]
			if p.From != "" {
				c.add(p, Pending, effectOf(f, Keeps, Loses))
			} else {
				c.add(p, Pending, effectOf(f, Gains, Waits))
			}
		}
	}
	for _, q := range order {
		for _, f := range was[q.named] {
			p := q.pod
			p.From = f.node
			c.add(p, Removed, Leaves)
		}
	}
}

func effectOf(f fate, with, without Effect) Effect {
	if f.node != "" {
		return with
	}
	return without
}

// evicted lists the pods that the disruption takes off their nodes.
func (c *Comparison) evicted(after *State) {
	fates := returned(after.Answer)
	for _, d := range after.Snapshot.Displaced(after.Disruption) {
		p := Pod{
			Namespace: d.Object.Namespace, Name: d.Object.Name, Workload: objectOf(d.Workload),
			From: after.Snapshot.Cluster.Nodes[d.Node].GetName(),
		}
		f, known := fates[d.Object]
		switch {
		case d.Fate == kube.Tied:
			c.Tied++
			continue
		case d.Fate == kube.Terminating:
			c.Terminating++
			continue
		case d.Fate == kube.Uncontrolled:
			p.Reason = noController
			c.add(p, Evicted, Loses)
			continue
		case !known:
			f = fate{reason: notUnderstood}
		}
		p.Node, p.Reason = f.node, f.reason
		c.After.count(f)
		c.add(p, Evicted, effectOf(f, Keeps, Loses))
	}
}

// removed lists the pods on nodes that the changed objects take away.
func (c *Comparison) removed(before, after *State) {
	if before.Snapshot == after.Snapshot {
		return
	}
	stay := map[kube.Origin]bool{}
	for p := range after.Snapshot.OnNodes() {
		stay[p.Object] = true
	}
	for p := range before.Snapshot.OnNodes() {
		if !stay[p.Object] {
			c.add(podOn(before.Snapshot, p), Removed, Leaves)
		}
	}
}

func podOn(s *kube.Snapshot, p kube.OnNode) Pod {
	return Pod{
		Namespace: p.Object.Namespace, Name: p.Object.Name, Workload: objectOf(p.Workload), From: s.Cluster.Nodes[p.Node].GetName(),
	}
}

// preempted lists the pods on nodes that the queue evicts before or after the change.
func (c *Comparison) preempted(before, after *State) {
	displaced := map[kube.Origin]bool{}
	for _, d := range after.Snapshot.Displaced(after.Disruption) {
		displaced[d.Object] = true
	}
	was, is := evicted(before.Answer), evicted(after.Answer)
	for p := range after.Snapshot.OnNodes() {
		if displaced[p.Object] {
			continue // it comes back, or goes with its node
		}
		pod := podOn(after.Snapshot, p)
		then, left := was[p.Object]
		now, leaves := is[p.Object]
		switch had := !left || then.node != ""; {
		case !left && !leaves:
		case leaves && now.node == "" && had:
			pod.Reason = now.reason
			c.add(pod, Preempted, Loses)
		case leaves && now.node != "" && had && now.node != cmp.Or(then.node, pod.From):
			pod.From, pod.Node = cmp.Or(then.node, pod.From), now.node
			c.add(pod, Preempted, Keeps)
		case !had && (!leaves || now.node != ""):
			pod.From, pod.Node = "", cmp.Or(now.node, pod.From)
			c.add(pod, Preempted, Gains)
		}
	}
}

// evicted returns the fates of the pods on nodes that the queue of an answer evicts.
func evicted(answer *stowagev1.WhatIfResponse) map[kube.Origin]fate {
	fates, out := returned(answer), map[kube.Origin]fate{}
	for _, o := range victims(answer.GetPlacement()) {
		out[o] = comesAgain(fates, o)
	}
	return out
}
