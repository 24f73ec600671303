package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// question is one call of Filter or Score.
type question struct {
	c          *Cluster
	ctx        context.Context
	pod        *api.Pod
	profile    *api.Profile
	key        string // empty if the answer is not cached
	candidates nodeset.Set

	d *decide.Decision // nil until needed
}

func (q *question) decision() *decide.Decision {
	if q.d == nil {
		state := cluster.NewState(q.ctx, q.c.compiled)
		q.d = decide.New(q.framework(), state, state.Compile(q.pod))
	}
	return q.d
}

func (q *question) framework() *decide.Framework { return q.c.framework(q.profile) }

// answer returns the result of filtering, from the cache if possible.
func (q *question) answer() (*answer, error) {
	if a, ok := q.c.answers.Load(q.key); ok {
		return a, q.ctx.Err()
	}
	o, err := q.decision().Filter(q.ctx, q.candidates)
	if err != nil {
		return nil, err
	}
	a := &answer{feasible: o.Feasible.Indexes(), rejections: o.Rejections, message: o.Message}
	if q.key == "" {
		return a, nil
	}
	return q.c.answers.Keep(q.key, a, int64(len(q.key))+a.bytes()), nil
}
