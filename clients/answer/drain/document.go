package drain

import (
	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Kind is the kind of the document.
const Kind = "DrainReport"

// Answer is the document of kind DrainReport. Its moves are the pods that move, where the answer has them.
type Answer struct {
	answer.Document
	// Drains are the results of the contract.
	Drains answer.Protos[*stowagev1.NodeDrain] `json:"drains"`
	// Summary is the summary of the contract; absent if the nodes are not drained one after another.
	Summary answer.Proto[*stowagev1.DrainSummary] `json:"summary,omitzero"`

	answer.Judgement `json:"-"`
	// LargestSet says that the nodes are drained one after another.
	LargestSet bool `json:"-"`
	// Cluster is the cluster with the nodes of the responses.
	Cluster *stowagev1.Cluster `json:"-"`
}

// New returns the answer of responses about a cluster, without its judgement and its nodes.
func New(cluster *stowagev1.Cluster, o Options, parts []*stowagev1.DrainResponse) *Answer {
	out := &Answer{Cluster: cluster, LargestSet: o.LargestSet}
	for _, part := range parts {
		if d := part.GetDrain(); d != nil {
			out.Drains = append(out.Drains, d)
		}
		if s := part.GetSummary(); s != nil {
			out.Summary.Message = s
		}
	}
	out.Verdict = out.verdict()
	return out
}

// complete fills the document of an answer with a judgement.
func (a *Answer) complete() error {
	e, err := answer.NewEffect(a.Cluster)
	if err != nil {
		return err
	}
	all := []answer.Move{}
	for _, d := range a.Drains {
		for _, m := range d.GetMoves() {
			all = append(all, answer.MoveOf(a.Cluster, m))
		}
		if len(a.Drains) == 1 || a.LargestSet { // else each drain is of the cluster as it is
			e.Moves(d)
		}
		drained := d.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED
		e.Drained(drained, d.GetNodes().GetNames()...)
		if !drained {
			e.Reason(words.Result(d), d.GetNodes().GetNames()...)
		}
	}
	a.Document = answer.NewDocument(Kind, a.verdict(), a.Cluster, "", e)
	a.Moves = all
	return nil
}

// Fields are the document's fields.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	type fields Answer
	return (*fields)(a), nil, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the nodes that can be drained.
func (a *Answer) Names() []string {
	var out []string
	for i := range a.Nodes {
		if n := &a.Nodes[i]; n.Drained != nil && *n.Drained {
			out = append(out, n.Name)
		}
	}
	return answer.NodeNames(out)
}

// Truncated reports whether the answer does not list all pods.
func (a *Answer) Truncated() bool {
	for _, d := range a.Drains {
		if d.GetTruncated() {
			return true
		}
	}
	return false
}

// List is lines about pods.
type List struct {
	Title string
	Lines []string
}

// Lists are the pods without a node, the pods that cannot be evicted, and the preempted pods, with reasons. Pods of one controller with
// one reason are a line. A list may be empty.
func (a *Answer) Lists() []List {
	x := &words.Explanation{Cluster: a.Cluster}
	var unplaced, blocked, preempted []words.Together
	for _, d := range a.Drains {
		for _, u := range d.GetUnplaced() {
			unplaced = append(unplaced, words.One(u.GetPod(), ": "+words.WhyUnplaced(u)))
		}
		for _, b := range d.GetBlocked() {
			blocked = append(blocked, words.One(b.GetPod(), ": "+words.WhyBlocked(b)))
		}
		for _, p := range d.GetPreempted() {
			preempted = append(preempted, words.One(p, ", by draining "+words.Names(d.GetNodes().GetNames())))
		}
	}
	return []List{
		{"Without a node", x.Lines(unplaced)}, {"Not evicted", x.Lines(blocked)}, {"Preempted", x.Lines(preempted)},
	}
}
