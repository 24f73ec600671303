package placement

import (
	"context"
	"time"

	"github.com/stowage-scheduler/stowage/server/telemetry"
)

// measured is a decision while its parts are measured.
type measured struct {
	telemetry.Decision
	to   *telemetry.Decisions
	last time.Time
}

func (s *Service) begin(method string) measured {
	return measured{telemetry.Decision{Method: method}, s.decisions, time.Now()}
}

func (m *measured) decoded() { m.Decode = m.lap() }
func (m *measured) decided() { m.Engine = m.lap() }

func (m *measured) end(ctx context.Context, nodes, feasible, scanned int) {
	m.Encode = m.lap()
	m.Nodes, m.Feasible, m.Scanned = nodes, feasible, scanned
	m.to.Record(ctx, m.Decision)
}

// lap is the time since the last lap.
func (m *measured) lap() time.Duration {
	now := time.Now()
	took := now.Sub(m.last)
	m.last = now
	return took
}
