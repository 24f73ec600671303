package joint

import "slices"

// Assignment assigns a pod of a group to a node.
type Assignment struct {
	Replicas int
	Node     uint32
}

// Rejected returns, by assignment, whether rules reject the node with the other assigned pods in place. It adds the pods
// to the rules and removes them again, so calls must not overlap.
func (g *Group) Rejected(assigned []Assignment) []bool {
	for _, a := range assigned {
		g.add(a, 1)
	}
	rejected := make([]bool, len(assigned))
	bins := make(map[uint32][]int)
	for _, a := range assigned {
		bins[a.Node] = append(bins[a.Node], a.Replicas)
	}
	overfull := make([]map[uint32]bool, len(g.resources))
	for i := range g.resources {
		overfull[i] = make(map[uint32]bool)
		for n, bin := range bins {
			x := &g.resources[i]
			overfull[i][n] = x.sum(bin) > x.room(n)
		}
	}
	exclusive := slices.ContainsFunc(g.replicas, func(r replicas) bool { return len(r.exclusions) > 0 })
	for i, a := range assigned {
		r := &g.replicas[a.Replicas]
		r.add(a, -1)
		allowed := g.candidates.Has(a.Node) && r.allow(a.Node)
		r.add(a, 1)
		for j, other := range assigned {
			if !exclusive || !allowed {
				break
			}
			allowed = j == i || !g.excludes(a, other) && !g.excludes(other, a)
		}
		for j := range g.resources {
			allowed = allowed && (!g.resources[j].required[a.Replicas] || !overfull[j][a.Node])
		}
		rejected[i] = !allowed
	}
	for _, a := range assigned {
		g.add(a, -1)
	}
	return rejected
}

// add adds a pod to the rules of all pods; with -1 it removes the pod.
func (g *Group) add(a Assignment, count int64) {
	for i := range g.replicas {
		g.replicas[i].add(a, count)
	}
}

func (r *replicas) add(a Assignment, count int64) {
	for i := range r.spread {
		if s := &r.spread[i]; s.matches[a.Replicas] {
			s.Add(a.Node, count)
		}
	}
	if r.affinity != nil && r.affinity.matches[a.Replicas] {
		r.affinity.Add(a.Node, count)
	}
	for i := range r.others {
		if o := &r.others[i]; o.weights[a.Replicas] != 0 {
			o.Add(a.Node, count*o.weights[a.Replicas])
		}
	}
}

// allow reports whether limits, and the rules that count pods other than exclusions, allow a node.
func (r *replicas) allow(node uint32) bool {
	for _, rejected := range r.limits {
		if rejected.Has(node) {
			return false
		}
	}
	for i := range r.spread {
		if !r.spread[i].Allows(node) {
			return false
		}
	}
	for i := range r.others {
		if r.others[i].Excess(node, 0) > 0 {
			return false
		}
	}
	return r.affinity == nil || r.affinity.Allows(node)
}

// excludes reports whether an exclusion of one pod excludes another from its domain.
func (g *Group) excludes(a, b Assignment) bool {
	exclusions := g.replicas[a.Replicas].exclusions
	for i := range exclusions {
		if e := &exclusions[i]; e.excludes[b.Replicas] && e.SameDomain(a.Node, b.Node) {
			return true
		}
	}
	return false
}
