package speed

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Concurrent callers, and for how long they call.
const (
	callers = 8
	calling = time.Second
)

// throughput measures Filters by address of concurrent callers, on two cores against one.
func (r *run) throughput() error {
	s, err := r.seen(r.big, r.find(all))
	if err != nil {
		return err
	}
	if err := s.warm(); err != nil {
		return err
	}
	perSecond := map[int][]float64{}
	for range r.Turns {
		for _, procs := range []int{1, 2} {
			n, err := s.concurrently(procs)
			if err != nil {
				return err
			}
			perSecond[procs] = append(perSecond[procs], n)
		}
	}
	r.set("throughput", median(perSecond[2])/median(perSecond[1]))
	r.set("calls-per-second", median(perSecond[2]))
	return nil
}

// concurrently lets callers make a subject's calls, and returns how many were made per second.
func (s *subject) concurrently(procs int) (perSecond float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var calls atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, callers)
	start := time.Now()
	for range callers {
		group.Go(func() {
			for time.Since(start) < calling {
				do, err := s.prepare(0)
				if err == nil {
					var answer []byte
					if answer, err = do(); err == nil {
						err = s.judge(1, answer)
					}
				}
				if err != nil {
					errs <- fmt.Errorf("%s: %w", s.name, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	select {
	case err = <-errs:
	default:
	}
	return float64(calls.Load()) / took.Seconds(), err
}
