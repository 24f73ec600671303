package speed

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
)

// clusterSizes are the sizes at which Filter is measured for each form of the cluster.
var clusterSizes = []int{1_000, 5_000, 15_000, 100_000}

// Forms is a Filter of one case for each form of its cluster, and the floors to compare it with.
type Forms struct {
	Nodes, Procs int
	Case         string

	Empty, Echo                timing
	Seen, First, Delta, Inline timing
}

// sizes measures Filters about clusters of a size, by address, with a delta and with the cluster in the request.
func (r *run) sizes(nodes int) error {
	w, err := r.worldOf(nodes)
	if err != nil {
		return err
	}
	whole, err := inline(bigcluster.Compact(newCluster(nodes)))
	if err != nil {
		return err
	}
	for _, c := range r.cases {
		request, err := whole.filterRequest(c.pod(0))
		if err != nil {
			return err
		}
		for _, procs := range []int{2, 1} {
			seen, err := r.seen(w, c)
			if err != nil {
				return err
			}
			subjects := []*subject{
				r.emptyCall(), r.echoed(whole.filter), seen, r.first(w, c), r.deltas(w, c, cordon), r.whole(w, c, request),
			}
			for _, s := range subjects {
				s.procs = procs
			}
			t, err := measurement{turns: min(3, r.Turns), collect: true}.of(subjects...)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			r.Report.Forms = append(r.Report.Forms, &Forms{
				Nodes: nodes, Procs: procs, Case: c.Name,
				Empty: t[0], Echo: t[1], Seen: t[2], First: t[3], Delta: t[4], Inline: t[5],
			})
		}
	}
	return nil
}
