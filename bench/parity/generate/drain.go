package generate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// drain draws nodes to drain, with budgets that let some pods go, and little room elsewhere in some cases.
func (d *draw) drain() {
	w := &scenario.Drain{
		Mode:        pick(d, scenario.EachNode, scenario.EachNode, scenario.Together, scenario.Together, scenario.LargestSet),
		Terminating: d.chance(0.35), IgnoreBudgets: d.chance(0.1), Force: d.chance(0.4),
	}
	var names []string
	for _, n := range d.c.Nodes {
		names = append(names, n.Name)
	}
	if d.chance(0.3) {
		w.Nodes = append([]string{}, some(d, 0.7, names...)...)
	}
	if !d.c.Whole && d.chance(0.2) {
		w.Targets = append([]string{}, some(d, 0.7, names...)...)
	}
	if w.Mode == scenario.LargestSet {
		w.Steps = pick(d, 0, 0, 0, 1, 5, 20)
	}
	for range d.IntN(3) {
		d.budget()
	}
	if len(d.c.Pods) > 0 && d.chance(0.4) {
		// The pods of a namespace are evicted one after the other.
		d.c.PodDisruptionBudgets = nil
		d.budget()
		b := d.c.PodDisruptionBudgets[0]
		b.Namespace, b.Spec.Selector = pick(d, d.c.Pods...).Namespace, &metav1.LabelSelector{}
	}
	for _, b := range d.c.PodDisruptionBudgets {
		if d.chance(0.7) {
			b.Status.DisruptionsAllowed = int32(pick(d, -1, 1, 1, 1, 2, 3))
		}
	}
	if d.c.Whole {
		for _, pod := range d.c.Pods {
			if d.chance(0.5) {
				pod.Spec.Priority = pick(d, ptr(int32(1000)), ptr(int32(2000)))
				d.askFor(pod, "500m", "1", "2")
			}
		}
	}
	if d.chance(0.5) || d.c.Whole {
		for _, n := range d.c.Nodes {
			if d.chance(0.7) {
				d.scarce(n)
			}
			if d.c.Whole && d.chance(0.5) {
				d.tight(n)
			}
		}
	}
	d.c.Drain, d.c.Queue = w, nil
}
