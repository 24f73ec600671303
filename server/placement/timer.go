package placement

import (
	"context"
	"time"

	"github.com/stowage-scheduler/stowage/server/instruments"
)

// timer measures the phases of one decision.
type timer struct {
	instruments.Decision
	decisions *instruments.Decisions
	last      time.Time
}

func (s *Service) startTimer(method string) timer {
	return timer{instruments.Decision{Method: method}, s.decisions, time.Now()}
}

func (t *timer) decodeDone()  { t.Decode = t.lap() }
func (t *timer) compileDone() { t.Compile = t.lap() }
func (t *timer) engineDone()  { t.Engine = t.lap() }

// encodeDone records the decision.
func (t *timer) encodeDone(ctx context.Context, nodes, feasible, scanned int) {
	t.Encode = t.lap()
	t.Nodes, t.Feasible, t.Scanned, t.End = nodes, feasible, scanned, t.last
	t.decisions.Record(ctx, t.Decision)
}

// lap returns the time since the previous lap.
func (t *timer) lap() time.Duration {
	now := time.Now()
	took := now.Sub(t.last)
	t.last = now
	return took
}
