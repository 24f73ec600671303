// Package place answers where pending pods go: each pod's node, or why it has none, which pods are preempted, and how the rollouts of
// Deployments go.
package place

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/rollouts"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options are how pods are placed, and what the answer has.
type Options struct {
	// TopologyKey is the node label by which nodes are grouped; empty for a suitable one.
	TopologyKey string
	// Joint places all pods without a pod group together: at least AtLeast of them, 0 for all, in at most MaxSteps steps, 0 for the
	// server's limit.
	Joint             bool
	AtLeast, MaxSteps uint32
	// Explain explains pods without a node, Changes finds changes that would place them.
	Explain, Changes bool
	// Rollouts decides the rollouts of workloads whose template changes.
	Rollouts bool
	// Retries notes whether kube-scheduler's queue, which tries pods again, places more pods than one try each.
	Retries bool
	// Partial accepts the pods that were placed before the deadline of the context.
	Partial bool
	// Parts, unless nil, receives each part of the answer as it arrives, with the answer so far; and a nil part at each of Ticks.
	Parts func(part *stowagev1.PlaceStreamResponse, so *Answer) error
	Ticks <-chan time.Time
}

// Kind is the kind of the document.
const Kind = "PlaceReport"

// Answer is the document of kind PlaceReport. Its JSON has the fields of PlaceResponse after its own.
type Answer struct {
	fields
	answer.Judgement
	Snapshot *kube.Snapshot
	Response *stowagev1.PlaceResponse
	// Changes says that the response has changes that would place pods.
	Changes bool

	objects objects // by which pods are counted
}

// New returns the answer of a response about a snapshot, without its judgement; see Document. An empty topology key is a suitable one.
func New(snapshot *kube.Snapshot, key string, response *stowagev1.PlaceResponse) *Answer {
	if key == "" {
		key = words.TopologyKey(snapshot.Cluster, snapshot.QueueGroups())
	}
	out := &Answer{Snapshot: snapshot, Response: response}
	out.TopologyKey = key
	out.Verdict = out.verdict()
	return out
}

// Ask places the queue. With an error, the answer has what arrived before, nil if nothing did.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	if o.Joint {
		q.Snapshot.PlaceRestJointly(o.AtLeast, o.MaxSteps)
	}
	mode := stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
	if !o.Joint {
		mode = q.QueueMode()
	}
	found, err := q.Review(q.Snapshot.PendingSources())
	if err != nil {
		return nil, err
	}
	out := New(q.Snapshot, o.TopologyKey, nil)
	out.Changes, out.Findings = o.Changes, found
	err = q.Put(func() error {
		request := q.PlaceRequest(mode)
		request.TieBreak, request.TieBreakSeed = q.TieBreak, q.Seed
		request.Explain, request.IncludeChanges, request.AllowPartial = o.Explain, o.Changes, o.Partial
		if o.Parts != nil || o.Partial {
			err := out.inParts(ctx, q, request, o)
			return answer.Refused(request, err)
		}
		var err error
		if out.Response, err = q.Client.Place(ctx, request); err != nil {
			return answer.Refused(request, err)
		}
		if o.Rollouts {
			if out.Rollouts, err = rollouts.Decide(ctx, q, out.Response); err != nil {
				return err
			}
		}
		if o.Retries && mode == stowagev1.QueueMode_QUEUE_MODE_IN_ORDER {
			return noteRetries(ctx, q, request, out.Response)
		}
		return nil
	})
	if out.Response == nil {
		return out, err
	}
	q.Snapshot.Complete(out.Response)
	q.Doubt(&out.Judgement, "", out.Response)
	rollouts.Doubt(q, &out.Judgement, out.Rollouts)
	q.Judge(&out.Judgement, out.Good())
	if len(out.Rollouts) == 0 && len(q.NothingToPlace()) > 0 {
		out.Status = answer.Unsure
	}
	out.Verdict = out.verdict()
	return out, errors.Join(err, out.Document())
}

// inParts receives the answer in parts. If the stream ends early, the answer has the pods that were placed so far.
func (a *Answer) inParts(ctx context.Context, q *answer.Question, request *stowagev1.PlaceRequest, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := q.Client.PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: request})
	if err != nil {
		return err
	}
	next := receive(ctx, stream)
	parts := stowage.NewParts(request)
	begun := false
	for {
		var r received
		select {
		case <-o.Ticks:
			r.err = o.Parts(nil, a)
		case got, ok := <-next:
			if r = got; !ok {
				r.err = status.FromContextError(ctx.Err()).Err()
			}
			begun = begun || r.err == nil
			if r.err == nil {
				r.err = parts.Add(r.part)
			}
			a.Response = parts.Answer()
			if r.err == nil && o.Parts != nil {
				r.err = o.Parts(r.part, a)
			}
		}
		switch {
		case r.err == nil:
			continue
		case errors.Is(r.err, io.EOF):
			return nil
		case !begun && !errors.Is(ctx.Err(), context.Canceled):
			a.Response = nil
			return r.err
		}
		parts.Cut()
		a.Response = parts.Answer()
		if o.Partial && status.Code(r.err) == codes.DeadlineExceeded {
			return nil
		}
		return r.err
	}
}

