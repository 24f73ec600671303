package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/filter"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Kind is the kind of the document.
const Kind = "ExplainReport"

// Report is the document of kind ExplainReport: the answer about one pending pod, with every node. Its JSON has the fields of
// FilterResponse after its own.
type Report struct {
	answer.Header
	// Pod is the pod, by its origin: a pod of the manifests, or the object that creates it.
	Pod answer.Object `json:"pod"`
	// Why and Preemption are sentences: what keeps the pod from the nodes, and which pods kube-scheduler would evict for it.
	Why        string `json:"why,omitempty"`
	Preemption string `json:"preemptionText,omitempty"`
	// Rollout is the progress of the rollout that creates the pod; absent if none is under way, or the pod has a node.
	Rollout *whatif.Rollout `json:"rollout,omitempty"`
	// Devices are the ClaimDevices of the pod if it is placed now, alone, on its best node; absent if it gets none.
	Devices answer.Protos[*stowagev1.ClaimDevices] `json:"devices,omitempty"`
	// Remedies are, in words, the changes each of which would place it.
	Remedies []string `json:"remedies"`
	// Edits are the changes that Remedies describe, in the same order: one of no kind for a remedy that is not a change of the contract.
	Edits answer.Protos[*stowagev1.Change] `json:"edits"`
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string        `json:"topologyKey,omitempty"`
	Nodes       []answer.Node `json:"nodes"`

	of Pod
}

// Report returns the document about the pod.
func (p *Pod) Report() (*Report, error) {
	key := words.TopologyKey(p.Words.Cluster, nil)
	nodes, err := answer.Nodes(p.Words.Cluster, key)
	if err != nil {
		return nil, err
	}
	verdicts(nodes, p.Response)
	out := &Report{
		Header: answer.NewHeader(Kind, p.Verdict()), Pod: answer.ObjectOf(p.Pending[0].Origin),
		Why: p.Words.Why(p.Response.GetExplanation()), Preemption: p.Words.Preemption(p.Response.GetPreemption()),
		Rollout: p.Words.Rollout, TopologyKey: key, Nodes: nodes, Devices: p.Devices, of: *p,
	}
	out.Findings = p.Findings
	changes, preemption := p.Response.GetChanges(), p.Response.GetPreemption()
	switch {
	case p.After != nil && p.After.First != nil:
		first := p.After.First
		out.Why = p.Words.Why(first.GetExplanation())
		changes, preemption = first.GetChanges(), first.GetPreemption()
	case len(p.Response.GetFeasibleNodes().GetIndexes()) > 0 || p.After.Later() != "":
		changes = nil
	}
	changes = words.Remedies(changes, preemption)
	out.Remedies = p.Words.Remedies(changes)
	out.Edits = edits(changes, len(out.Remedies)-len(changes)-len(p.Words.Advice), len(p.Words.Advice))
	return out, nil
}

// edits are the changes with empty ones before and after them.
func edits(changes []*stowagev1.Change, before, after int) []*stowagev1.Change {
	out := make([]*stowagev1.Change, 0, before+len(changes)+after)
	for range before {
		out = append(out, &stowagev1.Change{})
	}
	out = append(out, changes...)
	for range after {
		out = append(out, &stowagev1.Change{})
	}
	return out
}

// Answer returns the answer of which the document is.
func (r *Report) Answer() *Pod { return &r.of }

// Fields are the document's fields, then the fields of FilterResponse.
func (r *Report) Fields() (head, body any, of *answer.Judgement) {
	type report Report
	return (*report)(r), r.of.Response, &r.of.Judgement
}

// MarshalJSON encodes the fields.
func (r *Report) MarshalJSON() ([]byte, error) { return answer.Marshal(r.Fields()) }

// Names are the nodes that can take the pod, as kubectl names them.
func (r *Report) Names() []string {
	return answer.NodeNames(r.of.Response.GetFeasibleNodes().GetNames())
}

// verdicts sets on each node whether it can take the pod, and why not: every failing check where the response has them.
func verdicts(nodes []answer.Node, a *stowagev1.FilterResponse) {
	if len(a.GetFeasibleNodes().GetIndexes())+len(a.GetRejections()) == 0 {
		return // kube-scheduler does not try the pod
	}
	for i := range nodes {
		nodes[i].Feasible = new(bool)
	}
	for _, i := range a.GetFeasibleNodes().GetIndexes() {
		*nodes[i].Feasible = true
	}
	rejections := a.GetExplanation().GetFailingChecks()
	if len(rejections) == 0 {
		rejections = a.GetRejections()
	}
	for _, r := range rejections {
		for _, i := range r.GetNodes().GetIndexes() {
			for _, reason := range r.GetReasons() {
				if text := reason.GetMessage(); !slices.Contains(nodes[i].Reasons, text) {
					nodes[i].Reasons = append(nodes[i].Reasons, text)
				}
			}
		}
	}
}

// Verdict is the verdict after other pending pods if these count, or else now.
func (p *Pod) Verdict() string {
	text := cmp.Or(p.After.String(), p.After.Later(), p.Now())
	if p.Good() && p.After.String() == "" || p.After.Later() != "" {
		text += p.Caveat()
	}
	return text
}

