// Package work estimates the cost of a request before any work, as the time that one processor takes. It reads counts only: no
// estimate takes longer than reading the request did. An estimate is never zero, and grows with each of its inputs.
//
// docs/0021-admission.md reports the accuracy of the estimates. BenchmarkEstimates in server/placement prints them beside measured
// times.
package work

import (
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// Size is the input of an estimate. All fields are counts.
type Size struct {
	// Bytes is the size of decoded and compiled data: a cluster in the request, a delta and the bytes that it copies.
	Bytes int64
	// Items is the number of messages, elements of lists and entries of maps that are decoded.
	Items int64
	// Nodes and Pods count the cluster's nodes and pods.
	Nodes, Pods int64
	// Entries is the number of pods to be decided on, equal ones once. Rules is the number of their spread constraints, affinity
	// terms and host ports, on each node.
	Entries, Rules int64
	// Placed is the number of pods that may be placed one after another. Domains is the sum of their rules that depend on where
	// the others were placed.
	Placed, Domains int64
	// Steps is the number of steps of searches for joint placements, largest sets and cheapest nodes.
	Steps int64
	// Searched is the number of pods for which victims may be searched. Changed is the number of pods for which changes may be
	// tried. Explained is the number of pods whose checks are listed.
	Searched, Changed, Explained int64
	// Scenarios is the number of additional placements of the pods, Derived the number of derived clusters, and Moved the number of
	// evicted pods in them.
	Scenarios, Derived, Moved int64
	// Templates is the number of kinds of nodes to choose from, and Added the number of nodes that may be added.
	Templates, Added int64
}

// The costs, in nanoseconds. A visit is the check of one node.
const (
	perRequest  = 40_000
	perByte     = 4
	perItem     = 150
	perEntry    = 10_000
	perVisit    = 12
	perPod      = 0.1 // of the cluster, for a rule that counts pods
	perRule     = 6   // on a node
	perPlaced   = 1_000
	perDomain   = 500
	perCount    = 1 // of a node, for a domain
	perStep     = 2_000
	perSearch   = 1_500 // on a node
	perChange   = 2_000
	perCheck    = 4_000
	perScenario = 30_000
	perDerived  = 800_000
	perCopied   = 300 // of a node, for a derived cluster
	perMoved    = 3_000
	perTemplate = 20_000
	perAdded    = 2_000
)

// longest bounds estimates, so that sums do not overflow.
const longest = 1 << 60

// Estimate returns the work of a request.
func (s Size) Estimate() time.Duration {
	nodes, entries := float64(s.Nodes), float64(s.Entries)
	ns := perRequest + max(perByte*float64(s.Bytes), perItem*float64(s.Items))
	deciding := entries*(perEntry+perVisit*nodes) + float64(s.Rules)*(perRule*nodes+perPod*float64(s.Pods))
	placing := perPlaced*float64(s.Placed) + float64(s.Domains)*(perDomain+perCount*nodes)
	ns += (deciding + placing) * (1 + float64(s.Scenarios))
	ns += perStep * float64(s.Steps)
	ns += nodes * (perSearch*float64(s.Searched) + perChange*float64(s.Changed) + perCheck*float64(s.Explained))
	ns += float64(s.Scenarios)*(perScenario+nodes) + float64(s.Derived)*(perDerived+perCopied*nodes) + perMoved*float64(s.Moved)
	ns += float64(s.Templates)*(perTemplate+deciding) + perAdded*float64(s.Added)*(1+entries)
	return time.Duration(min(ns, longest))
}

// Of returns the size of deciding on a pod of a cluster.
func Of(nodes, pods int, pod *api.Pod) Size {
	s := Size{Nodes: int64(nodes), Pods: int64(pods), Entries: 1}
	s.Rules, _ = rules(pod)
	return s
}

// Queue adds the pods of a queue.
func (s *Size) Queue(queue []engine.Pending) {
	s.Entries += int64(len(queue))
	for i := range queue {
		all, counting := rules(&queue[i].Pod)
		s.Rules += all
		s.Placed += int64(queue[i].Count)
		s.Domains += counting * int64(queue[i].Count)
	}
}

// Groups adds the searches for pod groups.
func (s *Size) Groups(groups []engine.PodGroup) {
	for i := range groups {
		g := &groups[i]
		s.Steps += int64(len(g.Entries)) * int64(1+len(g.Keys))
		if g.Joint {
			s.Steps += int64(g.Steps) / 16 // a bound, which few searches reach
		}
	}
}

// rules returns the number of rules of a pod that are evaluated on each node, and the number of such rules that count pods of
// domains.
func rules(p *api.Pod) (all, counting int64) {
	if p == nil || p.Template == nil {
		return 0, 0
	}
	spec := &p.Template.Spec
	counting = int64(len(spec.Spread))
	for _, a := range []*api.PodAffinity{spec.PodAffinity, spec.PodAntiAffinity} {
		if a != nil {
			counting += int64(len(a.Required) + len(a.Preferred))
		}
	}
	all = counting + int64(len(spec.NodeSelector))
	if a := spec.NodeAffinity; a != nil {
		all += int64(len(a.Preferred))
		if a.Required != nil {
			all += int64(len(a.Required.Terms))
		}
	}
	for i := range spec.Containers {
		all += int64(len(spec.Containers[i].HostPorts))
	}
	return all, counting
}
