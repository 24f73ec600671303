package kube

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// dropPresent takes pods of new workloads out of the queue that are there already: a dump of nodes and pods has pods, but not the
// objects that created them. Which template these pods have is not known.
func (b *Builder) dropPresent() {
	present := map[Origin][]*corev1.Pod{}
	add := func(p *corev1.Pod) {
		if p.DeletionTimestamp == nil {
			for _, o := range owners(b.withPods.owners).chain(p)[1:] {
				present[o] = append(present[o], p)
			}
		}
	}
	for i := range b.converted {
		for _, r := range b.residents[i] {
			add(r.facts.stamp.pod)
		}
	}
	for _, s := range b.queue {
		if s.origin.Kind == "Pod" {
			add(s.facts.stamp.pod)
		}
	}
	dropped := map[Origin]int{}
	b.queue = slices.DeleteFunc(b.queue, func(s slot) bool {
		of := present[s.origin]
		if len(of) == 0 {
			return false
		}
		fresh := s.facts.stamp.pod
		n := min(len(of), int(s.pods.GetCount()))
		switch s.origin.Kind {
		case "StatefulSet":
			of = slices.DeleteFunc(slices.Clone(of), func(p *corev1.Pod) bool { return p.Name != fresh.Name })
			n = min(n, len(of))
		case "DaemonSet":
			of = slices.DeleteFunc(slices.Clone(of), func(p *corev1.Pod) bool {
				return p.Spec.NodeName != pinnedTo(fresh) && pinnedTo(p) != pinnedTo(fresh)
			})
			n = min(n, len(of))
		default:
			present[s.origin] = of[n:]
		}
		if n == 0 {
			return false
		}
		if dropped[s.origin] == 0 {
			b.undecided = append(b.undecided, Undecided{Origin: s.origin, At: s.at})
		}
		dropped[s.origin] += n
		*s.pods.Count -= uint32(n)
		return *s.pods.Count == 0
	})
	for i := range b.undecided {
		if u := &b.undecided[i]; u.Message == "" {
			u.Message = fmt.Sprintf("%d of its pods are in the cluster, and are not added again; without the object that created them it is "+
				"not known if its template changes", dropped[u.Origin])
		}
	}
}

// pinnedTo returns the only node that the node affinity of a DaemonSet's pod allows, empty if it allows others.
func pinnedTo(p *corev1.Pod) string {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) != 1 || len(terms[0].MatchFields[0].Values) != 1 {
		return ""
	}
	return terms[0].MatchFields[0].Values[0]
}