// Now reports which nodes can take the pod before other pending pods, or in kube-scheduler's words why none can.
func (p *Pod) Now() string { return filter.Verdict(p.Response, p.Words.Cluster) }

// ListKind is the kind of the document about several pods.
const ListKind = "ExplainReportList"

// List is the document of kind ExplainReportList: the answers about targets.
type List struct {
	answer.Header
	Targets []Target `json:"targets"`

	of Answer
}

// Target is the answer about one target.
type Target struct {
	// Target is the argument.
	Target    string `json:"target"`
	Namespace string `json:"namespace"`
	// Pod is the pod that is explained. Pods whose names are random have the name of the object that creates them, or what their
	// names begin with where pending pods of the target have several specs.
	Pod string `json:"pod"`
	// Alike is the number of pending pods of the target with the spec of this one.
	Alike int `json:"alike"`
	// Node is the node that the pod is on, which counts as without it; empty for a pending pod.
	Node string `json:"node,omitempty"`
	// Feasible says that the pod has a feasible node; a pod on a node, another one than its own.
	Feasible bool `json:"feasible"`
	// AfterOthers says that a feasible pending pod has no node once the other pending pods are placed; empty if it has one.
	AfterOthers string `json:"afterOthers,omitempty"`
	// After are the nodes of a pod, or of all of the pods, that has none until others are placed.
	After []string `json:"after,omitempty"`
	// AfterAnswer is the Placement that explains the first pod without a node then, with the changes that would place it.
	AfterAnswer answer.Proto[*stowagev1.Placement] `json:"afterAnswer,omitzero"`
	// Rollout is the progress of the rollout that creates the pod; absent if none is under way, or the pod has a node.
	Rollout *whatif.Rollout `json:"rollout,omitempty"`
	// Whole is what changes do for all of the pods; absent for a single pod, and where others are pending.
	Whole *Whole `json:"whole,omitempty"`
	// Advice are changes of the workload that place the pods; absent if there are none.
	Advice []Advice `json:"advice,omitempty"`
	// Answer is the FilterResponse.
	Answer answer.Proto[*stowagev1.FilterResponse] `json:"answer"`
}

// Whole is what changes do for all pods of a workload.
type Whole struct {
	// Placed is how many of the pods have a node with each of the changes: the changes of AfterAnswer if it is there, else of
	// Answer; 0 where the number is not known.
	Placed []uint32 `json:"placed"`
	// NodeCount is how many nodes like the node of the change addedNode give all of the pods a node; 0 if that is not known.
	NodeCount uint32 `json:"nodeCount"`
	// Joint says that all of the pods have a node if they are placed together.
	Joint bool `json:"joint"`
}

// Advice is a change of a workload.
type Advice struct {
	// Text is the change in words.
	Text string `json:"text"`
	// Commands are kubectl's, in order; the one that applies Patch reads it from its standard input. Empty if no command makes the change.
	Commands []string `json:"commands,omitempty"`
	Patch    string   `json:"patch,omitempty"`
}

// List returns the document about all pods.
func (a *Answer) List() (*List, error) {
	good := 0
	out := &List{Targets: []Target{}, of: *a}
	for _, p := range a.Pods {
		if p.Status != answer.No {
			good++
		}
		out.Targets = append(out.Targets, p.target())
	}
	verdict := fmt.Sprintf("%d of %s can be placed or moved", good, words.Plural(len(a.Pods), "pod"))
	out.Header = answer.NewHeader(ListKind, verdict)
	out.Findings = a.Findings
	return out, nil
}

// target returns the answer about the pod in a list.
func (p *Pod) target() Target {
	out := Target{
		Target: p.Text, Namespace: p.PodNamespace(), Pod: p.PodName(), Alike: p.Count(), Node: p.Node(),
		Feasible: p.Feasible(), AfterOthers: p.After.String(), Rollout: p.Words.Rollout,
	}
	for i := range p.Advice {
		one := Advice{Text: p.Advice[i].Text}
		if fix := p.Advice[i].Fix; fix != nil {
			one.Commands, one.Patch = fix.Commands, string(fix.Patch)
		}
		out.Advice = append(out.Advice, one)
	}
	out.Answer.Message = p.Response
	changes := p.Response.GetChanges()
	if p.After.Later() != "" {
		out.After = p.After.Nodes
	}
	if out.AfterOthers != "" && p.After.First != nil {
		changes = p.After.First.GetChanges()
		out.AfterAnswer.Message = p.After.First
	}
	if whole := p.Words.Whole; whole != nil {
		out.Whole = &Whole{Placed: []uint32{}, NodeCount: whole.Nodes, Joint: whole.Joint}
		for _, c := range changes {
			out.Whole.Placed = append(out.Whole.Placed, whole.Placed(c))
		}
	}
	return out
}

// Fields are the document's fields, then the notes and doubts about all pods.
func (l *List) Fields() (head, body any, of *answer.Judgement) {
	type list List
	all := &answer.Judgement{Notes: l.of.Notes}
	for _, p := range l.of.Pods {
		all.Notes = append(all.Notes, p.Doubts.Lines()...)
	}
	return (*list)(l), nil, all
}

// MarshalJSON encodes the fields.
func (l *List) MarshalJSON() ([]byte, error) { return answer.Marshal(l.Fields()) }
