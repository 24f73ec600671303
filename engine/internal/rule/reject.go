package rule

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// maximumParts is the number of parts up to which dividing sets costs less than one node after the other.
const maximumParts = 16

// reject returns the rejections of nodes without room, grouped by missing resources, in the order of their first nodes.
func (f *Fit) reject(by verdict.Plugin, full nodeset.Set) []verdict.Rejection {
	parts, beyond := f.parts(full)
	if parts == nil {
		return f.rejectEach(by, full)
	}
	rejections := make([]verdict.Rejection, len(parts))
	for i, p := range parts {
		r := &rejections[i]
		r.Plugin, r.Code, r.Nodes = by, verdict.Unschedulable, p.Indexes()
		if beyond.Has(r.Nodes[0]) {
			r.Code = verdict.UnschedulableAndUnresolvable
		}
		r.Reasons = f.reasons(r.Nodes[0], nil)
	}
	slices.SortFunc(rejections, func(a, b verdict.Rejection) int { return cmp.Compare(a.Nodes[0], b.Nodes[0]) })
	return rejections
}

// parts divides nodes without room by the resources that they lack, and by whether they lack one even without pods, which the nodes of
// beyond do. It returns no parts where rejectEach costs less.
func (f *Fit) parts(full nodeset.Set) (parts []nodeset.Set, beyond nodeset.Set) {
	if full.Len()*sparse <= f.nodes {
		return nil, nil
	}
	parts, beyond = []nodeset.Set{full}, nodeset.New(f.nodes)
	for i := range f.needs {
		need := &f.needs[i]
		if need.added != 0 || need.free != nil {
			return nil, nil
		}
		lacking := nodeset.New(f.nodes)
		need.lack(f.nodes, lacking)
		if lacking.And(full); lacking.Empty() {
			continue
		}
		need.addBeyond(lacking, beyond)
		if parts = divide(parts, lacking); len(parts) > maximumParts {
			return nil, nil
		}
	}
	return divide(parts, beyond), beyond
}

// divide divides each part into the nodes of a set and the others.
func divide(parts []nodeset.Set, by nodeset.Set) []nodeset.Set {
	divided := make([]nodeset.Set, 0, 2*len(parts))
	for _, p := range parts {
		if !p.Meets(by) {
			divided = append(divided, p)
			continue
		}
		if rest := p.Minus(by); !rest.Empty() {
			divided = append(divided, rest)
		}
		within := p.Clone()
		within.And(by)
		divided = append(divided, within)
	}
	return divided
}

// lack adds the nodes with less free than the need to a set, which may then have nodes behind the last one.
func (n *Need) lack(nodes int, to nodeset.Set) {
	if n.words != nil {
		for w := range n.words {
			to[w] |= n.words[w].Full(n.lane, n.Amount)
		}
		return
	}
	lacking := nodeset.New(nodes)
	if !n.byDevices {
		lacking = nodeset.Full(nodes)
	}
	if n.scalar != nil {
		for j, node := range n.scalar.Nodes {
			switch a := n.scalar.Values[j]; {
			case n.Amount <= a.Allocatable-a.Requested:
				lacking.Remove(node)
			case n.byDevices && a.Allocatable > 0:
				lacking.Add(node)
			}
		}
	}
	to.Or(lacking)
}

// addBeyond adds the lacking nodes to a set that have less than the need even without pods.
func (n *Need) addBeyond(lacking, to nodeset.Set) {
	switch {
	case n.Resource == api.ResourcePods: // as in beyond
	case n.words != nil:
		for w, nodes := range lacking {
			if nodes != 0 {
				to[w] |= nodes & n.words[w].Below(cluster.Allocatable(n.lane), n.Amount)
			}
		}
	default:
		short := lacking.Clone()
		if n.scalar != nil {
			for j, node := range n.scalar.Nodes {
				if n.Amount <= n.scalar.Values[j].Allocatable {
					short.Remove(node)
				}
			}
		}
		to.Or(short)
	}
}

// rejectEach is reject for few nodes, or for nodes that lack resources in many ways: it finds out for one node after the other.
func (f *Fit) rejectEach(by verdict.Plugin, full nodeset.Set) []verdict.Rejection {
	var rejections []verdict.Rejection
	groups := make(map[string]int) // by missing resources
	var key []byte
	for n := range full.All() {
		key = key[:0]
		code := verdict.Unschedulable
		for i := range f.shortages(n, nil) {
			key = binary.AppendUvarint(key, uint64(i))
			if f.Unresolvable(i, n) {
				code = verdict.UnschedulableAndUnresolvable
			}
		}
		key = append(key, byte(code))
		i, ok := groups[string(key)]
		if !ok {
			i = len(rejections)
			groups[string(key)] = i
			rejections = append(rejections, verdict.Rejection{Plugin: by, Code: code, Reasons: f.reasons(n, nil)})
		}
		rejections[i].Nodes = append(rejections[i].Nodes, n)
	}
	return rejections
}
