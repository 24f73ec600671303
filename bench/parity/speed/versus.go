package speed

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// kubeParallelism is kube-scheduler's default number of nodes at a time.
const kubeParallelism = 16

// versus has kube-scheduler decide about each case on the same cluster, compares the decisions, and times both.
func (r *run) versus(nodes int) error {
	w, err := r.worldOf(nodes)
	if err != nil {
		return err
	}
	objects, err := kubernetes(newCluster(nodes))
	if err != nil {
		return err
	}
	for _, c := range r.cases {
		objects.Queue = append(objects.Queue, scenario.Pending{Pod: c.Pod, Count: 1})
	}
	kube, err := oracle.NewWith(objects, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return err
	}
	defer kube.Close()
	for i, c := range r.cases {
		decided, err := kube.Decide(kube.Queue[i])
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if err := w.want[c].differs(decision{feasible: decided.Feasible, best: decided.Best}); err != nil {
			return fmt.Errorf("%s: Stowage decides otherwise than kube-scheduler: %w", c.Name, err)
		}
	}
	for _, procs := range []int{2, 1} {
		for i := range r.cases {
			if err := r.race(w, kube, i, procs); err != nil {
				return err
			}
		}
	}
	if w == r.big {
		r.judge(nodes)
	}
	return nil
}

// worldOf is the big cluster if it has the size.
func (r *run) worldOf(nodes int) (*world, error) {
	if r.big.size == nodes {
		return r.big, nil
	}
	return r.world(nodes)
}

// race times one case.
func (r *run) race(w *world, kube *oracle.Scheduler, i, procs int) error {
	c := r.cases[i]
	// Which of several best nodes kube-scheduler takes is chance; what it decides was compared before.
	choose := always("kube-scheduler, "+c.Name, func() ([]byte, error) {
		_, err := kube.Choose(kube.Queue[i])
		return nil, err
	})
	choose.procs = procs
	seen, first := r.both(w, c, false), r.both(w, c, true)
	seen.procs, first.procs = procs, procs
	t, err := measurement{turns: min(5, r.Turns)}.of(choose, seen, first)
	if err != nil {
		return err
	}
	r.Report.Versus = append(r.Report.Versus, &Versus{
		Nodes: w.size, Procs: procs, Case: c.Name, Kind: c.Kind, Kube: t[0], Seen: t[1], First: t[2],
	})
	return nil
}

// judge holds the promises against the worst case of each kind, on two cores.
func (r *run) judge(nodes int) {
	worst := map[string]*Versus{}
	for _, v := range r.Report.Versus {
		if v.Nodes != nodes || v.Procs != 2 {
			continue
		}
		if w := worst[v.Kind]; w == nil || ratio(v.Kube.wall, v.Seen.wall) < ratio(w.Kube.wall, w.Seen.wall) {
			worst[v.Kind] = v
		}
	}
	for _, kind := range []string{plain, "spread", "anti-affinity", "affinity"} {
		key, v := "kube-"+kind, worst[kind]
		f := r.at(key)
		f.Value, f.Wall, f.CPURatio = ratio(v.Kube.wall, v.Seen.wall), v.Seen.wall, ratio(v.Kube.cpu, v.Seen.cpu)
	}
}
