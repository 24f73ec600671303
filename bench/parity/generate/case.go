package generate

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Case draws the case of a profile and a seed.
func Case(profile string, seed uint64) *scenario.Case {
	d := newDraw(profile, seed)
	d.c.Name = fmt.Sprintf("%s/%d", profile, seed)
	if d.focus(remedying) && d.chance(0.4) {
		d.advised()
		return d.c.Copy()
	}
	if d.focus(simulation) {
		d.inScenarios()
	}
	if d.focus(nomination) && !d.focus(simulation) {
		d.besides()
	}
	if d.focus(preemption) {
		d.oftenMore()
	}
	if d.focus(queueing) {
		d.inQueues()
	}
	if d.focus(grouping) {
		d.oftenOther()
	}
	if d.focus(storing) {
		d.alsoFull()
	} else {
		d.alsoBinds()
	}
	d.config()
	d.namespaces()
	nodes, perNode := d.size()
	for i := range nodes {
		d.c.Nodes = append(d.c.Nodes, d.node(i))
	}
	if d.focus(storing) {
		d.storage()
	}
	if d.focus(devicing) {
		d.devices()
	}
	d.existingPods(perNode)
	if d.focus(queueing) {
		d.wholeQueue()
	} else {
		d.queue()
	}
	if !d.c.Whole && (d.focus(nomination) || d.focus(preemption) || d.focus(grouping)) {
		d.nominations()
	}
	if d.focus(preemption) {
		d.preemptions()
	}
	simulated := d.focus(grouping) && d.chance(0.3)
	switch {
	case simulated:
		d.runningGroups()
	case d.focus(grouping):
		d.groups()
	}
	d.workloads()
	if simulated || d.focus(simulation) {
		d.scenarios()
	}
	if !d.c.Whole && !simulated && !d.focus(simulation) && !d.focus(remedying) && d.chance(0.1) {
		d.candidates()
	}
	if d.c.Remedies = d.focus(remedying); d.c.Remedies {
		d.remedies()
	}
	if d.chance(0.5) {
		d.c.TieBreakSeed = d.Uint64()
	}
	return d.c.Copy()
}

// size returns the number of nodes, and the most pods that a node has.
func (d *draw) size() (nodes, perNode int) {
	switch x := d.Float64(); {
	case d.focus(queueing):
		return pick(d, 1, 2, 2, 3, 4, 6, 12), pick(d, 1, 4, 4, 6)
	case d.focus(simulation), d.focus(remedying):
		return d.between(1, 8), 4
	case d.focus(nomination) && d.likelihood[longQueue] == 1:
		return d.between(16, 60), 2
	case d.focus(grouping) && x < 0.95:
		return d.between(1, 10), pick(d, 2, 4)
	case d.focus(grouping):
		return d.between(11, 30), 3
	case d.focus(preemption) && x < 0.06:
		return d.between(1, 3), 30
	case d.focus(preemption) && x < 0.9:
		return d.between(1, 8), pick(d, 3, 5, 8)
	case d.focus(nomination) && x < 0.85:
		return d.between(1, 6), 4
	case x < 0.0002:
		return d.between(1000, 5000), 2
	case x < 0.01:
		return d.between(100, 300), 3
	case x < 0.03:
		return d.between(0, 2), 3
	case x < 0.6:
		return d.between(3, 12), 4
	default:
		return d.between(13, 40), 3
	}
}

func (d *draw) existingPods(perNode int) {
	templates := make([]int, d.between(1, 5))
	for i := range templates {
		templates[i] = len(d.c.Pods)
		d.c.Pods = append(d.c.Pods, d.pod(onNode))
	}
	stamps := slices.Clone(d.c.Pods)
	d.c.Pods = nil
	for _, n := range d.c.Nodes {
		for range d.IntN(perNode + 1) {
			pod := stamps[d.IntN(len(stamps))].DeepCopy()
			if d.chance(0.15) {
				pod = d.pod(onNode)
			}
			pod.Name = d.name("pod")
			pod.Spec.NodeName = n.Name
			if d.owns() {
				d.ownVolumes(pod, onNode)
			}
			if d.chance(0.08) {
				d.terminate(pod)
			}
			if d.has(resize) {
				d.resize(pod)
			}
			d.c.Pods = append(d.c.Pods, pod)
		}
	}
}

func (d *draw) queue() {
	entries, most := d.between(1, 3), 8
	if d.has(longQueue) {
		entries, most = d.between(2, 8), 40
	}
	for range entries {
		pod := d.pod(pending)
		if len(d.c.Pods) > 0 && d.chance(0.3) {
			// A pod like the pods on nodes: a workload that grows.
			pod = d.c.Pods[d.IntN(len(d.c.Pods))].DeepCopy()
			pod.Spec.NodeName = ""
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds, pod.Finalizers = nil, nil, nil
			pod.Status.Reset()
		} else if i := len(d.c.Queue); i > 0 && d.chance(0.25) {
			// The pods of a workload take turns with another's.
			pod = d.c.Queue[d.IntN(i)].Pod.DeepCopy()
		}
		pod.Name, pod.Spec.ResourceClaims = d.name("pending"), nil
		count := 1
		if d.chance(0.4) {
			count = d.between(2, most)
		}
		d.ownOnly(pod)
		if count == 1 && d.owns() {
			d.ownVolumes(pod, pending)
		}
		if d.claimsDevices() {
			d.claimDevices(pod)
		}
		if pod.UID != "" {
			count = 1
		}
		d.c.Queue = append(d.c.Queue, scenario.Pending{Pod: pod, Count: count})
	}
}

func (d *draw) candidates() {
	share := pick(d, 0.1, 0.6, 0.6, 0.9)
	d.c.Candidates = []string{}
	for _, n := range d.c.Nodes {
		if d.chance(share) {
			d.c.Candidates = append(d.c.Candidates, n.Name)
		}
	}
}

func (d *draw) name(prefix string) string {
	d.names++
	return fmt.Sprintf("%s-%d", prefix, d.names)
}
