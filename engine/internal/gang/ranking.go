package gang

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// ranking is the domains of a key in the order in which a group tries them.
type ranking struct {
	all    []*domain
	ranked []*domain // that may take the group's minimum, the highest bound of the score first
	most   int       // highest bound of pods, of mosts domains
	mosts  int
}

// rank returns the domains of a key that the group may be placed in, in the order in which it tries them.
func (s *survey) rank(ctx context.Context, key string) (*ranking, error) {
	if s.kept != nil {
		return &s.kept.ranking, nil
	}
	r := &ranking{}
	var err error
	if r.all, err = s.domains(ctx, key); err != nil {
		return nil, err
	}
	r.order(s)
	return r, nil
}

// order ranks all domains by their bounds.
func (r *ranking) order(s *survey) {
	r.most, r.mosts, r.ranked = 0, 0, r.ranked[:0]
	for _, d := range r.all {
		r.most = max(r.most, d.bound)
	}
	for _, d := range r.all {
		if d.bound == r.most {
			r.mosts++
		}
		if d.bound >= s.g.minimum {
			d.score = s.scoreBound(d, r.most)
			r.ranked = append(r.ranked, d)
		}
	}
	slices.SortFunc(r.ranked, s.p.byScore)
}

// byScore compares domains by the bounds of their scores, highest first, then in tie-break order.
func (p *placer) byScore(a, b *domain) int {
	return cmp.Or(cmp.Compare(b.score, a.score), p.before(a, b))
}

// scoreBound returns an upper bound of the score of a domain.
func (s *survey) scoreBound(d *domain, most int) int64 {
	return s.score(d.bound, most, noderesources.PlacementBound(s.p.State.Resources, &s.p.profile.Scoring, s.requested, d.nodes))
}

// move gives a domain new bounds and its new position. It reports whether all domains have to be ranked again.
func (r *ranking) move(s *survey, d *domain, bound int) (again bool) {
	if d.bound >= s.g.minimum {
		at, _ := slices.BinarySearchFunc(r.ranked, d, s.p.byScore)
		r.ranked = slices.Delete(r.ranked, at, at+1)
	}
	if d.bound == r.most {
		r.mosts--
	}
	d.bound = bound
	if bound == r.most {
		r.mosts++
	}
	if bound > r.most || r.mosts == 0 {
		return true
	}
	if bound >= s.g.minimum {
		d.score = s.scoreBound(d, r.most)
		at, _ := slices.BinarySearchFunc(r.ranked, d, s.p.byScore)
		r.ranked = slices.Insert(r.ranked, at, d)
	}
	return false
}

// kept is the survey and the ranking of a group, for the groups with equal entries after it. No rule of theirs counts pods of other nodes:
// a pod that comes or leaves changes the bounds of the domain of its node alone.
type kept struct {
	survey
	ranking
	key     string
	classes []*place.Class // by entry
	column  *topology.Column
	domains map[int32]*domain
	at      *cluster.Move // the last move that the bounds have counted
	groups  int           // of the state; rules do not know the pods of later ones
}

// surveys are the kept ones, by the class of the first entry.
type surveys struct {
	of      map[*place.Class][]*kept
	domains int
}

// maxKeptDomains is the number of domains, of some 150 bytes each, at which the surveys of earlier groups are forgotten.
const maxKeptDomains = 1 << 18

// keeps reports whether the surveys of a group may be kept.
func (p *placer) keeps(g *queued) bool {
	o := &p.Options
	return !o.Scan && !o.Tuning.Forget && !g.Joint && len(g.Keys) == 1 && g.there == 0 &&
		!p.State.AnyNominated() && !p.State.AnyNominations() && !p.State.AnyCordoned()
}

