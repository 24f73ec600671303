package provision

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Uncounted reports the topology domains that only templates without a new node have, for each key by which pods of the queue must be
// spread. kube-scheduler does not know these domains (pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
// calPreFilterState, v1.37): a workload with a maxSkew of 1 may so get all its pods in the one domain that has nodes.
func (a *Answer) Uncounted() []string {
	if a.Options.CountTemplateDomains {
		return nil
	}
	var out []string
	for _, key := range a.spreadKeys() {
		known, others := map[string]bool{}, map[string]bool{}
		for _, n := range a.Snapshot.Cluster.GetNodes() {
			if value, ok := compact.Labels(a.Snapshot.Cluster, n)[key]; ok {
				known[value] = true
			}
		}
		for t, of := range a.Snapshot.NodeTemplates {
			value, ok := compact.Labels(a.Snapshot.Cluster, of.GetNode())[key]
			switch {
			case !ok:
			case a.Response.GetCounts()[t] > 0:
				known[value] = true
			default:
				others[value] = true
			}
		}
		maps.DeleteFunc(others, func(value string, _ bool) bool { return known[value] })
		if len(others) == 0 || len(known) == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("Topology spread by %s counts %s: kube-scheduler knows only domains that have nodes, not %s. "+
			"With --count-template-domains all domains of templates count.",
			key, words.Names(slices.Sorted(maps.Keys(known))), words.Names(slices.Sorted(maps.Keys(others)))))
	}
	return out
}

// spreadKeys returns the topology keys by which pods of the queue must be spread, without the hostname, of which each node is a domain.
func (a *Answer) spreadKeys() []string {
	keys := map[string]bool{}
	for _, e := range a.Snapshot.Queue {
		for _, c := range compact.Template(a.Snapshot.Cluster, e.Pods.GetPod()).GetSpec().GetTopologySpreadConstraints() {
			if c.GetWhenUnsatisfiable() == stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE && c.GetTopologyKey() != "kubernetes.io/hostname" {
				keys[c.GetTopologyKey()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
