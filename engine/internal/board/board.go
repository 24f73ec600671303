package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/dynamicresources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/volumebinding"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/tiebreak"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Board holds what the classes of one request share.
type Board struct {
	state          *cluster.State
	lowCardinality func(domains, nodes int) bool

	all   []uint32       // all nodes
	ranks tiebreak.Ranks // break ties between equally good nodes

	whole     *partition
	resources map[string]*resources
	indexes   map[indexKey][]*index           // without values
	members   map[*topology.Column][][]uint32 // nodes by domain
	bytes     int64

	contenders []contender
}

// indexKey identifies the shared indexes that differ only in their nodes.
type indexKey struct {
	resources *resources
	cells     *partition
	closes    bool
}

// New returns a board of a state that owns its resources. order breaks ties between equally good nodes. lowCardinality
// selects the topology keys whose domains become cells; nil stands for LowCardinality.
func New(s *cluster.State, order *tiebreak.Order, lowCardinality func(domains, nodes int) bool) *Board {
	if lowCardinality == nil {
		lowCardinality = LowCardinality
	}
	b := &Board{
		state:          s,
		lowCardinality: lowCardinality,
		all:            make([]uint32, s.Len()),
		whole:          &partition{cell: make([]int32, s.Len()), first: []uint32{0}},
		resources:      make(map[string]*resources),
		indexes:        make(map[indexKey][]*index),
		members:        make(map[*topology.Column][][]uint32),
	}
	for i := range b.all {
		b.all[i] = uint32(i)
	}
	b.ranks = order.Ranks(s.Resources.PodsOn)
	b.bytes = int64(len(b.all)) * 12
	return b
}

// LowCardinality reports whether a topology key divides nodes into cells. A cell costs time in each call of Best; a
// domain without cells costs time for each of its nodes when a pod is assumed there.
func LowCardinality(domains, nodes int) bool { return domains*domains <= 32*nodes }

// dividesBy reports whether a key divides nodes into cells.
func (b *Board) dividesBy(k *key) bool {
	return k.column != nil && !k.whole && b.lowCardinality(k.column.Len(), len(b.all))
}

// maxWeight bounds the sum of the weights, so that every score fits into half a heap entry.
const maxWeight = 1 << 24

// known are the plugins whose scores a board maintains.
var known = []*plugin.Plugin{
	tainttoleration.Plugin, nodeaffinity.Plugin, noderesources.Fit, podtopologyspread.Plugin, interpodaffinity.Plugin,
	noderesources.Balanced, imagelocality.Plugin,
	volumebinding.Plugin,    // scores no node of a pod with claims that place.Queue puts on a board
	dynamicresources.Plugin, // scores no node of a pod that place.Queue puts on a board
}

// Fits reports whether a board can maintain the scores of plugins.
func Fits(scorers []*plugin.Plugin, w *api.Weights) bool {
	for _, p := range scorers {
		if weight := *p.Weight(w); weight < 0 || weight > maxWeight/8 || !slices.Contains(known, p) {
			return false
		}
	}
	return true
}

// Bytes estimates the memory of the board and its classes.
func (b *Board) Bytes() int64 { return b.bytes }

// nodeOf returns the node of a heap entry.
func (b *Board) nodeOf(entry uint64) uint32 { return b.ranks.Node(^uint32(entry)) }

func (b *Board) resourcesOf(c *plugin.Cycle, fit *rule.Fit) *resources {
	key := noderesources.Key(c) + fit.Key()
	r := b.resources[key]
	if r == nil {
		r = newResources(b, c, fit)
		b.resources[key] = r
		b.bytes += int64(len(b.all)) * 4
	}
	return r
}
