package decode

import (
	"cmp"
	"context"
	"math"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Request decodes one request: first the cluster, then the rest, which refers to it. Err returns all problems.
type Request struct {
	decoder
	built    *engine.Builder
	nodeless *Nodeless    // nil for no cache
	question *RequestPods // nil if the pod is in the message
	// uncompiled lets Delta leave the cluster as it was, in a request that refers to no node and is only checked.
	uncompiled bool
}

// NewRequest begins a request whose cluster becomes a snapshot.
func NewRequest(ctx context.Context) *Request { return newRequest(ctx, &content.Builder{}) }

// NewInline begins a request with an inline cluster: its Content is nil. The cache may be nil.
func NewInline(ctx context.Context, of *Nodeless) *Request {
	r := newRequest(ctx, &content.Builder{AddressOnly: true})
	r.nodeless = of
	return r
}

func newRequest(ctx context.Context, to *content.Builder) *Request {
	r := &Request{built: engine.NewBuilder()}
	r.decoder = decoder{ctx: ctx, to: r.built, content: to}
	return r
}

// On begins a request with the cluster of a snapshot.
func On(ctx context.Context, c *Snapshot) *Request {
	return &Request{decoder: decoder{ctx: ctx, base: c, known: c.known.shared()}}
}

// Based refuses a context without a cluster or a snapshot.
func (d *decoder) Based(in *stowagev1.DecisionContext) {
	switch {
	case in == nil:
		d.refuse(path{name: "context"}, required, "is required")
	case in.GetBase() == nil:
		d.refuse(path{name: "context.base"}, required, "one of cluster and snapshot is required")
	}
}

// Refuse returns the error of a field.
func Refuse(field string, reason stowagev1.ViolationReason, format string, args ...any) error {
	var p problems
	p.refuse(path{name: field}, reason, format, args...)
	return p.err()
}

// ErrNoMessage is the error of a malformed request.
var ErrNoMessage = Refuse("", malformed, "the request is no protobuf message")

// Address parses the content address in a field.
func Address(text, field string) (content.Address, error) {
	if text == "" {
		return content.Address{}, Refuse(field, required, "is required")
	}
	a, err := content.Parse(text)
	if err != nil {
		return a, Refuse(field, invalidSyntax, "must be 64 lowercase hexadecimal digits")
	}
	return a, nil
}

// Err returns the problems as an *Error, or the context's error if the context ended first.
func (r *Request) Err() error {
	if r.ended != nil {
		return r.ended
	}
	return r.problems.err()
}

// Cluster compiles the cluster of a valid request.
func (r *Request) Cluster() *Snapshot {
	if r.base != nil {
		return r.base
	}
	r.finish()
	built := r.content.Build()
	c := &Snapshot{Cluster: r.built.Build(), Address: built.Address().String(), known: r.known}
	c.interned = c.Interned()
	if !r.content.AddressOnly {
		c.Content = built
	}
	return c
}

// FilterCall is a FilterRequest in the engine's values.
type FilterCall struct {
	Pod     *api.Pod
	Options engine.FilterOptions
}

// Filter decodes a FilterRequest except for its cluster.
func (r *Request) Filter(in *stowagev1.FilterRequest) FilterCall {
	return FilterCall{
		Pod: r.onePod(in.GetPod()),
		Options: engine.FilterOptions{
			Profile:    r.profile(in.GetContext().GetProfile()),
			Candidates: r.candidates(in.GetCandidateNodes()),
			Explain:    in.GetExplain(),
			Changes:    in.GetIncludeChanges(),
			Preempt:    preemption(in.GetIncludePreemption()),
			Key:        r.question.key(in.GetContext().GetProfile()),
		},
	}
}

// preemption returns the options of the preemption that a response includes.
func preemption(included bool) *engine.PreemptOptions {
	if !included {
		return nil
	}
	return new(engine.PreemptOptions)
}

// Preempt decodes a PreemptRequest except for its cluster.
func (r *Request) Preempt(in *stowagev1.PreemptRequest) FilterCall {
	return FilterCall{
		Pod: r.onePod(in.GetPod()),
		Options: engine.FilterOptions{
			Profile:    r.profile(in.GetContext().GetProfile()),
			Candidates: r.candidates(in.GetCandidateNodes()),
			Preempt: &engine.PreemptOptions{
				All: in.GetIncludeCandidates(), RecountSpread: in.GetRecountTopologySpread(),
				Safe: r.safe(in.GetSafe()), AcrossSteps: r.acrossSteps(in.GetAcrossNodes()),
			},
			Key: r.question.key(in.GetContext().GetProfile()),
		},
	}
}

func (d *decoder) safe(in *stowagev1.SafePreemptionOptions) *engine.SafeOptions {
	if in == nil {
		return nil
	}
	at := path{name: "safe"}
	out := &engine.SafeOptions{Cascades: int(in.GetMaxCascades()), Candidates: defaultCandidates}
	if in.MaxCandidates != nil {
		out.Candidates = int(in.GetMaxCandidates())
	}
	d.between(at.field("max_cascades"), int64(out.Cascades), 0, MaxCascades)
	d.between(at.field("max_candidates"), int64(out.Candidates), 1, MaxCandidates)
	return out
}

// acrossSteps returns the step budget of the search on all nodes, 0 for no search.
func (d *decoder) acrossSteps(in *stowagev1.AcrossNodesOptions) int {
	switch {
	case in == nil:
		return 0
	case in.MaxSteps == nil:
		return defaultAcrossSteps
	}
	at := path{name: "across_nodes"}
	d.between(at.field("max_steps"), int64(in.GetMaxSteps()), 1, MaxSteps)
	return int(in.GetMaxSteps())
}

// ScoreCall is a ScoreRequest in the engine's values.
type ScoreCall struct {
	Pod     *api.Pod
	Options engine.ScoreOptions
}

// Score decodes a ScoreRequest except for its cluster.
func (r *Request) Score(in *stowagev1.ScoreRequest) ScoreCall {
	return ScoreCall{
		Pod: r.onePod(in.GetPod()),
		Options: engine.ScoreOptions{
			Profile:    r.profile(in.GetContext().GetProfile()),
			Candidates: r.candidates(in.GetCandidateNodes()),
			Key:        r.question.key(in.GetContext().GetProfile()),
			TotalsOnly: !in.GetIncludePluginScores(),
			Rejections: in.GetIncludeRejections(),
		},
	}
}

// PlaceCall is a PlaceRequest in the engine's values.
type PlaceCall struct {
	Queue   []engine.Pending
	Options engine.PlaceOptions
}

// Place decodes a PlaceRequest except for its cluster.
func (r *Request) Place(in *stowagev1.PlaceRequest) PlaceCall {
	var pods [][]byte // nil if they are in the message
	if r.question != nil {
		pods = r.question.queue
	}
	queue := r.queue(in.GetQueue(), pods)
	return PlaceCall{
		Queue: queue,
		Options: engine.PlaceOptions{
			Profile:    r.profile(in.GetContext().GetProfile()),
			Candidates: r.candidates(in.GetCandidateNodes()),
			Seed:       in.GetTieBreakSeed(),
			FewestPods: r.fewestPods(in.GetTieBreak()),
			Explain:    in.GetExplain(),
			Scheduler:  r.queueMode(in),
			Groups:     r.podGroups(in.GetPodGroups(), in.GetQueue(), queue),
			Partial:    in.GetAllowPartial(),
			Changes:    in.GetIncludeChanges(),
			Preempt:    in.GetIncludePreemption(),
		},
	}
}

// queueMode reports whether a queue is placed as kube-scheduler's.
func (d *decoder) queueMode(in *stowagev1.PlaceRequest) bool {
	scheduler := d.scheduler(in.GetQueueMode())
	if scheduler {
		d.scheduledGroups(in.GetPodGroups())
	}
	return scheduler
}

// scheduler reports whether a queue mode is QUEUE_MODE_KUBE_SCHEDULER.
func (d *decoder) scheduler(mode stowagev1.QueueMode) bool {
	mode = cmp.Or(mode, stowagev1.QueueMode_QUEUE_MODE_IN_ORDER)
	scheduler, _ := enum(&d.problems, nil, "queue_mode", mode, false, true)
	return scheduler
}

// fewestPods reports whether ties go to the node with the fewest pods.
func (d *decoder) fewestPods(by stowagev1.TieBreak) bool {
	by = cmp.Or(by, stowagev1.TieBreak_TIE_BREAK_FIRST)
	fewest, _ := enum(&d.problems, nil, "tie_break", by, false, true)
	return fewest
}

// terminating reports whether evicted pods are terminating.
func (d *decoder) terminating(pods stowagev1.EvictedPods) bool {
	pods = cmp.Or(pods, stowagev1.EvictedPods_EVICTED_PODS_GONE)
	terminating, _ := enum(&d.problems, nil, "evicted_pods", pods, false, true)
	return terminating
}

// ScaleDownCall is a ScaleDownRequest in the engine's values.
type ScaleDownCall struct {
	Pod     *api.Pod
	Options engine.ScaleDownOptions
}

// ScaleDown decodes a ScaleDownRequest except for its cluster.
func (r *Request) ScaleDown(in *stowagev1.ScaleDownRequest) ScaleDownCall {
	call := ScaleDownCall{
		Pod: r.onePod(in.GetPod()),
		Options: engine.ScaleDownOptions{
			Profile:  r.profile(in.GetContext().GetProfile()),
			Selector: strictSubmessage(&r.decoder, path{name: "selector"}, in.GetSelector(), (*reader).labelSelector),
			Replicas: int(min(in.GetReplicas(), math.MaxInt32)),
		},
	}
	r.require(in.Replicas != nil, path{name: "replicas"})
	if p := call.Pod; in.GetSelector() == nil && p != nil && p.Template != nil && len(p.Template.Labels)+len(p.Labels) == 0 {
		r.refuse(path{name: "selector"}, required, "is required, as the pod has no labels")
	}
	return call
}

// Envelope returns the problems of a request that do not depend on the cluster and its pods.
func Envelope(in any) error {
	var d decoder
	if r, ok := in.(interface {
		GetContext() *stowagev1.DecisionContext
	}); ok {
		d.Based(r.GetContext())
		d.profile(r.GetContext().GetProfile())
	}
	if r, ok := in.(interface{ GetPod() *stowagev1.Pod }); ok {
		d.require(r.GetPod() != nil, path{name: "pod"})
	}
	if r, ok := in.(interface{ GetTieBreak() stowagev1.TieBreak }); ok {
		d.fewestPods(r.GetTieBreak())
	}
	switch r := in.(type) {
	case *stowagev1.ScaleDownRequest:
		d.require(r.Replicas != nil, path{name: "replicas"})
	case *stowagev1.PlaceRequest:
		d.queueMode(r)
	case *stowagev1.FitRequest:
		d.maxUnits(r)
		d.fitKey(r.GetTopologyKey())
	case *stowagev1.ProvisionRequest:
		d.maxNodes(r)
		d.provisionSteps(r)
	case *stowagev1.ConsolidateRequest:
		d.consolidateLimits(r)
		d.terminating(r.GetEvictedPods())
	}
	return d.err()
}