// received is a part of an answer, or the error at its end.
type received struct {
	part *stowagev1.PlaceStreamResponse
	err  error
}

// receive returns the parts of a stream. The channel is closed after the last one.
func receive(ctx context.Context, stream grpc.ServerStreamingClient[stowagev1.PlaceStreamResponse]) <-chan received {
	next := make(chan received)
	go func() {
		defer close(next)
		for {
			part, err := stream.Recv()
			select {
			case next <- received{part, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return next
}

// noteRetries notes if kube-scheduler's queue, which tries pods again once others are placed, places more than one try each.
func noteRetries(ctx context.Context, q *answer.Question, request *stowagev1.PlaceRequest, once *stowagev1.PlaceResponse) error {
	if once.GetUnplacedCount() == 0 || len(request.Queue) < 2 || answer.InOrderOnly(q.Snapshot) != "" {
		return nil
	}
	again := &stowagev1.PlaceRequest{
		Context: request.Context, Queue: request.Queue, PodGroups: request.PodGroups, TieBreak: request.TieBreak,
		TieBreakSeed: request.TieBreakSeed, QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER,
	}
	retried, err := q.Client.Place(ctx, again)
	if err != nil {
		return answer.Refused(again, err)
	}
	if retried.GetPlacedCount() > once.GetPlacedCount() && len(retried.GetEvictions()) == 0 {
		q.Notef("with --queue kube-scheduler, which tries pods again, %d of %s are placed", retried.GetPlacedCount(),
			words.Plural(retried.GetPlacedCount()+retried.GetUnplacedCount(), "pod"))
	}
	return nil
}

// Good reports whether every pod has a node and every rollout completes.
func (a *Answer) Good() bool {
	return whatif.AllPlaced(a.Snapshot, a.Response, a.Rollouts) && whatif.Fine(a.Rollouts)
}

// verdict reports how many pods were placed, how rollouts go, and how many pods leave.
func (a *Answer) verdict() string {
	var out []string
	r := a.Response
	if all := r.GetPlacedCount() + r.GetUnplacedCount() + r.GetEvictedCount(); all > 0 {
		text := fmt.Sprintf("%d of %s placed", r.GetPlacedCount(), words.Plural(all, "pod"))
		if n := r.GetEvictedCount(); n > 0 {
			text += fmt.Sprintf(", %d evicted again", n)
		}
		out = append(out, text)
	}
	if len(a.Rollouts) > 0 {
		out = append(out, words.Rollouts(a.Rollouts))
	}
	if n := len(a.Snapshot.Leavers); n > 0 {
		out = append(out, words.Counted(n, "pod leaves", "pods leave"))
	}
	if len(out) == 0 {
		return "no pods to place"
	}
	if r.GetUnplacedCount()+r.GetEvictedCount() == 0 && whatif.Fine(a.Rollouts) {
		out[len(out)-1] += a.Caveat()
	}
	return strings.Join(out, "; ")
}

// Words describes responses about pods of the queue.
func (a *Answer) Words() *words.Explanation {
	return &words.Explanation{Cluster: a.Snapshot.Cluster, PodName: a.podName}
}

// podName names pods that the same request placed by their origin.
func (a *Answer) podName(p *stowagev1.PodReference) string {
	if o, ok := p.GetOrigin().(*stowagev1.PodReference_QueueIndex); ok {
		return a.Snapshot.Queue[o.QueueIndex].Origin.Name
	}
	return words.PodName(a.Snapshot.Cluster, p)
}

// Evictions reports which pods preempt which, in the order of time.
func (a *Answer) Evictions() []string {
	x := a.Words()
	var out []string
	for _, e := range a.Response.GetEvictions() {
		c := &stowagev1.PreemptionCandidate{Victims: e.GetVictims(), PdbViolations: e.GetPdbViolations()}
		text := a.Who(e.GetQueueIndex()) + " evicts " + x.Leaving(e.GetVictims(), words.Names) + words.Violations(c)
		if g := e.GetPodGroup(); g != "" {
			text = "pod group " + g + " evicts " + words.Names(x.Victims(e.GetVictims())) + words.Violations(c)
		}
		out = append(out, text)
	}
	return out
}

// Who names the origin of a queue entry.
func (a *Answer) Who(queueIndex uint32) string {
	if int(queueIndex) >= len(a.Snapshot.Queue) {
		return fmt.Sprintf("entry %d", queueIndex)
	}
	o := a.Snapshot.Queue[queueIndex].Origin
	return o.Namespace + "/" + o.Name
}

// Spec returns the spec of a queue entry's pods.
func (a *Answer) Spec(queueIndex uint32) *stowagev1.PodSpec {
	if int(queueIndex) >= len(a.Snapshot.Queue) {
		return nil
	}
	return compact.Template(a.Snapshot.Cluster, a.Snapshot.Queue[queueIndex].Pods.GetPod()).GetSpec()
}
