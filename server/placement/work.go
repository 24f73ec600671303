package placement

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/decode"
	"github.com/stowage-scheduler/stowage/server/rpcerror"
	"github.com/stowage-scheduler/stowage/server/work"
)

// The classes of requests, by RPC.
const (
	ofFilter admission.Class = iota
	ofScore
	ofPreempt
	ofPlace
	ofScaleDown
	ofWhatIf
	ofDrain
	ofFit
	ofProvision
	ofConsolidate
	ofPut
	ofGet
)

// SetAdmission makes requests that compute take turns. It must be called before the service is used; nil is for none.
func (s *Service) SetAdmission(l *admission.Limiter) {
	if s.admission = l; l != nil {
		s.places = make(places, max(l.Seats()/2, 1))
	}
}

// turn is a request's turn to compute. It begins at most once.
type turn struct {
	limiter *admission.Limiter
	class   admission.Class
	// ctx is the context of the request, and of the lease once the turn has begun.
	ctx    context.Context
	lease  *admission.Lease
	before work.Size // what was begun with
	// partial is whether the request is answered with a partial result when its time ends.
	partial bool
	cancel  context.CancelFunc
	// places bounds the requests that decode in one go, and placed is whether this is one of them.
	places places
	placed bool
}

func (s *Service) turn(ctx context.Context, class admission.Class) *turn {
	return &turn{limiter: s.admission, class: class, ctx: ctx, places: s.places}
}

// reads begins the turn of a decoded request if reading its cluster or its delta is work. The estimate depends on their sizes only.
func (t *turn) reads(s *Service, in request, inline *inlineCluster, bytes int) error {
	p, ok := in.(interface{ GetAllowPartial() bool })
	t.allowPartial(ok && p.GetAllowPartial())
	if t.limiter == nil {
		return nil
	}
	var size work.Size
	known := t.before.Bytes > 0 // from the size of the whole request
	if inline != nil && !known {
		size.Bytes = int64(inline.bytes)
	} else if reference := in.GetContext().GetSnapshot(); reference.GetDelta() != nil {
		if base, err := s.snapshot(t.ctx, reference.GetAddress(), ""); err == nil {
			size.Bytes = base.CopiedBy(reference.GetDelta()) / copiedPerRead
			if !known {
				size.Bytes += int64(bytes)
			}
		}
	}
	if size.Bytes == 0 {
		return nil
	}
	return t.begin(size, 1)
}

// allowPartial has a request answered with a partial result when its time ends.
func (t *turn) allowPartial(is bool) {
	if t.partial = is; !is || t.lease == nil {
		return
	}
	until, cancel := untilReserved(t.ctx)
	t.cancel = cancel
	t.lease.Until(until)
}

// copiedPerRead is how many bytes are copied in the time of decoding one.
const copiedPerRead = 16

// begin waits for the request's turn, for work of that size on width processors. If the turn has begun, the work is added to the
// work before.
func (t *turn) begin(size work.Size, width int) error {
	if t.limiter == nil {
		return nil
	}
	size.Bytes += t.before.Bytes
	size.Items += t.before.Items
	t.before = size
	estimate := size.Estimate()
	var err error
	if t.lease != nil {
		err = t.lease.Expect(estimate, width)
	} else {
		var early <-chan struct{}
		if t.partial {
			var until context.Context
			until, t.cancel = untilReserved(t.ctx)
			early = until.Done()
		}
		if t.lease, err = t.limiter.AdmitUntil(t.ctx, early, t.class, estimate, width); err == nil {
			t.ctx = t.lease.Context(t.ctx)
		}
	}
	refusal, ok := errors.AsType[*admission.Refusal](err)
	if !ok {
		return statusOf(err)
	}
	// Without a transport, in tests, there is no trailer.
	_ = grpc.SetTrailer(t.ctx, metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(refusal.After.Milliseconds(), 10)))
	return rpcerror.Busy(refusal.After)
}

// blocking calls f, which waits for the caller of the request.
func (t *turn) blocking(f func() error) error { return t.lease.Blocking(f) }

// end ends the turn.
func (t *turn) end() {
	t.leavePlace()
	t.lease.Release()
	if t.cancel != nil {
		t.cancel()
	}
}

// ofBudget divides the step budget of a search, as few searches use it up. Turns bound the delay that such a search causes to
// others.
const ofBudget = 16

func filterWork(c *decode.Snapshot, call decode.FilterCall) (work.Size, int) {
	size := work.Of(c.Len(), c.Pods(), call.Pod)
	if call.Options.Explain {
		size.Explained = 1
	}
	if call.Options.Changes {
		size.Changed = 1
	}
	if p := call.Options.Preempt; p != nil {
		size.Searched = 1
		size.Steps += int64(p.AcrossSteps) / ofBudget
		if p.Safe != nil {
			size.Searched += int64(p.Safe.Candidates * (1 + p.Safe.Cascades))
		}
	}
	return size, 1
}

func scoreWork(c *decode.Snapshot, call decode.ScoreCall) (work.Size, int) {
	size := work.Of(c.Len(), c.Pods(), call.Pod)
	size.Rules += 16 // the plugins that score
	return size, 1
}

