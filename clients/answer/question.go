package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Question is what every question needs: a server, a cluster, and the scheduler whose decisions are wanted.
type Question struct {
	// Client is a client of a server, which may run in this process: see stowage.Dial and embedded.Dial.
	Client *stowage.Client
	// Snapshot is the cluster with its pending pods. Objects that the server refuses are reduced in it.
	Snapshot *kube.Snapshot
	// Scheduler is kube-scheduler's configuration; nil for its default.
	Scheduler *schedulerconfig.Scheduler
	// Queue is how pending pods are placed.
	Queue QueueMode
	// TieBreak and Seed choose one of several best nodes.
	TieBreak stowagev1.TieBreak
	Seed     uint64
	// Gaps are what the snapshot lacks.
	Gaps Gaps
	// InputNotes are notes about the input, which answers have before their own.
	InputNotes []string
	// Note, unless nil, receives each note at once. The answer has all of them.
	Note func(note string)

	notes       []string
	othersNoted bool
}

// Gaps are what a snapshot lacks of the cluster.
type Gaps struct {
	// Forbidden is the number of kinds of objects that may not be read.
	Forbidden int
	// Workloads are workloads of kinds that are not read: their pods are known only where the input has them.
	Workloads []string
	// Deciding are objects that are not read although placements may depend on them.
	Deciding []string
	// Incomplete says that pods of workloads may be missing, as the input is not a live cluster.
	Incomplete bool
}

// Notef adds a note, unless the question has it.
func (q *Question) Notef(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if slices.Contains(q.notes, note) {
		return
	}
	q.notes = append(q.notes, note)
	if q.Note != nil {
		q.Note(note)
	}
}

// Notes returns the notes so far.
func (q *Question) Notes() []string { return slices.Concat(q.InputNotes, q.notes) }

// Profile returns the profile of the scheduler.
func (q *Question) Profile() *stowagev1.Profile {
	if q.Scheduler == nil {
		return nil
	}
	return q.Scheduler.Profile
}

// NoPreemption reports whether the scheduler does not preempt.
func (q *Question) NoPreemption() bool { return q.Scheduler != nil && q.Scheduler.NoPreemption() }

// Context returns the context of a request about a cluster.
func (q *Question) Context(cluster *stowagev1.Cluster) *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}, Profile: q.Profile(), IncludeNodeNames: true,
	}
}

// maximumRefusals bounds how often a request is sent again. An error names 32 fields.
const maximumRefusals = 100

// RequestError is an error of a request. Its violations name fields of the request.
type RequestError struct {
	Request proto.Message
	Err     error
}

func (e *RequestError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *RequestError) Unwrap() error { return e.Err }

// Refused wraps the error of a request, nil if there is none.
func Refused(request proto.Message, err error) error {
	if err == nil {
		return nil
	}
	return &RequestError{request, err}
}

// Put calls put, which sends requests about the snapshot and wraps their errors by Refused. If the server refuses objects of the
// snapshot, they are reduced, noted, and put is called again.
func (q *Question) Put(put func() error) error {
	for refusals := 0; ; refusals++ {
		err := put()
		var refused *RequestError
		if !errors.As(err, &refused) {
			return err
		}
		known := len(q.Snapshot.Misreads)
		if refusals == maximumRefusals || !q.Snapshot.Refuse(Violations(refused.Err)) {
			return err
		}
		for _, m := range q.Snapshot.Misreads[known:] {
			q.Notef("not understood: %v", m)
		}
	}
}

// Violations returns the violations of an error, with paths in the request of a unary call: a PlaceStreamRequest has one in a field.
func Violations(err error) []kube.Violation {
	var out []kube.Violation
	for _, v := range stowage.Details(err).Violations {
		out = append(out, kube.Violation{Field: strings.TrimPrefix(v.Field, "place."), Description: v.Description})
	}
	return out
}

