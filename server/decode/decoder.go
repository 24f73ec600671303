package decode

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type decoder struct {
	problems
	ctx   context.Context
	ended error // the context's, once that ended
	// exacts is the number of decoded messages that were read.
	exacts int

	// base is the cluster of a request with a snapshot. Otherwise to and content collect the cluster.
	base    *Snapshot
	to      sink
	content *content.Builder
	known
	// requested are the names in the request itself, while known is loose.
	requested [nameKinds]distinct
	// unlimited postpones the check of the limits of names.
	unlimited bool
	readers   []*reader
	own       *reader // reports problems
	chunks    []*chunk

	counts    [content.Lists]int // of items
	itemNames [content.Lists]identities[itemName]
	selectors []api.WorkloadSelector
	budgets   []api.PodDisruptionBudget
	storage   api.Storage
	devices   api.Devices
}

// identities maps the identity of each element of a list to the first element that has it.
type identities[K comparable] map[K]int

// add records the identity of the i-th element, and returns the first element with it.
func (l *identities[K]) add(id K, i int) (first int, again bool) {
	if *l == nil {
		*l = make(identities[K])
	}
	if first, again = (*l)[id]; !again {
		(*l)[id] = i
	}
	return first, again
}

// submessage reads a message that is already decoded, nil if it is absent.
func submessage[T any, M any, P interface {
	*M
	proto.Message
}](d *decoder, at path, in P, message func(*reader, *path, *scan) T) *T {
	if in == nil {
		return nil
	}
	out := new(T)
	d.exact(&at, in, func(r *reader, raw []byte) (isUsual bool) {
		*out, isUsual = read(r, at, raw, message)
		return isUsual
	})
	return out
}

// strictSubmessage is submessage for a message whose selectors kube-scheduler must be able to parse.
func strictSubmessage[T any, M any, P interface {
	*M
	proto.Message
}](d *decoder, at path, in P, message func(*reader, *path, *scan) T) *T {
	return submessage(d, at, in, func(r *reader, at *path, in *scan) T {
		r.selectors = strict
		defer func() { r.selectors = lenientValues }()
		return message(r, at, in)
	})
}

// nodes returns the number of the cluster's nodes, and a function that looks up a node by name.
func (d *decoder) nodes() (int, func(string) (uint32, bool)) {
	if d.base != nil {
		return d.base.Len(), d.base.Node
	}
	return d.counts[content.Nodes], d.content.Lookup
}

// candidates returns the indexes of the candidate nodes.
func (d *decoder) candidates(in *stowagev1.CandidateNodes) []uint32 {
	return d.someNodes("candidate_nodes", in)
}

// someNodes returns the indexes of the nodes in a field, ascending without duplicates. Nil means every node, an empty list none.
func (d *decoder) someNodes(field string, in *stowagev1.CandidateNodes) []uint32 {
	if in == nil {
		return nil
	}
	return d.nodesAt(path{name: field}, in)
}

// nodesAt returns the indexes of nodes, ascending without duplicates.
func (d *decoder) nodesAt(at path, in *stowagev1.CandidateNodes) []uint32 {
	out := make([]uint32, 0, len(in.GetIndexes())+len(in.GetNames()))
	nodes, lookup := d.nodes()
	for i, n := range in.GetIndexes() {
		if uint64(n) >= uint64(nodes) {
			d.refuse(at.item("indexes", i), notFound, "is %d, but cluster.nodes has %d entries", n, nodes)
		}
		out = append(out, n)
	}
	for i, name := range in.GetNames() {
		n, ok := lookup(name)
		if !ok {
			d.refuse(at.item("names", i), notFound, "no node is called %s", quote(name))
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
