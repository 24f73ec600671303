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

// Concurrent callers, the calls that they make in all before the number of cores changes, and how often that is in a turn.
// There are enough callers to keep every core busy: an idle core begins late, so with few callers a second core has no
// effect.
const (
	callers = 128
	calling = 3000
	changes = 2
)

// throughput measures Filters by address, of a template seen before and of new ones, and empty calls, of concurrent
// callers, each with a connection of its own, on two cores against one.
func (r *run) throughput() error {
	c := r.find(all)
	want := r.big.want[c].filter
	filter := func(client *loopback.Client, request []byte) error {
		answer, err := stowage{client}.filter(request)
		if err == nil && !bytes.Equal(want, answer) {
			err = errOtherAnswer
		}
		return err
	}
	seen, err := r.big.target.filterRequest(c.pod(0))
	if err != nil {
		return err
	}
	filtering, err := r.callers(r.address, same(seen), filter)
	if err != nil {
		return err
	}
	first, err := r.callers(r.address, func() ([]byte, error) { return r.big.target.filterRequest(c.pod(r.trial())) }, filter)
	if err != nil {
		return err
	}
	empty, err := r.callers(r.echoAddress, same(nil), func(client *loopback.Client, request []byte) error {
		return client.Echo(context.Background(), request)
	})
	if err != nil {
		return err
	}
	gain := empty[2] / empty[1] // of the machine: what gRPC's own goroutines gain from a second core
	r.set("throughput", filtering[2]/filtering[1]/gain)
	r.set("calls-per-second", filtering[2])
	r.set("throughput-first", first[2]/first[1]/gain)
	r.set("throughput-empty", gain)
	return nil
}

// callers lets clients make calls, and returns how many are made per second by number of cores.
func (r *run) callers(
	address string, prepare func() ([]byte, error), call func(*loopback.Client, []byte) error,
) (map[int]float64, error) {
	clients := make([]*loopback.Client, callers)
	for i := range clients {
		var err error
		if clients[i], err = loopback.Dial(address); err != nil {
			return nil, err
		}
		defer clients[i].Close()
	}
	perSecond := map[int][]float64{}
	for i := range r.Turns * changes {
		for _, procs := range [][]int{{1, 2}, {2, 1}}[i%2] {
			requests := make([][]byte, calling)
			for i := range requests {
				var err error
				if requests[i], err = prepare(); err != nil {
					return nil, err
				}
			}
			n, err := concurrently(procs, clients, requests, call)
			if err != nil {
				return nil, err
			}
			perSecond[procs] = append(perSecond[procs], n)
		}
	}
	return map[int]float64{1: median(perSecond[1]), 2: median(perSecond[2])}, nil
}

// concurrently lets clients make calls, and returns how many were made per second in all.
func concurrently(
	procs int, clients []*loopback.Client, requests [][]byte, call func(*loopback.Client, []byte) error,
) (perSecond float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, len(clients))
	start := time.Now()
	for i, c := range clients {
		group.Go(func() {
			for errs[i] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(requests) {
					return
				}
				errs[i] = call(c, requests[n])
			}
		})
	}
	group.Wait()
	return float64(len(requests)) / time.Since(start).Seconds(), errors.Join(errs...)
}

func same(request []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return request, nil }
}
