package text

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// uncounted writes the topology domains that only templates without a new node have, for each key by which pods of the queue must be
// spread. kube-scheduler does not know these domains (pkg/scheduler/framework/plugins/podtopologyspread/filtering.go
// calPreFilterState, v1.37): a workload with a maxSkew of 1 may so get all its pods in the one domain that has nodes.
func (p *Provision) uncounted(w io.Writer, a *stowagev1.ProvisionResponse) {
	for _, key := range p.spreadKeys() {
		known, others := map[string]bool{}, map[string]bool{}
		for _, n := range p.Snapshot.Cluster.GetNodes() {
			if value, ok := compact.Labels(p.Snapshot.Cluster, n)[key]; ok {
				known[value] = true
			}
		}
		for t, of := range p.Snapshot.NodeTemplates {
			value, ok := compact.Labels(p.Snapshot.Cluster, of.GetNode())[key]
			switch {
			case !ok:
			case a.GetCounts()[t] > 0:
				known[value] = true
			default:
				others[value] = true
			}
		}
		maps.DeleteFunc(others, func(value string, _ bool) bool { return known[value] })
		if len(others) == 0 || len(known) == 0 {
			continue
		}
		fmt.Fprintln(w)
		WriteWrapped(w, "", fmt.Sprintf("Topology spread by %s counts %s: kube-scheduler knows only domains that have nodes, not %s. "+
			"With --count-template-domains all domains of templates count.",
			key, words.Names(slices.Sorted(maps.Keys(known))), words.Names(slices.Sorted(maps.Keys(others)))), p.Width)
	}
}

// spreadKeys returns the topology keys by which pods of the queue must be spread, without the hostname, of which each node is a domain.
func (p *Provision) spreadKeys() []string {
	keys := map[string]bool{}
	for _, e := range p.Snapshot.Queue {
		for _, c := range compact.Template(p.Snapshot.Cluster, e.Pods.GetPod()).GetSpec().GetTopologySpreadConstraints() {
			if c.GetWhenUnsatisfiable() == stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE && c.GetTopologyKey() != "kubernetes.io/hostname" {
				keys[c.GetTopologyKey()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
