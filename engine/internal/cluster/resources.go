package cluster

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// Lanes are the resources that every node has.
const (
	CPU = iota
	Memory
	EphemeralStorage
	Pods // the number of pods
	Lanes
)

// LaneNames are the names of the lanes, without Pods, which pods do not request.
var LaneNames = [Pods]string{api.ResourceCPU, api.ResourceMemory, api.ResourceEphemeralStorage}

// Column is an amount that every node has.
type Column int

// Allocatable is the column of the allocatable amounts of a lane.
func Allocatable(lane int) Column { return Column(lane) }

// Requested is the column of the requests of a node's pods for a lane.
func Requested(lane int) Column { return Column(Lanes + lane) }

// Defaulted is Requested with defaults for containers without a request, for lanes below DefaultedLanes.
func Defaulted(lane int) Column { return Column(2*Lanes + lane) }

// DefaultedLanes is the number of lanes for which containers without a request have a default: CPU and Memory.
const DefaultedLanes = 2

// amounts is the amounts of a node by column.
type amounts [2*Lanes + DefaultedLanes]int64

// Word is the amounts of 64 nodes. Those behind the last node mean nothing.
type Word struct {
	amounts [len(amounts{})][PageNodes]int64
	// free is the smallest free amount of each lane, or less.
	free [Lanes]int64
}

// put sets the amounts of a node.
func (w *Word) put(node uint32, of *amounts) {
	for column, amount := range of {
		w.amounts[column][node%PageNodes] = amount
	}
}

// get returns the amounts of a node.
func (w *Word) get(node uint32) (of amounts) {
	for column := range of {
		of[column] = w.amounts[column][node%PageNodes]
	}
	return of
}

// Column returns the amounts of a column, by the node's position in the word.
func (w *Word) Column(c Column) *[PageNodes]int64 { return &w.amounts[c] }

// At returns the amount of a column of a node.
func (w *Word) At(node uint32, c Column) int64 { return w.amounts[c][node%PageNodes] }

// Resources holds the nodes' resources.
type Resources struct {
	words words
	// Scalars holds the resources that are no lanes, by name.
	Scalars map[string]*Scalar
}

// words has the amounts of all nodes.
type words struct{ paged[Word] }

func (w *words) move(to, from, n uint32) {
	page, at := w.edit(to), from%PageNodes
	before := w.pages[from/PageNodes]
	for column := range page.amounts {
		copy(page.amounts[column][to%PageNodes:], before.amounts[column][at:at+n])
	}
}

// Words returns the amounts of all nodes, 64 at a time. Later changes of r show in the list.
func (r *Resources) Words() []*Word { return r.words.pages }

// At returns the amount of a column of a node.
func (r *Resources) At(node uint32, c Column) int64 { return r.words.pages[node/PageNodes].At(node, c) }

// PodsOn returns the number of pods on a node.
func (r *Resources) PodsOn(node uint32) int64 { return r.At(node, Requested(Pods)) }

// Full returns the nodes with less free of a lane than an amount, by their positions. It may have nodes behind the last one.
func (w *Word) Full(lane int, amount int64) (full uint64) {
	if amount <= w.free[lane] {
		return 0
	}
	allocatable, requested := &w.amounts[Allocatable(lane)], &w.amounts[Requested(lane)]
	for at := range PageNodes {
		var bit uint64
		if amount > allocatable[at]-requested[at] {
			bit = 1
		}
		full |= bit << (at % PageNodes)
	}
	return full
}

// Below returns the nodes with less than an amount in a column, by their positions. It may have nodes behind the last one.
func (w *Word) Below(c Column, amount int64) (below uint64) {
	for at, has := range w.amounts[c] {
		var bit uint64
		if has < amount {
			bit = 1
		}
		below |= bit << (at % PageNodes)
	}
	return below
}

// measure computes the free amounts of the words that the owner changed.
func (r *Resources) measure(nodes int) {
	for i := range r.words.own.All() {
		w := r.words.pages[i]
		for lane := range Lanes {
			allocatable, requested := &w.amounts[Allocatable(lane)], &w.amounts[Requested(lane)]
			least := int64(math.MaxInt64)
			for at := range min(PageNodes, nodes-int(i)*PageNodes) {
				least = min(least, allocatable[at]-requested[at])
			}
			w.free[lane] = least
		}
	}
}

