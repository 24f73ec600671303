// Package drain answers which nodes can be drained: where their pods would run, which would stay pending, and which cannot be evicted.
package drain

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options are which nodes are drained, how, and what the answer has.
type Options struct {
	// Nodes are the nodes to drain; empty for all.
	Nodes []string
	// Together drains the nodes at the same time, LargestSet as many of them as possible, one after another. Without either, each node is
	// drained alone.
	Together, LargestSet bool
	// MaxSteps limits the search of LargestSet; 0 for the server's default.
	MaxSteps uint32
	// Targets are nodes to which evicted pods may move; empty for all.
	Targets []string
	// Force, DeleteEmptyDirData and RefuseDaemonSetPods are kubectl drain's flags: the last one is the absence of --ignore-daemonsets.
	Force, DeleteEmptyDirData, RefuseDaemonSetPods bool
	// IgnoreBudgets ignores PodDisruptionBudgets.
	IgnoreBudgets bool
	// Moves adds every pod that moves.
	Moves bool
}

// Ask drains nodes.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	mode := q.QueueMode()
	var parts []*stowagev1.DrainResponse
	err := q.Put(func() error {
		request, err := o.request(q)
		if err != nil {
			return err
		}
		request.QueueMode = mode
		parts, err = receive(ctx, q, request)
		return answer.Refused(request, err)
	})
	if err != nil {
		return nil, err
	}
	q.NotePending("drain")
	out := New(q.Snapshot.Cluster, o, parts)
	noteTerminating(q, out.Drains)
	for _, part := range parts {
		q.Doubt(&out.Judgement, "", part)
	}
	q.Judge(&out.Judgement, out.good())
	return out, out.complete()
}

// request returns the request.
func (o *Options) request(q *answer.Question) (*stowagev1.DrainRequest, error) {
	request, err := q.Snapshot.DrainRequest(o.Nodes)
	if err != nil {
		return nil, err
	}
	if request.TargetNodes, err = q.Snapshot.Candidates(o.Targets); err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	request.Mode = stowagev1.DrainMode_DRAIN_MODE_EACH
	switch {
	case o.Together:
		request.Mode = stowagev1.DrainMode_DRAIN_MODE_TOGETHER
	case o.LargestSet:
		request.Mode = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET
	}
	if o.MaxSteps > 0 {
		request.MaxSteps = &o.MaxSteps
	}
	request.Force, request.DeleteEmptyDirData, request.RefuseDaemonSetPods = o.Force, o.DeleteEmptyDirData, o.RefuseDaemonSetPods
	request.IgnoreBudgets, request.IncludeMoves = o.IgnoreBudgets, o.Moves
	request.Context.Profile, request.TieBreak, request.TieBreakSeed = q.Profile(), q.TieBreak, q.Seed
	return request, nil
}

// receive returns the parts of a response.
func receive(ctx context.Context, q *answer.Question, request *stowagev1.DrainRequest) ([]*stowagev1.DrainResponse, error) {
	stream, err := q.Client.Drain(ctx, request)
	if err != nil {
		return nil, err
	}
	var parts []*stowagev1.DrainResponse
	for {
		part, err := stream.Recv()
		switch {
		case err == nil:
			parts = append(parts, part)
			continue
		case !errors.Is(err, io.EOF):
			return nil, err
		case len(parts) == 0 || parts[len(parts)-1].GetSummary() == nil:
			return nil, errors.New("the answer has no end")
		}
		return parts, nil
	}
}

// noteTerminating notes the pods that were terminating before the drain.
func noteTerminating(q *answer.Question, drains []*stowagev1.NodeDrain) {
	n := 0
	for _, d := range drains {
		n += int(d.GetTerminatingCount())
	}
	if n > 0 {
		q.Notef("%s terminating already: the replacements are not placed here, as most controllers have created them; "+
			"a StatefulSet does so once its pod is gone", words.Counted(n, "pod is", "pods are"))
	}
}

// good reports whether all nodes can be drained, or at least one node of the largest set.
func (a *Answer) good() bool {
	if a.LargestSet {
		return a.Summary.Message.GetDrainedCount() > 0 || a.Summary.Message.GetTotalCount() == 0
	}
	return a.Complete()
}

// Complete reports whether all nodes can be drained.
func (a *Answer) Complete() bool { return a.drained() == len(a.Drains) }

// drained is the number of drains that succeed.
func (a *Answer) drained() int {
	n := 0
	for _, d := range a.Drains {
		if d.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			n++
		}
	}
	return n
}

// verdict reports how many nodes can be drained, and what makes that unsure.
func (a *Answer) verdict() string {
	text := a.outcome()
	if a.drained() > 0 {
		text += a.Caveat()
	}
	return text
}

func (a *Answer) outcome() string {
	switch {
	case a.LargestSet:
		bound := fmt.Sprintf("at most %d can", a.Summary.Message.GetUpperBound())
		if a.Summary.Message.GetProven() {
			bound = "no order drains more"
		}
		return fmt.Sprintf("%d of %s can be drained one after another; %s", a.Summary.Message.GetDrainedCount(),
			words.Plural(a.Summary.Message.GetTotalCount(), "node"), bound)
	case len(a.Drains) != 1:
		return fmt.Sprintf("%d of %s can be drained, each alone", a.drained(), words.Plural(len(a.Drains), "node"))
	}
	nodes := a.Drains[0].GetNodes().GetNames()
	switch {
	case a.drained() == 0:
		return words.Names(nodes) + " cannot be drained"
	case len(nodes) > 1:
		return words.Names(nodes) + " can be drained together"
	}
	return words.Names(nodes) + " can be drained"
}
