// Package scaledown selects the replicas of a workload to delete.
package scaledown

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
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
// deletes none. Nominated pods do not count: kube-scheduler does not filter for pods that run, and scores without them.
func Run(ctx context.Context, f *decide.Framework, state *cluster.State, pod *api.Pod, o Options) (*verdict.ScaleDown, error) {
	state.OwnResources()
	s := &scaling{Decision: decide.New(f, state, state.Compile(pod))}
	s.find(o.Selector)
	result := &verdict.ScaleDown{Replicas: s.left}
	if s.left-o.Replicas > MaxDeletions {
		return result, ctx.Err()
	}
	s.findRules()
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
			result.Remaining = append(result.Remaining, verdict.ScaledPod{Pod: s.reference(p, p.Count)})
		}
	}
	result.Spread = s.spread()
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
	node    uint32
	weights rule.Vector // what each replica counts there
	score   nodeScore
}

// nodeScore is the score of a node for one more replica: the part that follows from the pod's own rules, and the total.
type nodeScore struct{ own, total int64 }

// tally counts replicas by domain of a topology key.
type tally struct {
	key            string
	column         *topology.Column
	before, counts []int
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
				s.spots = append(s.spots, spot{Occupant: o, node: n})
				s.add(n, o.Count)
			}
		}
		slices.SortStableFunc(s.spots[first:], func(a, b spot) int { return cmp.Compare(a.Name, b.Name) })
	}
	for i := range s.keys {
		s.keys[i].before = slices.Clone(s.keys[i].counts)
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

// findKeys finds the topology keys of the pod's rules: of spread constraints, required terms and preferred terms.
func (s *scaling) findKeys() {
	spec := s.Pod.Spec()
	var keys []string
	for i := range spec.Spread {
		keys = append(keys, spec.Spread[i].TopologyKey)
	}
	affinities := []*api.PodAffinity{spec.PodAntiAffinity, spec.PodAffinity}
	affinities = slices.DeleteFunc(affinities, func(a *api.PodAffinity) bool { return a == nil })
	for _, a := range affinities {
		for i := range a.Required {
			keys = append(keys, a.Required[i].TopologyKey)
		}
	}
	for _, a := range affinities {
		for i := range a.Preferred {
			keys = append(keys, a.Preferred[i].Term.TopologyKey)
		}
	}
	for i, key := range keys {
		if len(s.keys) < maxSpreadKeys && !slices.Contains(keys[:i], key) {
			column := s.State.Column(s.State.Symbols.Intern(key))
			s.keys = append(s.keys, tally{key: key, column: column, counts: make([]int, column.Len())})
		}
	}
}

// spread returns the replicas by domain of each topology key, before and after the deletions.
func (s *scaling) spread() []verdict.ReplicaSpread {
	var out []verdict.ReplicaSpread
	for _, t := range s.keys {
		spread := verdict.ReplicaSpread{TopologyKey: t.key}
		for d, value := range t.column.Values {
			if d != topology.None {
				spread.Domains = append(spread.Domains, verdict.DomainReplicas{
					Value: s.State.Symbols.Name(value), Before: t.before[d], After: t.counts[d],
				})
			}
		}
		slices.SortFunc(spread.Domains, func(a, b verdict.DomainReplicas) int { return cmp.Compare(a.Value, b.Value) })
		out = append(out, spread)
	}
	return out
}

func (s *scaling) reference(p *spot, count int) verdict.PodReference {
	o := p.Occupant
	o.Count = count
	return s.State.PodReference(p.node, &o)
}

// deleteNext deletes one replica.
func (s *scaling) deleteNext(ctx context.Context) (*verdict.ScaledPod, error) {
	s.rules.prepare(s.spots)
	best, bestDisruption, bestRejections := []*spot(nil), 0, 0
	var accepted []uint32 // nodes of the replicas that no plugin rejects
	for i := range s.spots {
		p := &s.spots[i]
		if p.Count == 0 {
			continue
		}
		p.score = nodeScore{}
		_, rejections := s.rules.broken(p)
		disruption := s.rules.disruption(p)
		if rejections > 0 {
			disruption--
		} else if len(accepted) == 0 || accepted[len(accepted)-1] != p.node {
			accepted = append(accepted, p.node)
		}
		switch c := cmp.Or(cmp.Compare(disruption, bestDisruption), cmp.Compare(bestRejections, rejections)); {
		case best == nil || c < 0:
			best, bestDisruption, bestRejections = append(best[:0], p), disruption, rejections
		case c == 0:
			best = append(best, p)
		}
	}
	if bestRejections == 0 {
		if err := s.score(ctx, best, accepted); err != nil {
			return nil, err
		}
	}
	chosen := slices.MinFunc(best, s.compare)
	out := &verdict.ScaledPod{Pod: s.reference(chosen, 1), Score: chosen.score.total}
	out.Broken, _ = s.rules.broken(chosen)
	one := chosen.Occupant
	one.Count = 1
	s.State.Evict(chosen.node, &one)
	s.rules.AddPod(chosen.node, chosen.weights, -1)
	s.add(chosen.node, -1)
	chosen.Count--
	return out, ctx.Err()
}

// score scores the nodes of replicas for one more replica. Both are ascending by node.
func (s *scaling) score(ctx context.Context, replicas []*spot, nodes []uint32) error {
	scored, err := s.Decision.Score(ctx, nodes, false)
	if err != nil {
		return err
	}
	scored.Plugins = slices.DeleteFunc(scored.Plugins, func(p verdict.PluginScores) bool { return !s.FollowsOwnRules(p.Plugin) })
	at := 0
	for _, p := range replicas {
		for nodes[at] < p.node {
			at++
		}
		p.score.total = scored.Totals[at]
		for _, own := range scored.Plugins {
			p.score.own += own.Scores[at]
		}
	}
	return nil
}

// compare orders replicas with equal disruption and rejections: the one to delete first is less.
func (s *scaling) compare(a, b *spot) int {
	c := cmp.Compare(a.score.own, b.score.own)
	for i := 0; c == 0 && i < len(s.keys); i++ {
		t := &s.keys[i]
		c = cmp.Compare(t.counts[t.column.Domain[b.node]], t.counts[t.column.Domain[a.node]])
	}
	return cmp.Or(c, cmp.Compare(s.nodes[b.node], s.nodes[a.node]), cmp.Compare(a.score.total, b.score.total),
		cmp.Compare(b.node, a.node), cmp.Compare(bit(a.Name != ""), bit(b.Name != "")), cmp.Compare(b.Name, a.Name),
		s.State.Compare(a.Group, b.Group))
}
