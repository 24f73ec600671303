package speed

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
	r.setRatio("counting", t[3], t[4])
	return nil
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
