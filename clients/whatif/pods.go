package whatif

import (
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Object is an object by its name.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func objectOf(o kube.Origin) Object { return Object(o) }

// Pod is a pod and the workload that creates it again.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the pod itself if it has no controller.
	Workload Object `json:"workload"`
	// From is the node that the pod was on, empty if it was pending.
	From string `json:"from,omitempty"`
	// Node is the node that the pod, or the one that replaces it, is placed on; empty if there is none, and Reason says why.
	Node   string `json:"node,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// The reasons of pods without a node that are not kube-scheduler's texts.
const (
	notUnderstood = "what its controller creates is not understood"
	noController  = "it has no controller, so that it does not come back"
	evictedAgain  = "placed and then evicted"
	preempted     = "preempted by a pod of higher priority; whether its replacement finds a node is not decided"
	displaced     = "preempted by a pod of higher priority, and its replacement finds no node: "
)

// fate is the result for one pod that is placed.
type fate struct{ node, reason string }

// fates returns the fates of the pods of a placement: first pods with a node, then pods that found none, then pods that
// were placed and evicted.
func fates(p *stowagev1.Placement) []fate {
	var out []fate
	for _, n := range p.GetNodes().GetNames() {
		out = append(out, fate{node: n})
	}
	for range p.GetUnplacedCount() {
		out = append(out, fate{reason: p.GetMessage()})
	}
	for range p.GetEvictedCount() {
		out = append(out, fate{reason: evictedAgain})
	}
	return out
}

// returned returns the fates of replacements, by the pods that they replace.
func returned(answer *stowagev1.WhatIfResponse) map[kube.Origin]fate {
	out := map[kube.Origin]fate{}
	all := answer.GetPlacement().GetPlacements()
	first := len(all) - len(answer.GetRequeued())
	for i, r := range answer.GetRequeued() {
		f := fate{reason: notUnderstood}
		if of := fates(all[first+i]); len(of) > 0 && !r.GetUnknown() {
			f = of[0]
		}
		p := r.GetPod()
		out[kube.Origin{Kind: "Pod", Namespace: p.GetNamespace(), Name: p.GetName()}] = f
	}
	return out
}

// comesAgain returns the fate of a preempted pod.
func comesAgain(fates map[kube.Origin]fate, o kube.Origin) fate {
	again, known := fates[o]
	switch {
	case !known:
		again.reason = preempted
	case again.node == "":
		again.reason = displaced + again.reason
	}
	return again
}

// victims returns the pods on nodes that the queue preempts, in the order of time.
func victims(answer *stowagev1.PlaceResponse) []kube.Origin {
	var out []kube.Origin
	for _, e := range answer.GetEvictions() {
		for _, v := range e.GetVictims() {
			if _, queued := v.GetOrigin().(*stowagev1.PodReference_QueueIndex); !queued {
				out = append(out, kube.Origin{Kind: "Pod", Namespace: v.GetNamespace(), Name: v.GetName()})
			}
		}
	}
	return out
}