// keep keeps a survey and its ranking, if nothing but moves of pods will change them.
func (p *placer) keep(s *survey, r *ranking) {
	g := s.g
	if s.kept != nil || s.mayFail || !p.keeps(g) {
		return
	}
	for i := range s.kinds {
		if !s.kinds[i].keeps(p) {
			return
		}
	}
	id, _ := p.State.Symbols.Lookup(g.Keys[0])
	k := &kept{
		survey: *s, ranking: *r, key: g.Keys[0], column: p.State.Column(id), at: p.State.LastMove(), domains: make(map[int32]*domain, len(r.all)),
	}
	k.now = nil // the bounds of such classes say the same
	_, k.groups = p.State.Added()
	for _, e := range g.Entries {
		k.classes = append(k.classes, p.Classes[e])
	}
	for _, d := range r.all {
		k.domains[k.column.Domain[d.lead]] = d
	}
	if p.surveys.domains += len(r.all); p.surveys.of == nil || p.surveys.domains > maxKeptDomains {
		p.surveys.of, p.surveys.domains = make(map[*place.Class][]*kept), len(r.all)
	}
	first := k.classes[0]
	p.surveys.of[first] = append(p.surveys.of[first], k)
}

// keeps reports whether the bounds of a class follow from the resources of the nodes and from what no pod changes.
func (c *capacity) keeps(p *placer) bool {
	rules, d := c.rules, c.class.Decision
	return len(rules.Spread)+len(rules.Exclusions)+len(rules.Others) == 0 && rules.Affinity == nil && p.Steady(c.class) &&
		!slices.ContainsFunc(c.needs, func(n rule.Need) bool { return n.Plugin != verdict.NodeResourcesFit }) &&
		!c.class.Pod.Frees() && d.Gated() == nil && d.PreFilter().Rejected == nil
}

// keptSurvey returns the survey of an earlier group with equal entries, which counts all moves of the state; nil for none.
func (p *placer) keptSurvey(ctx context.Context, g *queued) (*survey, error) {
	if !p.keeps(g) {
		return nil, nil
	}
	all := p.surveys.of[p.Classes[g.Entries[0]]]
	for i, k := range all {
		if !k.serves(p, g) {
			continue
		}
		s := k.survey
		s.p, s.g, s.kept = p, g, k
		if ok, err := k.catchUp(ctx, &s); ok || err != nil {
			return &s, err
		}
		p.surveys.of[k.classes[0]] = slices.Delete(all, i, i+1)
		p.surveys.domains -= len(k.all)
		break
	}
	return nil, nil
}

// serves reports whether a group has the same entries.
func (k *kept) serves(p *placer, g *queued) bool {
	if k.key != g.Keys[0] || k.g.minimum != g.minimum || !slices.Equal(k.g.counts, g.counts) {
		return false
	}
	for i, e := range g.Entries {
		if p.Classes[e] != k.classes[i] {
			return false
		}
	}
	return true
}

// catchUp updates the bounds of the domains that pods came to or left. It reports whether the survey still holds.
func (k *kept) catchUp(ctx context.Context, s *survey) (ok bool, err error) {
	to, stale := s.p.State.LastMove(), false
	var touched []uint32
	cluster.Way(k.at, to, func(m *cluster.Move, _ int32) {
		stale = stale || m.Group < 0 || int(m.Group) >= k.groups
		touched = append(touched, m.Node)
	})
	if stale {
		return false, nil
	}
	k.at = to
	slices.Sort(touched)
	touched = slices.Compact(touched)
	if !s.validOn(slices.Values(touched)) {
		return false, nil
	}
	changed := make(map[*domain]bool)
	pods, again := s.perClass(s.g.counts), false
	for _, n := range touched {
		d := k.domains[k.column.Domain[n]]
		if d == nil || changed[d] {
			continue
		}
		changed[d] = true
		bound, err := s.bound(ctx, d.nodes, pods, s.g.counts[0])
		if err != nil {
			return false, err
		}
		if again {
			d.bound = bound
		} else {
			again = k.move(s, d, bound)
		}
	}
	if again {
		k.order(s)
	}
	return true, nil
}
