// Package scaledown selects the replicas of a workload to delete.
package scaledown

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Options are the arguments of Run.
type Options struct {
	// Selector selects the replicas among the pods of the pod's namespace; nil for the pod's labels.
	Selector *api.LabelSelector
	// Replicas is the number of replicas to keep.
	Replicas int
}

// MaxDeletions bounds the deletions of one call of Run.
const MaxDeletions = 10_000

// maxSpreadKeys bounds ScaleDown.Spread.
const maxSpreadKeys = 16

// Run selects the replicas of a workload to delete. The pod is one of them. Run selects one replica at a time, with the
// remaining ones in place. The criteria, in order: the fewest other replicas that its deletion causes to be rejected
// where they are; the most plugins that reject it; the lowest score by the pod's own rules; the domain with the most
// replicas; the node with the most replicas; the lowest total score. If more than MaxDeletions replicas have to go, Run
// deletes none.
func Run(ctx context.Context, f *decide.Framework, state *cluster.State, pod *api.Pod, o Options) (*verdict.ScaleDown, error) {
	state.OwnResources()
	s := &scaling{Decision: decide.New(f, state, state.Compile(pod))}
	s.find(o.Selector)
	result := &verdict.ScaleDown{Replicas: s.left}
	if s.left-o.Replicas > MaxDeletions {
		return result, ctx.Err()
	}
	if err := s.findRules(ctx); err != nil {
		return nil, err
	}
	result.Spread = s.spreadBefore()
	for count := s.left - o.Replicas; count > 0; count-- {
		deleted, err := s.deleteNext(ctx)
		if err != nil {
			return nil, err
		}
		deleted.Cost = int32(-count)
		if last := len(result.Deletions) - 1; last >= 0 && repeats(&result.Deletions[last], deleted) {
			result.Deletions[last].Pod.Count++
			result.Deletions[last].Cost = deleted.Cost
			continue
		}
		result.Deletions = append(result.Deletions, *deleted)
	}
	for i := range s.spots {
		if p := &s.spots[i]; p.Count > 0 {
			result.Remaining = append(result.Remaining, verdict.ScaledPod{Pod: s.conflicting(p, p.Count)})
		}
	}
	s.spreadAfter(result.Spread)
	return result, ctx.Err()
}

// repeats reports whether a deletion repeats the last one, of a pod that is only counted.
func repeats(last, next *verdict.ScaledPod) bool {
	a, b := last.Pod, next.Pod
	a.Count, b.Count = 0, 0
	return a == b && a.Name == "" && last.Score == next.Score && slices.Equal(last.Broken, next.Broken)
}

// scaling is one call of Run.
type scaling struct {
	*decide.Decision
	spots []spot
	left  int
	// keys are the topology keys of the pod's rules with the replicas per domain; nodes are the replicas per node.
	keys  []tally
	nodes []int
	rules replicaRules
}

// spot is identical replicas on one node. Count is the number that remains.
type spot struct {
	cluster.Occupant
	node uint32
}

// tally counts replicas by domain of a topology key.
type tally struct {
	key    string
	column *topology.Column
	counts []int
}