func placeWork(c *decode.Snapshot, call decode.PlaceCall) (work.Size, int) {
	o := &call.Options
	size := queueWork(c, call.Queue, o.Groups)
	entries := int64(len(call.Queue))
	if o.Explain {
		size.Explained = entries
	}
	if o.Changes {
		size.Changed = entries
	}
	if o.Preempt || o.Scheduler {
		size.Searched = entries
	}
	return size, 1
}

func queueWork(c *decode.Snapshot, queue []engine.Pending, groups []engine.PodGroup) work.Size {
	size := work.Size{Nodes: int64(c.Len()), Pods: int64(c.Pods())}
	size.Queue(queue)
	size.Groups(groups)
	return size
}

func scaleDownWork(c *decode.Snapshot, call decode.ScaleDownCall) (work.Size, int) {
	size := work.Of(c.Len(), c.Pods(), call.Pod)
	// As many pods belong to the workload as to each template, on average. After each deletion, the remaining pods are compared.
	replicas := int64(min(c.Pods()/max(len(c.Templates()), 1)+1, engine.MaxDeletions))
	size.Placed, size.Domains = replicas, 8*replicas
	return size, 1
}

func fitWork(c *decode.Snapshot, call decode.FitCall) (work.Size, int) {
	size := queueWork(c, call.Mix, nil)
	// The requested number of units, or as many as fit on nodes of the usual 110 pods.
	units := min(int64(call.Options.Units), 110*size.Nodes/max(size.Placed, 1)+1)
	size.Placed, size.Domains = size.Placed*units, size.Domains*units
	if call.Options.Changes {
		size.Changed = int64(len(call.Mix))
	}
	if call.Options.TopologyKey != "" {
		size.Scenarios = 1 // each domain has some of the nodes
	}
	return size, 1
}

func provisionWork(c *decode.Snapshot, call decode.ProvisionCall) (work.Size, int) {
	size := queueWork(c, call.Queue, call.Options.Groups)
	size.Templates = int64(len(call.Options.Templates))
	size.Added = min(int64(call.Options.MaxNodes), size.Placed)
	size.Scenarios, size.Derived = provisionTrials, 1
	size.Steps += int64(call.Options.Steps) / ofBudget
	return size, min(engine.MaxProvisionWorkers, runtime.GOMAXPROCS(0))
}

// provisionTrials is about how often Provision places the queue.
const provisionTrials = 16

func drainWork(c *decode.Snapshot, o engine.DrainOptions) (work.Size, int) {
	nodes := len(o.Nodes)
	if o.Nodes == nil {
		nodes = c.Len()
	}
	size := work.Size{Nodes: int64(c.Len()), Pods: int64(c.Pods()), Scenarios: int64(nodes)}
	size.Moved = int64(c.Pods())
	if o.Nodes != nil {
		size.Moved = 0
		for _, n := range o.Nodes {
			size.Moved += c.PodsOn(n)
		}
	}
	width := runtime.GOMAXPROCS(0)
	if o.Mode != engine.DrainEach {
		size.Scenarios, width = 1, 1
	}
	if o.Mode == engine.DrainLargestSet {
		size.Steps = int64(o.Steps) / ofBudget
	}
	return size, width
}

func consolidateWork(c *decode.Snapshot, o engine.ConsolidateOptions) (work.Size, int) {
	candidates := int64(len(o.Candidates))
	return work.Size{
		Nodes: int64(c.Len()), Pods: int64(c.Pods()), Scenarios: candidates, Moved: c.ConsolidatedPods(&o),
		Templates: int64(len(o.Templates)), Derived: min(int64(o.MaxActions), candidates), Steps: int64(o.Steps) / ofBudget,
	}, runtime.GOMAXPROCS(0)
}

func whatIfWork(c *decode.Snapshot, call decode.WhatIfCall) (work.Size, int) {
	return work.Size{Nodes: int64(c.Len()), Pods: int64(c.Pods()), Derived: int64(call.Len()), Bytes: int64(call.Bytes())},
		min(runtime.GOMAXPROCS(0), max(call.Len(), 1))
}

// scenarios sums up the scenarios of a WhatIf.
type scenarios struct{ entries, placed, moved atomic.Int64 }

func (s *scenarios) add(scenario *decode.StatedScenario) {
	s.entries.Add(int64(len(scenario.GetQueue())))
	for _, p := range scenario.GetQueue() {
		s.placed.Add(int64(p.PodCount()))
	}
	s.moved.Add(int64(len(scenario.GetEvictions())))
}

// work is whatIfWork once the scenarios are read.
func (s *scenarios) work(c *decode.Snapshot, n int) (work.Size, int) {
	size := work.Size{
		Nodes: int64(c.Len()), Pods: int64(c.Pods()), Scenarios: int64(n), Derived: int64(n),
		Entries: 1 + s.entries.Load()/int64(max(n, 1)), Placed: s.placed.Load() / int64(max(n, 1)), Moved: s.moved.Load(),
	}
	return size, min(runtime.GOMAXPROCS(0), max(n, 1))
}
