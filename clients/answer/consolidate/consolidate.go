// Package consolidate answers which nodes can be removed, or replaced by cheaper ones.
package consolidate

import (
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options limit the search. The snapshot has the templates of new nodes.
type Options struct {
	// Nodes are the nodes that may be removed; none for all nodes with a price.
	Nodes []string
	// MaxActions, MaxNodesPerAction and MaxSteps are limits of the contract; nil for its defaults.
	MaxActions, MaxNodesPerAction, MaxSteps *uint32
}

// Kind is the kind of the document.
const Kind = "ConsolidateReport"

// Answer is the document of kind ConsolidateReport. Its JSON has the fields of ConsolidateResponse after its own.
type Answer struct {
	answer.Document

	answer.Judgement `json:"-"`
	Cluster          *stowagev1.Cluster             `json:"-"`
	Response         *stowagev1.ConsolidateResponse `json:"-"`
}

// Ask looks for nodes to remove or replace.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	out := &Answer{}
	err := q.Put(func() error {
		request, unpriced, err := q.Snapshot.ConsolidateRequest(o.Nodes)
		if len(unpriced) > 0 {
			q.Notef("without a price, and therefore not removed: %s", words.Names(unpriced))
		}
		if err != nil {
			return err
		}
		request.Context.Profile, request.TieBreak, request.TieBreakSeed = q.Profile(), q.TieBreak, q.Seed
		request.MaxActions, request.MaxNodesPerAction, request.MaxSteps = o.MaxActions, o.MaxNodesPerAction, o.MaxSteps
		out.Response, err = q.Client.Consolidate(ctx, request)
		return answer.Refused(request, err)
	})
	if err != nil {
		return nil, err
	}
	out.Cluster = q.Snapshot.Cluster
	q.NotePending("actions")
	for _, a := range out.Response.Actions {
		q.Doubt(&out.Judgement, "", a)
	}
	removed := out.removed()
	q.Judge(&out.Judgement, len(removed) > 0)
	var added []string
	for _, a := range out.Response.Actions {
		if a.NewNodeIndex != nil {
			added = append(added, a.GetNewNodeName())
		}
	}
	e, err := answer.NewEffectWith(out.Cluster, q.Snapshot.NodeTemplates, added)
	if err != nil {
		return nil, err
	}
	for _, drain := range out.Drains() {
		e.Moves(drain)
	}
	e.Drained(true, removed...)
	for _, k := range out.Response.Kept {
		e.Drained(false, k.GetDrain().GetNodes().GetNames()...)
		e.Reason(words.WhyKept(k), k.GetDrain().GetNodes().GetNames()...)
	}
	out.Document = answer.NewDocument(Kind, verdict(out.Response), out.Cluster, "", e)
	return out, nil
}

// Fields are the document's fields, then the fields of the response.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return a.Document, a.Response, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the removed nodes, as kubectl names them.
func (a *Answer) Names() []string { return answer.NodeNames(a.removed()) }

// Drains are the drains of the actions, in order.
func (a *Answer) Drains() []*stowagev1.NodeDrain {
	var out []*stowagev1.NodeDrain
	for _, action := range a.Response.GetActions() {
		out = append(out, action.GetDrain())
	}
	return out
}

// removed are the names of the removed nodes.
func (a *Answer) removed() []string {
	var out []string
	for _, drain := range a.Drains() {
		out = append(out, drain.GetNodes().GetNames()...)
	}
	return out
}

// Kept lists the candidates that are not removed, a line for each reason.
func (a *Answer) Kept() []string {
	var reasons, out []string
	nodes := map[string][]string{} // by reason
	for _, k := range a.Response.GetKept() {
		why := words.WhyKept(k)
		if nodes[why] == nil {
			reasons = append(reasons, why)
		}
		nodes[why] = append(nodes[why], k.GetDrain().GetNodes().GetNames()...)
	}
	for _, why := range reasons {
		out = append(out, words.Names(nodes[why])+": "+why)
	}
	return out
}

// Truncated reports whether the answer does not list all pods.
func (a *Answer) Truncated() bool {
	return slices.ContainsFunc(a.Drains(), (*stowagev1.NodeDrain).GetTruncated) ||
		slices.ContainsFunc(a.Response.GetKept(), func(k *stowagev1.KeptNode) bool { return k.GetDrain().GetTruncated() })
}

func verdict(response *stowagev1.ConsolidateResponse) string {
	proof := words.Proof(response.GetOptimal(), response.GetLowerBound())
	n := len(response.GetActions())
	if n == 0 {
		return fmt.Sprintf("No nodes to remove; the cost stays %d (%s)", response.GetCostBefore(), proof)
	}
	return fmt.Sprintf("%s the cost from %d to %d (%s)", words.Counted(n, "action lowers", "actions lower"),
		response.GetCostBefore(), response.GetCostAfter(), proof)
}
