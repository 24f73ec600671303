package cluster

import "slices"

// Occupant is a pod on a node, or several equal ones.
type Occupant struct {
	Group    int
	Name     string // empty if only counted
	Count    int
	Priority int32
	// Queue is the index of the queue entry that the pod was placed from, -1 if it was on its node before.
	Queue int

	usage Usage
}

// Uses returns how much one of these pods takes of a resource.
func (o *Occupant) Uses(resource string) int64 {
	if lane := slices.Index(LaneNames[:], resource); lane >= 0 {
		return o.usage.Amounts[lane]
	}
	for _, q := range o.usage.Scalars {
		if q.Resource == resource {
			return q.Amount
		}
	}
	return 0
}

// Occupants returns the pods on a node: those that are only counted by group, those stated one by one, those assumed, each
// in the order stated. Assumed ones are found among the given places in AssumedPods.
func (s *State) Occupants(node uint32, assumed []int) []Occupant {
	var out []Occupant
	row := s.rows[node]
	for _, p := range row.pods {
		count := int(p.count)
		for i := range row.named {
			if row.named[i].Group == p.group {
				count--
			}
		}
		if count > 0 {
			l := s.Cluster.load(int(p.group))
			out = append(out, Occupant{Group: int(p.group), Count: count, Priority: l.priority, Queue: -1, usage: l.Usage})
		}
	}
	for _, p := range row.named {
		var l load
		if p.load == asTemplate {
			l = s.Cluster.load(int(p.Group))
		} else {
			l = s.loads[p.load]
		}
		out = append(out, Occupant{Group: int(p.Group), Name: p.Name, Count: 1, Priority: l.priority, Queue: -1, usage: l.Usage})
	}
	for _, i := range assumed {
		a := &s.assumed[i]
		out = append(out, Occupant{
			Group: a.Group, Name: a.Name, Count: 1, Priority: a.pod.Spec().Priority, Queue: a.Queue, usage: a.pod.usage,
		})
	}
	return out
}

// Without returns a state in which is placed what is placed in s, but for some pods of a node. Count says how many of each
// are gone. Nothing can be placed in it, and it shares the request's strings with s.
func (s *State) Without(node uint32, gone []Occupant) *State {
	f := *s
	f.changed = true
	f.groups = slices.Clone(s.groups)
	f.Resources = s.Resources.clone()
	for i := range gone {
		o := &gone[i]
		f.Resources.add(node, &o.usage, -int64(o.Count))
		g := &f.groups[o.Group]
		if o.Queue >= 0 {
			at := slices.Index(g.Assumed, node)
			g.Assumed = slices.Delete(slices.Clone(g.Assumed), at, at+1)
			continue
		}
		at, _ := slices.BinarySearch(g.Nodes, node)
		g.Counts = slices.Clone(g.Counts)
		if left := g.Count(at) - o.Count; left > 0 {
			g.setCount(at, int32(left))
			continue
		}
		g.Nodes = slices.Clone(g.Nodes)
		g.remove(at)
	}
	return &f
}

// Vacate takes one of some equal pods away from a node, for good. Pods that were assumed stay.
func (s *State) Vacate(node uint32, o *Occupant) {
	s.changed = true
	s.OwnResources()
	s.Resources.add(node, &o.usage, -1)
	if s.vacated == nil {
		s.vacated = make(map[int]bool)
		s.groups = slices.Clone(s.groups)
	}
	g := &s.groups[o.Group]
	if !s.vacated[o.Group] {
		s.vacated[o.Group] = true
		g.Nodes, g.Counts = slices.Clone(g.Nodes), slices.Clone(g.Counts)
	}
	at, _ := slices.BinarySearch(g.Nodes, node)
	if left := g.Count(at) - 1; left > 0 {
		g.setCount(at, int32(left))
	} else {
		g.remove(at)
	}
}

// remove takes the pods on Nodes[i] away from lists that are g's own.
func (g *Group) remove(i int) {
	g.Nodes = slices.Delete(g.Nodes, i, i+1)
	if g.Counts != nil {
		g.Counts = slices.Delete(g.Counts, i, i+1)
	}
}
