package speed

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// nominatedNodes is the number of nodes that have nominated pods, and nominatedPods their number on each of them.
const nominatedNodes, nominatedPods = 20, 2

// nominatedTurns is the minimum number of turns: the difference is about a twentieth, too small for few turns.
const nominatedTurns = 60

// nominated compares decisions on a cluster with nominated pods, which leave room for the pod, with decisions on a cluster without.
func (r *run) nominated(nodes int) error {
	cluster := bigcluster.Compact(newCluster(nodes))
	without, err := r.put(cluster, r.cases)
	if err != nil {
		return err
	}
	for i := range nominatedNodes {
		n := cluster.Nodes[i*len(cluster.Nodes)/nominatedNodes]
		for at := range nominatedPods {
			n.NominatedPods = append(n.NominatedPods, &stowagev1.Pod{
				Name:   fmt.Sprintf("nominated-%d-%d", i, at),
				Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(i*nominatedPods + at)},
			})
		}
	}
	with, err := r.put(cluster, r.cases)
	if err != nil {
		return err
	}
	c := r.find(all)
	m := r.measurement()
	m.turns = max(m.turns, nominatedTurns)
	t, err := m.of(r.both(without, c, true), r.both(with, c, true))
	if err != nil {
		return err
	}
	r.setRatio("nominated", t[1], t[0])
	return nil
}
