package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/internal/safe"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// question is one call of Filter or Score.
type question struct {
	c          *Cluster
	ctx        context.Context
	pod        *api.Pod
	profile    *api.Profile
	key        string // empty if the answer is not cached
	candidates nodeset.Set
	// group is what the pod group of the pod means for it, and decided reports whether the answer follows from that.
	group   gang.Confinement
	decided bool

	state *cluster.State
	d     *decide.Decision // nil until needed
}

func (c *Cluster) ask(ctx context.Context, pod *api.Pod, profile *api.Profile, candidates []uint32, key string) *question {
	q := &question{c: c, ctx: ctx, pod: pod, profile: profile, key: key, state: cluster.NewState(ctx, c.compiled)}
	q.group, q.decided = gang.Confine(q.state, pod, c.candidates(candidates))
	q.candidates = q.group.Candidates
	return q
}

func (q *question) decision() *decide.Decision {
	if q.d == nil {
		q.d = decide.New(q.c.framework(q.profile), q.state, q.state.Compile(q.pod))
	}
	return q.d
}

// answer returns the result of filtering, from the cache if possible.
func (q *question) answer() (*answer, error) {
	key := cacheKey{q.key, true}
	if a, ok := q.c.cache.Load(key); ok {
		return a.(*answer), q.ctx.Err()
	}
	switch {
	case q.group.Failure != "":
		return &answer{rejections: q.group.Rejections(), failure: &decide.Failure{Message: q.group.Failure}}, q.ctx.Err()
	case q.group.Nowhere:
		return &answer{rejections: q.group.Rejections(), message: gang.NoPlacements}, q.ctx.Err()
	}
	o, err := q.decision().Filter(q.ctx, q.candidates)
	if err != nil {
		return nil, err
	}
	a := &answer{feasible: o.Feasible, rejections: append(o.Rejections, q.group.Rejections()...), message: o.Message}
	if a.feasible.Len() > 1 {
		a.failure = q.decision().PreScoreFailure(&q.pod.Template.Spec)
	}
	if q.key == "" {
		return a, nil
	}
	return q.c.cache.Keep(key, a, int64(len(q.key))+a.bytes()).(*answer), nil
}

// preemption returns what preemption finds, from the rejections of the candidates.
func (q *question) preemption(rejections []verdict.Rejection, o *PreemptOptions) (*verdict.Preemption, error) {
	d, options := q.decision(), preempt.Options{All: o.All, RecountSpread: o.RecountSpread}
	var choices []*preempt.Choice
	if o.Safe != nil {
		options.Each = func(c *preempt.Choice) { choices = append(choices, c) }
	}
	p, err := preempt.Find(q.ctx, d, q.candidates, rejections, options)
	if err != nil || p == nil {
		return nil, err
	}
	if o.Safe != nil && p.Nominated != nil {
		p.Safe, err = safe.Find(q.ctx, d, choices, safe.Options{
			Cascades: o.Safe.Cascades, Candidates: o.Safe.Candidates, Preempt: options,
		})
		if err != nil {
			return nil, err
		}
	}
	if o.AcrossSteps > 0 && (p.Nominated != nil || p.ClearsNomination) {
		p.Across, err = preempt.Across(q.ctx, d, q.candidates, o.AcrossSteps)
	}
	return p, err
}

// answer is the result of filtering for one pod. It is immutable.
type answer struct {
	feasible   nodeset.Set
	rejections []verdict.Rejection
	message    string
	failure    *decide.Failure // of PreScore; nil for none
}

// event returns kube-scheduler's event text for an unplaced pod, including failures to score it, and whether it is the
// text of an internal error.
func (a *answer) event() (message string, failed bool) {
	if a.failure != nil {
		return a.failure.Message, true
	}
	return a.message, a.failed()
}

// failed reports whether PreFilter or a filter fails, which ends the cycle.
func (a *answer) failed() bool {
	return slices.ContainsFunc(a.rejections, func(r verdict.Rejection) bool { return r.Code == verdict.Error })
}

// undecided reports whether devices of nodes were not decided.
func (a *answer) undecided() bool {
	return slices.ContainsFunc(a.rejections, func(r verdict.Rejection) bool { return r.Reasons[0].Type == verdict.ReasonDevicesUndecided })
}

func (a *answer) bytes() int64 {
	bytes := 8*cap(a.feasible) + len(a.message)
	if a.failure != nil {
		bytes += 128 + 2*len(a.failure.Message)
	}
	for _, r := range a.rejections {
		bytes += 128 + 4*cap(r.Nodes)
		for _, reason := range r.Reasons {
			bytes += 64 + len(reason.Message)
		}
	}
	return int64(bytes)
}
