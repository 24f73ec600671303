package speed

import (
	"errors"

	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// scale measures a cluster of many nodes: what a node costs, and counting on two cores against one.
func (r *run) scale() error {
	w, err := r.world(scaleNodes)
	if err != nil {
		return err
	}
	together := r.find(all)
	one, two := r.counting(w, 1), r.counting(w, 2)
	t, err := r.measurement().of(r.emptyCall(), r.first(r.big, together), r.first(w, together), one, two)
	if err != nil {
		return err
	}
	perNode := func(of timing, w *world) float64 {
		return float64(of.wall-t[0].wall) / float64(w.size)
	}
	r.set("node-cost", perNode(t[2], w)/perNode(t[1], r.big))
	r.setRatio("counting-call", t[3], t[4])
	if t, err = r.measurement().of(countingAlone(1), countingAlone(2)); err != nil {
		return err
	}
	r.setRatio("counting", t[0], t[1])
	return nil
}

// What is counted by the engine alone: 500 groups of pods, each on every 16th or so of the nodes, by rack.
const (
	countedNodes  = 500_000
	countedGroups = 500
	countedEach   = 30_000
	countedRacks  = 1250
)

// countingAlone counts pods by rack.
func countingAlone(procs int) *subject {
	count := enginetest.CountPods(countedNodes, countedGroups, countedEach, countedRacks)
	s := always("counting", func() ([]byte, error) {
		if count() != countedGroups*countedEach {
			return nil, errors.New("pods are missing")
		}
		return nil, nil
	})
	s.procs = procs
	return s
}

// counting is a Filter for which all pods are counted and one node is looked at.
func (r *run) counting(w *world, procs int) *subject {
	c := r.find("counting")
	node := w.want[c].feasible[0]
	return &subject{
		name:  "counting",
		procs: procs,
		prepare: func(int) (call, error) {
			request, err := w.target.filterRequest(c.pod(r.trial()), node)
			return func() ([]byte, error) { return r.stowage.filter(request) }, err
		},
		check: func(_ int, answer []byte) error {
			got, err := feasible(answer)
			if err != nil {
				return err
			}
			return decision{feasible: got}.differs(decision{feasible: []uint32{node}})
		},
	}
}
