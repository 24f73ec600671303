package speed

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

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
	kube, err := r.compared(w, objects, r.cases)
	if err != nil {
		return err
	}
	defer kube.Close()
	if err := r.races(w, kube, r.cases); err != nil {
		return err
	}
	if w == r.big {
		r.judge(nodes)
	}
	return nil
}

// compared returns kube-scheduler with the cases as its queue, after its decisions were compared.
func (r *run) compared(w *world, objects *scenario.Case, cases []*podCase) (*oracle.Scheduler, error) {
	for _, c := range cases {
		objects.Queue = append(objects.Queue, scenario.Pending{Pod: c.Pod, Count: 1})
	}
	kube, err := oracle.NewWith(objects, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return nil, err
	}
	for i, c := range cases {
		decided, err := kube.Decide(kube.Queue[i])
		if err == nil {
			err = w.want[c].differs(decision{feasible: decided.Feasible, best: decided.Best})
		}
		if err != nil {
			kube.Close()
			return nil, fmt.Errorf("%s: Stowage decides otherwise than kube-scheduler: %w", c.Name, err)
		}
	}
	return kube, nil
}

// worldOf is the big cluster if it has the size.
func (r *run) worldOf(nodes int) (*world, error) {
	if r.big.size == nodes {
		return r.big, nil
	}
	return r.world(nodes)
}

// races times the cases on two cores, and on one.
func (r *run) races(w *world, kube *oracle.Scheduler, cases []*podCase) error {
	for _, procs := range []int{2, 1} {
		for i, c := range cases {
			if err := r.race(w, kube, c, kube.Queue[i], procs); err != nil {
				return err
			}
		}
	}
	return nil
}

// race times one case.
func (r *run) race(w *world, kube *oracle.Scheduler, c *podCase, pod *corev1.Pod, procs int) error {
	// Which of several best nodes kube-scheduler takes is chance; what it decides was compared before.
	choose := always("kube-scheduler, "+c.Name, func() ([]byte, error) {
		_, err := kube.Choose(pod)
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
		f.Value, f.Wall, f.Processor = ratio(v.Kube.wall, v.Seen.wall), v.Seen.wall, ratio(v.Kube.cpu, v.Seen.cpu)
	}
}
