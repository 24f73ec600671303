package board

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Board is what the templates of one request have in common.
type Board struct {
	state *cluster.State
	few   func(domains, nodes int) bool

	all    []uint32 // every node
	rank   []uint32 // by node: its place in the order of ties; nil if that is its index
	ranked []uint32 // the nodes in that order
	placed []uint32 // the nodes that pods were placed on, in order

	whole     *partition
	resources map[string]*resources
	sets      []listed
	indexes   map[shared]*index
	members   map[*topology.Column]*members
	bytes     int64

	contenders []contender
}

// shared is what the indexes of two templates without values of their own have in common if they are the same.
type shared struct {
	resources *resources
	cells     *partition
	nodes     *uint64 // the first word of one of Board.sets
}

// listed is a set of nodes and its nodes in order.
type listed struct {
	nodeset.Set
	indexes []uint32
}

// members is the nodes of each domain: nodes[ends[d-1]:ends[d]].
type members struct {
	nodes []uint32
	ends  []int32
}

func (m *members) of(d int32) []uint32 {
	if d == topology.None {
		return nil
	}
	return m.nodes[m.ends[d-1]:m.ends[d]]
}

// New returns a board of a state that owns its resources. Of equally good nodes the one first in order is chosen, or the
// first of those that are equal in that, too; without an order, the first. few says which topology keys have so few
// domains that these are told apart; nil stands for Few.
func New(s *cluster.State, order []uint64, few func(domains, nodes int) bool) *Board {
	if few == nil {
		few = Few
	}
	b := &Board{
		state:     s,
		few:       few,
		all:       make([]uint32, s.Len()),
		whole:     &partition{cell: make([]int32, s.Len()), first: []uint32{0}},
		resources: make(map[string]*resources),
		indexes:   make(map[shared]*index),
		members:   make(map[*topology.Column]*members),
	}
	for i := range b.all {
		b.all[i] = uint32(i)
	}
	if order != nil {
		b.ranked = slices.Clone(b.all)
		slices.SortFunc(b.ranked, func(m, n uint32) int { return cmp.Or(cmp.Compare(order[m], order[n]), cmp.Compare(m, n)) })
		b.rank = make([]uint32, s.Len())
		for i, n := range b.ranked {
			b.rank[n] = uint32(i)
		}
	}
	b.bytes = int64(len(b.all)) * 12
	return b
}

// Few reports whether a key has few domains. To tell domains apart costs some for each of them when the best node is
// looked for, not to do so costs more for each of a domain's nodes when a pod is placed there.
func Few(domains, nodes int) bool { return domains*domains <= 32*nodes }

// maxWeight is what the weights may add up to at most, so that every score fits into half an entry of a heap.
const maxWeight = 1 << 24

// known are the plugins whose scores a board keeps.
var known = []*plugin.Plugin{
	tainttoleration.Plugin, nodeaffinity.Plugin, noderesources.Fit, podtopologyspread.Plugin, interpodaffinity.Plugin,
	noderesources.Balanced, imagelocality.Plugin,
}

// Fits reports whether the scores of plugins can be kept on a board.
func Fits(scorers []*plugin.Plugin, w *api.Weights) bool {
	for _, p := range scorers {
		if weight := p.Weight(w); weight < 0 || weight > maxWeight/8 || !slices.Contains(known, p) {
			return false
		}
	}
	return true
}

// Bytes estimates the memory that the board and its templates take.
func (b *Board) Bytes() int64 { return b.bytes }

// Placed tells that a pod was placed on a node, after State.Assume.
func (b *Board) Placed(node uint32) { b.placed = append(b.placed, node) }

func (b *Board) rankOf(n uint32) uint32 {
	if b.rank == nil {
		return n
	}
	return b.rank[n]
}

func (b *Board) nodeOf(rank uint32) uint32 {
	if b.ranked == nil {
		return rank
	}
	return b.ranked[rank]
}

func (b *Board) resourcesOf(c *plugin.Cycle, fit *rule.Fit) *resources {
	key := noderesources.Key(c)
	r := b.resources[key]
	if r == nil {
		r = newResources(b, c, fit)
		b.resources[key] = r
		b.bytes += int64(len(b.all)) * 4
	}
	return r
}

// listedOf returns the first set that is equal to s.
func (b *Board) listedOf(s nodeset.Set) listed {
	for _, known := range b.sets {
		if slices.Equal(known.Set, s) {
			return known
		}
	}
	l := listed{s, s.Indexes()}
	b.sets = append(b.sets, l)
	b.bytes += int64(len(s))*8 + int64(len(l.indexes))*4
	return l
}

func (b *Board) membersOf(column *topology.Column) *members {
	m := b.members[column]
	if m != nil {
		return m
	}
	m = &members{ends: make([]int32, column.Len())}
	for _, d := range column.Domain {
		m.ends[d]++
	}
	m.ends[topology.None] = 0
	for d := 1; d < len(m.ends); d++ {
		m.ends[d] += m.ends[d-1]
	}
	m.nodes = make([]uint32, m.ends[len(m.ends)-1])
	at := slices.Clone(m.ends)
	for n := len(column.Domain) - 1; n >= 0; n-- {
		if d := column.Domain[n]; d != topology.None {
			at[d]--
			m.nodes[at[d]] = uint32(n)
		}
	}
	b.members[column] = m
	b.bytes += int64(len(m.nodes)+len(m.ends)) * 4
	return m
}