// Scalar is a resource of some nodes: nodes with an allocatable amount and nodes with pods that request it.
type Scalar = Sparse[Amount]

// Amount is a node's amount of a resource. The node may have none to allocate: then it lists the resource, or its pods request it.
type Amount struct {
	Allocatable, Requested int64
	Listed                 bool
}

// Usage is the resources that one pod occupies, of Pods one.
type Usage struct {
	Amounts   [Lanes]int64
	Defaulted [DefaultedLanes]int64
	Scalars   []api.Quantity
}

// Of returns the amount of a resource; 1 for api.ResourcePods.
func (u *Usage) Of(resource string) int64 {
	if resource == api.ResourcePods {
		return u.Amounts[Pods]
	}
	if lane := slices.Index(LaneNames[:], resource); lane >= 0 {
		return u.Amounts[lane]
	}
	for _, q := range u.Scalars {
		if q.Resource == resource {
			return q.Amount
		}
	}
	return 0
}

func usageOf(spec *api.PodSpec, status *api.PodResourceStatus) Usage {
	occupied, defaulted := requests.Running(spec, status)
	u := Usage{Amounts: [Lanes]int64{Pods: 1}}
	for _, q := range occupied {
		if lane := slices.Index(LaneNames[:], q.Resource); lane >= 0 {
			u.Amounts[lane] = q.Amount
		} else if requests.Scalar(q.Resource) && q.Amount != 0 {
			u.Scalars = append(u.Scalars, q)
		}
	}
	for lane := range u.Defaulted {
		u.Defaulted[lane], _ = defaulted.Get(LaneNames[lane])
	}
	return u
}

// allot adds allocatable resources to a node's amounts.
func (n *Draft) allot(r api.Resources) {
	for _, q := range r {
		if lane := slices.Index(LaneNames[:], q.Resource); lane >= 0 {
			n.amounts[Allocatable(lane)] = q.Amount
		} else if q.Resource == api.ResourcePods {
			n.amounts[Allocatable(Pods)] = q.Amount
		} else if requests.Scalar(q.Resource) {
			amount := n.scalar(q.Resource)
			amount.Allocatable, amount.Listed = q.Amount, true
		}
	}
}

// scalar returns a node's amount of a resource. It adds a missing one.
func (n *Draft) scalar(resource string) *Amount {
	i, found := slices.BinarySearchFunc(n.scalars, resource, compareName)
	if !found {
		n.scalars = slices.Insert(n.scalars, i, named[Amount]{name: resource})
	}
	return &n.scalars[i].value
}

// occupy adds the requests of pods to the node's amounts.
func (n *Draft) occupy(u *Usage, count int64) {
	for lane, amount := range u.Amounts {
		n.amounts[Requested(lane)] += amount * count
	}
	for lane, amount := range u.Defaulted {
		n.amounts[Defaulted(lane)] += amount * count
	}
	n.occupyScalars(u, count)
}

func (n *Draft) occupyScalars(u *Usage, count int64) {
	for _, q := range u.Scalars {
		n.scalar(q.Resource).Requested += q.Amount * count
	}
}

// add adds the requests of pods to a node; count may be negative.
func (r *Resources) add(node uint32, u *Usage, count int64) {
	w, at := r.words.edit(node), node%PageNodes
	for lane, amount := range u.Amounts {
		w.amounts[Requested(lane)][at] += amount * count
		w.free[lane] = math.MinInt64
	}
	for lane, amount := range u.Defaulted {
		w.amounts[Defaulted(lane)][at] += amount * count
	}
	for _, q := range u.Scalars {
		s := r.Scalars[q.Resource]
		if i, ok := s.Find(node); ok {
			s.Values[i].Requested += q.Amount * count
		}
	}
}

// clone returns resources of another owner. r must not change any more.
func (r *Resources) clone() *Resources {
	c := &Resources{words: r.words, Scalars: make(map[string]*Scalar, len(r.Scalars))}
	c.words.share()
	c.words.ownList()
	for name, s := range r.Scalars {
		c.Scalars[name] = &Scalar{Nodes: s.Nodes, Values: slices.Clone(s.Values)}
	}
	return c
}
