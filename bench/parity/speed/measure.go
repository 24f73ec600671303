package speed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/stowage-scheduler/stowage/bench/loopback"
)

// timing is what a call takes: the median of all calls on the clock, and the median of all turns in processor time of
// the whole process, client and garbage collector included.
type timing struct{ wall, cpu time.Duration }

// call is a call that is ready to be made.
type call func() (answer []byte, err error)

// subject is something to time.
type subject struct {
	name string
	// prepare makes the n-th call ready. What it does is not timed.
	prepare func(n int) (call, error)
	// want is what every answer must be, or nil if that is what the first one is.
	want []byte
	// check judges the n-th answer in the place of want.
	check func(n int, answer []byte) error
	// procs is GOMAXPROCS; 0 to leave it.
	procs int

	calls, perTurn int
	wall, cpu      []time.Duration
}

// always is a subject whose calls are all the same.
func always(name string, c call) *subject {
	return &subject{name: name, prepare: func(int) (call, error) { return c, nil }}
}

// How long a turn should be, and the most calls in it.
const (
	turn         = 40 * time.Millisecond
	maximumCalls = 400
)

// measurement says how subjects take turns.
type measurement struct {
	turns int
	// collect has the garbage collected before each turn, so that none pays for another's. It costs too much beside
	// kube-scheduler's heap.
	collect bool
}

// of times subjects in turns, so that what else the machine does meets all of them.
func (m measurement) of(subjects ...*subject) ([]timing, error) {
	for _, s := range subjects {
		if err := s.warm(); err != nil {
			return nil, err
		}
	}
	for range m.turns {
		for _, s := range subjects {
			if m.collect {
				runtime.GC()
			}
			if err := s.turn(s.perTurn); err != nil {
				return nil, err
			}
		}
	}
	out := make([]timing, len(subjects))
	for i, s := range subjects {
		out[i] = timing{median(s.wall), median(s.cpu)}
	}
	return out, nil
}

// warm makes calls whose times do not count and learns how many fit into a turn.
func (s *subject) warm() error {
	s.perTurn = 1
	for range 2 {
		if err := s.turn(1); err != nil {
			return err
		}
	}
	s.perTurn = int(min(maximumCalls, max(1, turn/max(1, s.wall[1]))))
	s.wall, s.cpu = nil, nil
	return nil
}

func (s *subject) turn(n int) error {
	if s.procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(s.procs))
	}
	calls, answers := make([]call, n), make([][]byte, n)
	for i := range calls {
		var err error
		if calls[i], err = s.prepare(s.calls + i); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	cpu := loopback.CPUTime()
	for i, c := range calls {
		start := time.Now()
		answer, err := c()
		s.wall = append(s.wall, time.Since(start))
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		answers[i] = answer
	}
	s.cpu = append(s.cpu, (loopback.CPUTime()-cpu)/time.Duration(n))
	for i, answer := range answers {
		if err := s.judge(s.calls+i, answer); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	s.calls += n
	return nil
}

var errOtherAnswer = errors.New("the same question got another answer")

func (s *subject) judge(n int, answer []byte) error {
	if s.check != nil {
		return s.check(n, answer)
	}
	if s.want == nil {
		s.want = answer
	}
	if !bytes.Equal(s.want, answer) {
		return errOtherAnswer
	}
	return nil
}

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(1, b)) }
