package speed

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stowage-scheduler/stowage/bench/loopback"
)

// Concurrent callers, and for how long they call.
const (
	callers = 8
	calling = time.Second / 2
)

// throughput measures Filters by address, and empty calls, of concurrent callers, each with a connection of its own, on
// two cores against one.
func (r *run) throughput() error {
	c := r.find(all)
	request, err := r.big.target.filterRequest(c.pod(0))
	if err != nil {
		return err
	}
	want := r.big.want[c].filter
	filtering, err := r.callers(r.address, func(client *loopback.Client) error {
		answer, err := stowage{client}.filter(request)
		if err == nil && !bytes.Equal(want, answer) {
			err = errOtherAnswer
		}
		return err
	})
	if err != nil {
		return err
	}
	empty, err := r.callers(r.echoAddress, func(client *loopback.Client) error {
		return client.Echo(context.Background(), nil)
	})
	if err != nil {
		return err
	}
	r.set("throughput", filtering[2]/filtering[1])
	r.set("calls-per-second", filtering[2])
	r.set("throughput-empty", empty[2]/empty[1])
	return nil
}

// callers lets clients call a server, and returns how many calls are made per second by number of cores.
func (r *run) callers(address string, call func(*loopback.Client) error) (map[int]float64, error) {
	clients := make([]*loopback.Client, callers)
	for i := range clients {
		var err error
		if clients[i], err = loopback.Dial(address); err != nil {
			return nil, err
		}
		defer clients[i].Close()
	}
	perSecond := map[int][]float64{}
	for range r.Turns {
		for _, procs := range []int{1, 2} {
			n, err := concurrently(procs, clients, call)
			if err != nil {
				return nil, err
			}
			perSecond[procs] = append(perSecond[procs], n)
		}
	}
	return map[int]float64{1: median(perSecond[1]), 2: median(perSecond[2])}, nil
}

// concurrently lets each client make calls, and returns how many were made per second in all.
func concurrently(procs int, clients []*loopback.Client, call func(*loopback.Client) error) (perSecond float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var calls atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, len(clients))
	start := time.Now()
	for i, c := range clients {
		group.Go(func() {
			for time.Since(start) < calling && errs[i] == nil {
				errs[i] = call(c)
				calls.Add(1)
			}
		})
	}
	group.Wait()
	return float64(calls.Load()) / time.Since(start).Seconds(), errors.Join(errs...)
}