// find finds the replicas, ordered by node and name.
func (s *scaling) find(selects *api.LabelSelector) {
	if selects == nil {
		selects = &api.LabelSelector{MatchLabels: s.Pod.Template.Labels.With(s.Pod.Pod.Labels)}
	}
	compiled := selector.CompileSelector(s.State.Symbols, selects)
	replicas := make(map[int]bool)
	on := make(map[uint32]bool)
	for i, g := range s.State.Groups() {
		if g.Namespace != s.Pod.Namespace || g.Terminating || !compiled.Matches(g.Labels) {
			continue
		}
		replicas[i] = true
		for _, n := range g.Nodes {
			on[n] = true
		}
	}
	s.nodes = make([]int, s.State.Len())
	s.findKeys()
	for n := range uint32(s.State.Len()) {
		if !on[n] {
			continue
		}
		first := len(s.spots)
		for _, o := range s.State.Occupants(n) {
			if replicas[o.Group] {
				s.spots = append(s.spots, spot{o, n})
				s.add(n, o.Count)
			}
		}
		slices.SortStableFunc(s.spots[first:], func(a, b spot) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// add counts replicas on a node; count may be negative.
func (s *scaling) add(node uint32, count int) {
	s.left += count
	s.nodes[node] += count
	for i := range s.keys {
		s.keys[i].counts[s.keys[i].column.Domain[node]] += count
	}
}

func (s *scaling) findKeys() {
	add := func(key string) {
		if len(s.keys) == maxSpreadKeys || slices.ContainsFunc(s.keys, func(t tally) bool { return t.key == key }) {
			return
		}
		column := s.State.Column(s.State.Symbols.Intern(key))
		s.keys = append(s.keys, tally{key, column, make([]int, column.Len())})
	}
	spec := s.Pod.Spec()
	for i := range spec.Spread {
		add(spec.Spread[i].TopologyKey)
	}
	affinities := []*api.PodAffinity{spec.PodAntiAffinity, spec.PodAffinity}
	for _, a := range affinities {
		if a != nil {
			for i := range a.Required {
				add(a.Required[i].TopologyKey)
			}
		}
	}
	for _, a := range affinities {
		if a != nil {
			for i := range a.Preferred {
				add(a.Preferred[i].Term.TopologyKey)
			}
		}
	}
}

func (s *scaling) spreadBefore() []verdict.ReplicaSpread {
	var out []verdict.ReplicaSpread
	for _, t := range s.keys {
		spread := verdict.ReplicaSpread{TopologyKey: t.key}
		for d, value := range t.column.Values {
			if d != topology.None {
				spread.Domains = append(spread.Domains, verdict.DomainReplicas{
					Value: s.State.Symbols.Name(value), Before: t.counts[d], After: d, // the domain; spreadAfter replaces it
				})
			}
		}
		slices.SortFunc(spread.Domains, func(a, b verdict.DomainReplicas) int { return cmp.Compare(a.Value, b.Value) })
		out = append(out, spread)
	}
	return out
}

func (s *scaling) spreadAfter(spread []verdict.ReplicaSpread) {
	for i, t := range s.keys {
		for j := range spread[i].Domains {
			d := &spread[i].Domains[j]
			d.After = t.counts[d.After]
		}
	}
}

func (s *scaling) conflicting(p *spot, count int) verdict.ConflictingPod {
	o := p.Occupant
	o.Count = count
	return s.State.ConflictingPod(p.node, &o)
}

// deleteNext deletes one replica.
func (s *scaling) deleteNext(ctx context.Context) (*verdict.ScaledPod, error) {
	s.rules.prepare(s)
	best, bestDisruption, bestRejections := []int(nil), 0, 0
	var accepted []uint32 // nodes of the replicas that no plugin rejects
	for i := range s.spots {
		p := &s.spots[i]
		if p.Count == 0 {
			continue
		}
		rejections := s.rules.rejections(p, nil)
		disruption := s.rules.disruption(p)
		if rejections > 0 {
			disruption--
		} else if len(accepted) == 0 || accepted[len(accepted)-1] != p.node {
			accepted = append(accepted, p.node)
		}
		switch c := cmp.Or(cmp.Compare(disruption, bestDisruption), cmp.Compare(bestRejections, rejections)); {
		case best == nil || c < 0:
			best, bestDisruption, bestRejections = append(best[:0], i), disruption, rejections
		case c == 0:
			best = append(best, i)
		}
	}
	var scores scores
	if bestRejections == 0 {
		var err error
		if scores, err = s.score(ctx, accepted); err != nil {
			return nil, err
		}
	}
	chosen := &s.spots[slices.MinFunc(best, func(a, b int) int { return s.compare(&s.spots[a], &s.spots[b], &scores) })]
	out := &verdict.ScaledPod{Pod: s.conflicting(chosen, 1)}
	if bestRejections > 0 {
		s.rules.rejections(chosen, func(r verdict.PodRule) { out.Broken = append(out.Broken, r) })
	} else {
		out.Score = scores.of(chosen.node).total
	}
	one := chosen.Occupant
	one.Count = 1
	s.State.Evict(chosen.node, &one)
	s.rules.remove(chosen)
	s.add(chosen.node, -1)
	chosen.Count--
	return out, ctx.Err()
}

// scores are the scores of nodes; nodes is ascending.
type scores struct {
	nodes []uint32
	list  []nodeScore
}

// nodeScore is a node's total score, and the part that follows from the pod's own rules.
type nodeScore struct{ own, total int64 }

func (s *scores) of(node uint32) nodeScore {
	if i, found := slices.BinarySearch(s.nodes, node); found {
		return s.list[i]
	}
	return nodeScore{}
}

// score scores nodes for one more replica.
func (s *scaling) score(ctx context.Context, nodes []uint32) (scores, error) {
	scored, err := s.Decision.Score(ctx, nodes, false)
	if err != nil {
		return scores{}, err
	}
	out := scores{nodes, make([]nodeScore, len(nodes))}
	for i, total := range scored.Totals {
		out.list[i].total = total
	}
	for _, p := range scored.Plugins {
		if s.FollowsOwnRules(p.Plugin) {
			for i := range p.Scores {
				out.list[i].own += p.Scores[i]
			}
		}
	}
	return out, nil
}

// compare orders replicas with equal disruption and rejections: the one to delete first is less.
func (s *scaling) compare(a, b *spot, scores *scores) int {
	x, y := scores.of(a.node), scores.of(b.node)
	c := cmp.Compare(x.own, y.own)
	for i := 0; c == 0 && i < len(s.keys); i++ {
		t := &s.keys[i]
		c = cmp.Compare(t.counts[t.column.Domain[b.node]], t.counts[t.column.Domain[a.node]])
	}
	return cmp.Or(c, cmp.Compare(s.nodes[b.node], s.nodes[a.node]), cmp.Compare(x.total, y.total), cmp.Compare(b.node, a.node),
		cmp.Compare(bit(a.Name != ""), bit(b.Name != "")), cmp.Compare(b.Name, a.Name), s.State.Compare(a.Group, b.Group))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
