package expect

import (
	"slices"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// WhatIf returns kube-scheduler's answer for a scenario, on the cluster after the scenario. The queue result is nil unless a whole
// kube-scheduler runs the queue.
func WhatIf(w *scenario.WhatIf, a *scenario.After) (*stowagev1.WhatIfResponse, *oracle.QueueResult, error) {
	out := &stowagev1.WhatIfResponse{}
	var result *oracle.QueueResult
	var controllers *oracle.Controllers
	var err error
	if a.Whole {
		if w.Requeue {
			controllers = &oracle.Controllers{Counted: a.Counted, Unknown: a.Unknown}
		}
		out.Placement, result, err = wholeQueue(a.Case, controllers)
	} else {
		out.Placement, out.Stopped, err = inOrder(a.Case, w.Stop)
	}
	if err != nil {
		return nil, nil, err
	}
	requeue := func(r *scenario.Returned, preempted bool) {
		node := slices.Index(a.Before, r.Pod.Spec.NodeName)
		pod := &stowagev1.PodReference{Namespace: r.Pod.Namespace, NodeIndex: new(uint32(node)), Count: uint32(r.Count)}
		if !r.Counted {
			pod.Name = r.Pod.Name
		}
		out.Requeued = append(out.Requeued, &stowagev1.RequeuedPod{Pod: pod, Unknown: r.Unknown, Preempted: preempted})
	}
	for i := range a.Returned {
		if !a.Returned[i].Unknown {
			requeue(&a.Returned[i], false)
		}
	}
	if controllers != nil {
		for i := range controllers.Entries {
			requeue(&controllers.Entries[i], true)
		}
	}
	for i := range a.Returned {
		if r := &a.Returned[i]; r.Unknown {
			requeue(r, false)
			unknown := &stowagev1.Placement{Nodes: &stowagev1.NodeList{}, UnplacedCount: uint32(r.Count)}
			out.Placement.Placements = append(out.Placement.Placements, unknown)
			out.Placement.UnplacedCount += unknown.UnplacedCount
		}
	}
	renumber(out.Placement, a.Index)
	for _, e := range out.Placement.Evictions {
		for _, v := range e.Victims {
			if of, ok := v.Origin.(*stowagev1.PodReference_QueueIndex); ok && int(of.QueueIndex) >= len(w.Queue) {
				v.Name = "" // the controller would choose one
			}
		}
	}
	return out, result, nil
}

// wholeQueue has a whole kube-scheduler run a case's queue. Without controllers no preempted pod comes back.
func wholeQueue(c *scenario.Case, controllers *oracle.Controllers) (*stowagev1.PlaceResponse, *oracle.QueueResult, error) {
	q, err := oracle.NewQueue(c, Best(c))
	if err != nil {
		return nil, nil, err
	}
	defer q.Close()
	if controllers != nil {
		q.Control(controllers)
	}
	r, err := q.Run()
	if err != nil {
		return nil, nil, err
	}
	if controllers != nil {
		more := *c
		more.Queue = slices.Clip(c.Queue)
		for _, e := range controllers.Entries {
			more.Queue = append(more.Queue, scenario.Pending{Pod: e.Pod, Count: e.Count})
		}
		c = &more
	}
	for _, p := range r.Pods {
		if p.Last != nil {
			p.Message = messageOf(p.Last) // nothing is said of preemption
		}
	}
	out, err := QueueAnswer(c, r)
	return out, r, err
}

// inOrder places the entries one by one, until one has an unplaced pod if stop is set.
func inOrder(c *scenario.Case, stop bool) (out *stowagev1.PlaceResponse, stopped bool, err error) {
	if c.Grouped() {
		out, err = groupsInOrder(c)
		return out, false, err
	}
	s, err := oracle.New(c)
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	placements := make([]oracle.Placement, len(c.Queue))
	attempted := 0
	for ; attempted < len(c.Queue) && !stopped; attempted++ {
		p, err := s.PlaceEntry(attempted, c.Queue[attempted].Count, Best(c))
		if err != nil {
			return nil, false, err
		}
		placements[attempted] = *p
		stopped = stop && p.Unplaced != nil
	}
	if out, err = placeAnswer(c, placements, candidatesOf(c)); err != nil {
		return nil, false, err
	}
	for i, p := range out.Placements {
		p.Explanation = nil
		if i >= attempted {
			p.UnattemptedCount = p.UnplacedCount
		}
	}
	return out, stopped, nil
}

// renumber maps the indexes of nodes to the indexes in before.
func renumber(p *stowagev1.PlaceResponse, before []uint32) {
	set := func(l *stowagev1.NodeList) {
		for i, n := range l.GetIndexes() {
			l.Indexes[i] = before[n]
		}
	}
	for _, e := range p.Placements {
		e.Nodes = &stowagev1.NodeList{Indexes: slices.Clone(e.Nodes.GetIndexes())}
		set(e.Nodes)
		for _, r := range e.Rejections {
			set(r.Nodes)
		}
	}
	for _, b := range p.ClaimBindings {
		b.NodeIndex = before[b.NodeIndex]
	}
	for _, e := range p.Evictions {
		if e.NodeIndex != nil {
			e.NodeIndex = new(before[e.GetNodeIndex()])
		}
		for _, v := range e.Victims {
			v.NodeIndex = new(before[v.GetNodeIndex()])
		}
		for _, n := range e.Nominations {
			n.Nodes = &stowagev1.NodeList{Indexes: slices.Clone(n.Nodes.GetIndexes())}
			set(n.Nodes)
		}
	}
}
