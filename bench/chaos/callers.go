package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// callDeadline is the deadline of each call.
const callDeadline = time.Second

// templates is the number of pods in the requests.
const templates = 4

// version is a snapshot, with the right answers about it.
type version struct {
	snapshot *stowage.Snapshot
	filter   [templates]*stowagev1.FilterResponse
	place    [templates]*stowagev1.PlaceResponse
}

func (v *version) context() *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
		Snapshot: &stowagev1.SnapshotReference{Address: v.snapshot.Address()},
	}}
}

func pod(i int) *stowagev1.Pod {
	return &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: bigcluster.Template(i)}}
}

func (v *version) filterRequest(i int) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{Context: v.context(), Pod: pod(i)}
}

func (v *version) placeRequest(i int) *stowagev1.PlaceRequest {
	return &stowagev1.PlaceRequest{Context: v.context(), Queue: []*stowagev1.PendingPods{{Pod: pod(i), Count: new(uint32(20))}}}
}

// answer records the right answers, from a server without faults.
func (v *version) answer(ctx context.Context, by *stowage.Client) error {
	if err := by.Put(ctx, v.snapshot); err != nil {
		return err
	}
	for i := range templates {
		var err error
		if v.filter[i], err = by.Filter(ctx, v.filterRequest(i)); err != nil {
			return err
		}
		if v.place[i], err = by.Place(ctx, v.placeRequest(i)); err != nil {
			return err
		}
	}
	return nil
}

// counts are the calls of a phase.
type counts struct {
	calls, failed, wrong atomic.Int64
	slowest              atomic.Int64
	first                atomic.Pointer[string] // the first error
	took                 time.Duration
}

func (c *counts) perSecond() float64 {
	return float64(c.calls.Load()-c.failed.Load()) / c.took.Seconds()
}

// callers call all the time.
type callers struct {
	client, reference *stowage.Client
	now               atomic.Pointer[version]
	counts            atomic.Pointer[counts] // of the phase
}

// change puts a next version, by a delta, each second.
func (c *callers) change(ctx context.Context) error {
	for i := 0; ctx.Err() == nil; i++ {
		sleep(ctx, time.Second)
		s, err := c.now.Load().snapshot.With(&stowagev1.ClusterDelta{RemovedNodes: []string{fmt.Sprintf("node-%06d", i)}})
		if err != nil {
			return err
		}
		next := &version{snapshot: s}
		err = next.answer(ctx, c.reference)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end of the load ends the call
		}
		if err != nil {
			return err
		}
		c.count(ctx, func(ctx context.Context) (bool, error) { return true, c.client.Put(ctx, s) })
		c.now.Store(next)
	}
	return nil
}

// call calls until the context ends.
func (c *callers) call(ctx context.Context, all *sync.WaitGroup, n int) {
	for caller := range n {
		all.Go(func() {
			for i := caller; ctx.Err() == nil; i++ {
				v, t := c.now.Load(), i%templates
				c.count(ctx, func(ctx context.Context) (bool, error) {
					if i/templates%2 == 0 {
						got, err := c.client.Filter(ctx, v.filterRequest(t))
						return proto.Equal(got, v.filter[t]), err
					}
					got, err := c.client.Place(ctx, v.placeRequest(t))
					return proto.Equal(got, v.place[t]), err
				})
			}
		})
	}
}

func (c *callers) count(ctx context.Context, call func(context.Context) (right bool, err error)) {
	within, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	begin := time.Now()
	right, err := call(within)
	if ctx.Err() != nil {
		return
	}
	to := c.counts.Load() // of the phase in which the call ended
	to.calls.Add(1)
	took := int64(time.Since(begin))
	for {
		old := to.slowest.Load()
		if took <= old || to.slowest.CompareAndSwap(old, took) {
			break
		}
	}
	switch {
	case err != nil:
		to.failed.Add(1)
		to.first.CompareAndSwap(nil, new(err.Error()))
	case !right:
		to.wrong.Add(1)
	}
}
