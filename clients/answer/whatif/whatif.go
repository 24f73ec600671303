// Package whatif answers what a change leads to: of objects, of nodes, or of pods on nodes.
package whatif

import (
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/rollouts"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/review"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options are what changes.
type Options struct {
	// Before is the cluster without the changes of objects that the question's snapshot has; nil if no objects change.
	Before *kube.Snapshot
	// Changes describes the changes of objects.
	Changes []string
	// Scaled are workloads whose controllers choose the pods to delete.
	Scaled []Scaled
	// Source is what commands about the cluster need, such as -f and a path.
	Source []string
	// Lost are nodes to remove, Cordoned nodes to cordon, and Evicted pods to evict: [NAMESPACE/]pod/NAME.
	Lost, Cordoned, Evicted []string
	// Namespace is the namespace of pods without one; empty for any.
	Namespace string
}

// Scaled is a workload and its number of replicas.
type Scaled struct {
	kube.Origin
	Replicas int64
}

// Kind is the kind of the document.
const Kind = "WhatIfReport"

// Answer is the document of kind WhatIfReport. Its JSON has the fields of the comparison.
type Answer struct {
	answer.Document
	*whatif.Comparison

	answer.Judgement `json:"-"`
}

// New returns the answer of a comparison, without its judgement and its nodes.
func New(of *whatif.Comparison) *Answer {
	return &Answer{Document: answer.Document{Header: answer.Header{Verdict: verdict(of)}}, Comparison: of}
}

// verdict is the answer in a sentence.
func verdict(c *whatif.Comparison) string {
	return fmt.Sprintf("%d of %s placed after the change, %d of %d before", c.After.Placed, words.Plural(c.After.Pods, "pod"),
		c.Before.Placed, c.Before.Pods)
}

// Found returns the findings.
func (a *Answer) Found() []review.Finding { return a.Comparison.Findings }

// Ask places the queue before and after the change. With an error, the answer has the findings alone.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	d, lines, err := o.disruption(q.Snapshot)
	if err != nil {
		return nil, err
	}
	before, mode := o.before(q), q.QueueMode()
	found, err := newFindings(before, q)
	if err != nil {
		return nil, err
	}
	out := &Answer{Comparison: &whatif.Comparison{Findings: found}}
	was, err := state(ctx, before, &kube.Disruption{}, mode)
	if err != nil {
		return out, err
	}
	is, err := state(ctx, q, d, mode)
	if err != nil {
		return out, err
	}
	c := whatif.Compare(slices.Concat(o.Changes, lines), was, is)
	c.Findings, c.ScaleDowns = found, o.scaleDowns(c)
	if len(d.Lost)+len(d.Cordoned)+len(d.Evicted) == 0 {
		all, err := rollouts.Decide(ctx, q, is.Answer.GetPlacement())
		if err != nil {
			return out, err
		}
		c.Rollouts, c.Fine = append(c.Rollouts, all...), c.Fine && whatif.Fine(all)
	}
	out.Comparison = c
	q.Doubt(&out.Judgement, "", is.Answer)
	rollouts.Doubt(q, &out.Judgement, c.Rollouts)
	q.Judge(&out.Judgement, c.Fine)
	return out, out.complete(was, is)
}

// before returns the question about the cluster before the change. Its notes are notes of the question about the change.
func (o *Options) before(q *answer.Question) *answer.Question {
	if o.Before == nil {
		return q
	}
	return &answer.Question{
		Client: q.Client, Snapshot: o.Before, Scheduler: q.Scheduler, TieBreak: q.TieBreak, Seed: q.Seed, Gaps: q.Gaps,
		Note: func(note string) { q.Notef("%s", note) },
	}
}

// newFindings returns placement rules of pending pods that have no effect or look like mistakes only after the change; never nil.
func newFindings(before, after *answer.Question) ([]review.Finding, error) {
	if before == after {
		return []review.Finding{}, nil
	}
	was, err := before.Review(before.Snapshot.PendingSources())
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for i := range was {
		known[was[i].String()] = true
	}
	is, err := after.Review(after.Snapshot.PendingSources())
	return slices.DeleteFunc(is, func(f review.Finding) bool { return known[f.String()] }), err
}

// state returns the cluster of a question after a disruption.
func state(ctx context.Context, q *answer.Question, d *kube.Disruption, mode stowagev1.QueueMode) (*whatif.State, error) {
	out := &whatif.State{Snapshot: q.Snapshot, Disruption: d}
	return out, q.Put(func() error {
		scenario, err := q.Snapshot.Scenario(d)
		if err != nil {
			return err
		}
		request := q.Snapshot.WhatIfRequest()
		request.Scenarios, request.QueueMode = []*stowagev1.Scenario{scenario}, mode
		request.Context.Profile, request.TieBreak, request.TieBreakSeed = q.Profile(), q.TieBreak, q.Seed
		return q.WhatIf(ctx, request, func(response *stowagev1.WhatIfResponse) { out.Answer = response })
	})
}

// complete fills the document.
func (a *Answer) complete(was, is *whatif.State) error {
	e, err := answer.NewEffect(is.Snapshot.Cluster)
	if err != nil {
		return err
	}
	if err := e.Was(was.Snapshot.Cluster); err != nil {
		return err
	}
	e.States(answer.Removed, is.Disruption.Lost...)
	e.Disrupt(is.Snapshot, is.Disruption, is.Answer)
	a.Document = answer.NewDocument(Kind, verdict(a.Comparison), is.Snapshot.Cluster, "", e)
	return nil
}

// scaleDowns are the commands that choose the pods to delete of workloads with fewer replicas.
func (o *Options) scaleDowns(of *whatif.Comparison) []string {
	var commands []string
	for _, to := range o.Scaled {
		if of.Leaves(whatif.Object(to.Origin)) {
			commands = append(commands, quote.Command("stowage scale-down", nil,
				append(slices.Clone(o.Source), "--workload="+to.Argument(), fmt.Sprintf("--replicas=%d", to.Replicas))...))
		}
	}
	return commands
}

// disruption returns what happens to nodes and pods, and describes it.
func (o *Options) disruption(snapshot *kube.Snapshot) (*kube.Disruption, []string, error) {
	d, lines := &kube.Disruption{}, []string(nil)
	for _, of := range []struct {
		flag, word string
		names      []string
		into       *[]string
	}{{"--without-node", "without", o.Lost, &d.Lost}, {"--cordon", "cordon", o.Cordoned, &d.Cordoned}} {
		nodes, err := snapshot.Candidates(of.names)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", of.flag, err)
		}
		for _, name := range nodes.GetNames() {
			*of.into = append(*of.into, name)
			lines = append(lines, of.word+" node "+name)
		}
	}
	for _, text := range o.Evicted {
		t, err := target.Parse(text, o.Namespace, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("--evict: %w", err)
		}
		p, err := t.Running(snapshot)
		if err != nil {
			return nil, nil, fmt.Errorf("--evict: %w", err)
		}
		if why := kube.StaysGone(p.Pod); why != "" && p.Pod.DeletionTimestamp == nil {
			return nil, nil, fmt.Errorf("--evict: %s: %s, and makes it again there", p.Object, why)
		}
		d.Evicted = append(d.Evicted, p.Object)
		lines = append(lines, "evict "+p.Object.String())
	}
	return d, lines, nil
}