// WhatIf sends a request and hands over each answer, in order, as it arrives.
func (q *Question) WhatIf(ctx context.Context, request *stowagev1.WhatIfRequest, each func(*stowagev1.WhatIfResponse)) error {
	stream, err := q.Client.WhatIf(ctx, request)
	if err != nil {
		return Refused(request, err)
	}
	for received := 0; ; received++ {
		response, err := stream.Recv()
		switch {
		case err == nil:
			each(response)
			continue
		case !errors.Is(err, io.EOF):
			return Refused(request, err)
		case received < len(request.Scenarios):
			return Refused(request, errors.New("the answer has no end"))
		}
		return nil
	}
}

// Doubt adds the doubts of responses about the snapshot to a judgement. subject names the pod of a response about a single pod.
func (q *Question) Doubt(j *Judgement, subject string, responses ...proto.Message) {
	j.Doubts.Add(stowage.Doubts(responses...), func(p *stowagev1.PodReference) string {
		_, queued := p.GetOrigin().(*stowagev1.PodReference_QueueIndex)
		switch i := int(p.GetQueueIndex()); {
		case queued && subject != "":
			return subject
		case queued && i < len(q.Snapshot.Queue)+len(q.Snapshot.Waiting):
			return q.Snapshot.Entry(i).Origin.String()
		case p.GetName() != "":
			return kube.Origin{Kind: "Pod", Namespace: p.GetNamespace(), Name: p.GetName()}.String()
		}
		return words.Plural(int(p.GetCount()), "pod") + " in namespace " + p.GetNamespace()
	})
}

// Judge sets the status and the notes of a judgement whose doubts are known. A yes becomes unsure by doubts, and by what the snapshot
// lacks.
func (q *Question) Judge(j *Judgement, yes bool) {
	j.Notes = q.Notes()
	if !yes {
		j.Status = No
		return
	}
	if j.Caveats = q.caveats(j); len(j.Caveats) > 0 {
		j.Status = Unsure
	}
}

// caveats lists why a yes is not sure.
func (q *Question) caveats(j *Judgement) []string {
	why := j.Doubts.Counts()
	unknown := slices.DeleteFunc(slices.Clone(q.Snapshot.Misreads), func(m *kube.Misread) bool { return m.OwnPods })
	if n := len(unknown); n > 0 {
		why = append(why, words.Counted(n, "object is", "objects are")+" not understood")
	}
	if n := q.Gaps.Forbidden; n > 0 {
		why = append(why, words.Counted(n, "kind", "kinds")+" of objects may not be read")
	}
	if p := q.Snapshot.Incomplete; len(p) > 0 && q.Gaps.Incomplete {
		of := p[0].String()
		if len(p) > 1 {
			of = fmt.Sprintf("%s and %d more", p[0], len(p)-1)
		}
		why = append(why, "pods of "+of+" are not in the manifests")
	}
	if n := len(q.Snapshot.Undecided); n > 0 {
		why = append(why, words.Counted(n, "change is", "changes are")+" not decided")
	}
	if len(q.Gaps.Deciding) > 0 {
		why = append(why, "these are not read: "+words.List(q.Gaps.Deciding))
	}
	return why
}

// NothingToPlace returns the objects that have pods although there was nothing to place; none if there was something, or the input has
// no workloads. An answer to a question about pending pods is unsure then.
func (q *Question) NothingToPlace() []string {
	if len(q.Snapshot.Queue)+len(q.Snapshot.Waiting) > 0 {
		return nil
	}
	out := slices.Clone(q.Gaps.Workloads)
	if len(q.Snapshot.Others) > 0 {
		out = append(out, "pods of other schedulers")
	}
	return out
}

// Review returns placement rules of pods that have no effect or look like mistakes; never nil.
func (q *Question) Review(pods []kube.PodSource) ([]review.Finding, error) {
	r, err := review.New(q.Snapshot, review.Options{Profile: q.Profile(), PodsUnknown: len(q.Gaps.Workloads) > 0})
	if err != nil {
		return nil, err
	}
	return append([]review.Finding{}, r.All(pods)...), nil
}
