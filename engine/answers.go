package engine

import (
	"math"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine/memo"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Bounds of the answers that a cluster remembers, in bytes: some for every cluster and some for each node. The answer
// about one pod takes 4 bytes a node for who can take it and who cannot, and some 6 for the scores.
const (
	answersRemembered        = 4 << 20
	answersRememberedPerNode = 4096
)

// answers are what a cluster remembers by FilterOptions.Key.
type answers = memo.Map[string, *answer]

func newAnswers(nodes int) *answers {
	return memo.New[string, *answer](answersRemembered + int64(nodes)*answersRememberedPerNode)
}

// answer is what filtering came to for one pod and, once somebody asked, what scoring came to. It is immutable but for
// the scores, which are published once.
type answer struct {
	feasible   []uint32
	rejections []verdict.Rejection
	message    string
	scores     atomic.Pointer[scores]
}

func (a *answer) bytes() int64 {
	bytes := 4*cap(a.feasible) + len(a.message)
	for _, r := range a.rejections {
		bytes += 128 + 4*cap(r.Nodes)
		for _, reason := range r.Reasons {
			bytes += 64 + len(reason.Message)
		}
	}
	return int64(bytes)
}

// scores is verdict.Score in little room.
type scores struct {
	totals  packed
	best    []uint32
	plugins []packedPlugin
}

// packedPlugin is verdict.PluginScores with scores that are not yet multiplied by the weight.
type packedPlugin struct {
	plugin verdict.Plugin
	weight int64
	scores packed
}

// packed is a column of scores in as few bytes a score as they need: none if all are first.
type packed struct {
	length int
	first  int64
	bytes  []uint8
	shorts []uint16
	wide   []int64
}

func (s *scores) add(p verdict.PluginScores) {
	s.plugins = append(s.plugins, packedPlugin{p.Plugin, p.Weight, pack(p.Scores, p.Weight)})
}

func (s *scores) size() int64 {
	size := s.totals.size() + 4*cap(s.best)
	for i := range s.plugins {
		size += 128 + s.plugins[i].scores.size()
	}
	return int64(size)
}

// pack packs a column of multiples of weight.
func pack(column []int64, weight int64) packed {
	p := packed{length: len(column)}
	if len(column) == 0 {
		return p
	}
	p.first = column[0] / weight
	lowest, highest := p.first, p.first
	for _, v := range column {
		lowest, highest = min(lowest, v/weight), max(highest, v/weight)
	}
	switch {
	case lowest == highest:
	case lowest >= 0 && highest <= math.MaxUint8:
		p.bytes = narrow[uint8](column, weight)
	case lowest >= 0 && highest <= math.MaxUint16:
		p.shorts = narrow[uint16](column, weight)
	default:
		p.wide = narrow[int64](column, weight)
	}
	return p
}

func narrow[T uint8 | uint16 | int64](column []int64, weight int64) []T {
	out := make([]T, len(column))
	for i, v := range column {
		out[i] = T(v / weight)
	}
	return out
}

// column returns the column, each score multiplied by weight.
func (p *packed) column(weight int64) []int64 {
	out := make([]int64, p.length)
	switch {
	case p.bytes != nil:
		widen(out, p.bytes, weight)
	case p.shorts != nil:
		widen(out, p.shorts, weight)
	case p.wide != nil:
		widen(out, p.wide, weight)
	default:
		for i := range out {
			out[i] = p.first * weight
		}
	}
	return out
}

func widen[T uint8 | uint16 | int64](out []int64, column []T, weight int64) {
	for i, v := range column {
		out[i] = int64(v) * weight
	}
}

func (p *packed) size() int { return len(p.bytes) + 2*len(p.shorts) + 8*len(p.wide) }

// score returns what was packed.
func (s *scores) score(a *answer, totalsOnly bool) *verdict.Score {
	result := &verdict.Score{Nodes: a.feasible, Best: s.best, Message: a.message}
	if s.totals.length > 0 {
		result.Totals = s.totals.column(1)
	}
	if totalsOnly {
		return result
	}
	for i := range s.plugins {
		p := &s.plugins[i]
		result.Plugins = append(result.Plugins, verdict.PluginScores{Plugin: p.plugin, Weight: p.weight, Scores: p.scores.column(p.weight)})
	}
	return result
}
