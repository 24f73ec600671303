package main

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/lists"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const (
	// large is the size of the requests that are as large as a server of 2 GiB receives, about.
	large = 40 << 20
	// tiny is the number of elements of small requests, which are not decoded with a seat.
	tiny = 500
	// together is how many attackers send at a time.
	together = 20
	// mostItems bounds the elements of a request with as many as a list may have.
	mostItems = 1_000_000
)

// drawn are attacks with each list of each request of the contract: with nothing in as many elements as a request has bytes for, as the
// list may have, and as small requests have.
func drawn(every, from int) (out []attack) {
	for i, l := range lists.All() {
		if i%every != from%every {
			continue
		}
		out = append(out, attack{"list " + l.String(), func(a *arena) func(ctx context.Context) { return a.list(l) }, 0})
	}
	return out
}

// list sends requests with a list: in turn one attacker with the largest, and twenty with the largest, the longest and small ones.
func (a *arena) list(l lists.List) func(ctx context.Context) {
	levels := l.Levels()
	first, last := levels[0], levels[len(levels)-1]
	forms := [][]byte{
		a.complete(l, l.Fill(first, large)), // the outermost list is the one that may be longest
		a.complete(l, l.Encode(first, l.Most(first, mostItems))),
		a.complete(l, l.Encode(last, l.Most(last, mostItems))),
		a.complete(l, l.Encode(first, tiny)),
	}
	if last != first {
		forms = append(forms, a.complete(l, l.Fill(last, large)))
	}
	send := func(c *caller, form []byte) error {
		if l.In("delta") {
			return c.steps(true, a.base(), form)
		}
		return c.unary(l.Method, form, false)
	}
	return func(ctx context.Context) {
		alone, end := context.WithTimeout(ctx, a.lasts/4)
		a.each(alone, 1, everything, func(_ int, c *caller) error { return send(c, forms[0]) })
		end()
		var n atomic.Int64
		a.each(ctx, together, everything, func(_ int, c *caller) error { return send(c, forms[int(n.Add(1))%len(forms)]) })
	}
}

// base is the first step of a put of a delta.
func (a *arena) base() []byte {
	return encoded(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: a.stored}})
}

// complete adds to a request what it needs to be decoded to its end.
func (a *arena) complete(l lists.List, request []byte) []byte {
	if !l.InCluster() && l.Asks("context") {
		request = slices.Concat(encoded(&stowagev1.FilterRequest{Context: a.snapshot()}), request)
	}
	if l.Asks("pod") && !l.In("pod") {
		pod := &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: bigcluster.Template(1)}}
		request = append(request, encoded(&stowagev1.FilterRequest{Pod: pod})...)
	}
	return request
}
