package words

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TopologyKey picks the node label whose domains are drawn: the first topology key of a pod group that nodes have, else the
// zone, else a key of the pods' rules that nodes have, zones of any name before hostnames, else none.
func TopologyKey(c *stowagev1.Cluster, groups []*stowagev1.PodGroup) string {
	for _, g := range groups {
		for _, key := range g.GetTopology().GetKeys() {
			for _, n := range c.GetNodes() {
				if _, ok := compact.Labels(c, n)[key]; ok {
					return key
				}
			}
		}
	}
	used := map[string]bool{}
	for _, t := range c.GetPodTemplates() {
		collectKeys(t.GetSpec(), used)
	}
	best := ""
	for _, n := range c.GetNodes() {
		for key := range compact.Labels(c, n) {
			if key != corev1.LabelTopologyZone && !used[key] {
				continue
			}
			if best == "" || cmp.Or(cmp.Compare(keyRank(key), keyRank(best)), cmp.Compare(key, best)) < 0 {
				best = key
			}
		}
	}
	return best
}

func keyRank(key string) int {
	switch key {
	case corev1.LabelTopologyZone:
		return 0
	case corev1.LabelHostname:
		return 2
	}
	return 1
}

func collectKeys(s *stowagev1.PodSpec, into map[string]bool) {
	for _, c := range s.GetTopologySpreadConstraints() {
		into[c.GetTopologyKey()] = true
	}
	for _, a := range []*stowagev1.PodAffinity{s.GetAffinity().GetPodAffinity(), s.GetAffinity().GetPodAntiAffinity()} {
		for _, t := range a.GetRequired() {
			into[t.GetTopologyKey()] = true
		}
		for _, t := range a.GetPreferred() {
			into[t.GetTerm().GetTopologyKey()] = true
		}
	}
}
