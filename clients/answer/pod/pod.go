// Package pod is what the answers about one pending pod share.
package pod

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Response is a response about one pod.
type Response interface {
	proto.Message
	GetMessage() string
}

// Answer is the answer about a pending pod: a document whose JSON has the fields of the response after its own.
type Answer[R Response] struct {
	answer.Header
	// Pod is the pod, by its origin: a pod of the manifests, or the object that creates it.
	Pod answer.Object `json:"pod"`

	answer.Judgement `json:"-"`
	// Cluster is the cluster with the nodes of the response.
	Cluster *stowagev1.Cluster `json:"-"`
	// Entry has the pod. Untried says that kube-scheduler does not queue it.
	Entry   kube.Entry `json:"-"`
	Untried bool       `json:"-"`
	// NoPreemption says that the profile has no preemption.
	NoPreemption bool `json:"-"`
	Response     R    `json:"-"`
	nodes        func(R) *stowagev1.NodeList
}

// Fields are the document's fields, then the fields of the response.
func (a *Answer[R]) Fields() (head, body any, of *answer.Judgement) {
	type fields Answer[R]
	return (*fields)(a), a.Response, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer[R]) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the nodes of the response, as kubectl names them.
func (a *Answer[R]) Names() []string { return answer.NodeNames(a.nodes(a.Response).GetNames()) }

// Question is a question about a pending pod.
type Question[R Response] struct {
	// Kind is the kind of the document.
	Kind string
	// Untried returns the response about a pod that kube-scheduler does not queue, and why it does not.
	Untried func(message string, doubts []*stowagev1.Doubt) R
	// Ask sends the request.
	Ask func(*stowagev1.DecisionContext, *stowagev1.Pod) (R, error)
	// Nodes are the nodes of a response that can take the pod.
	Nodes func(R) *stowagev1.NodeList
	// Verdict is the answer in a sentence.
	Verdict func(R, *stowagev1.Cluster) string
}

// Put puts the question about the pod that a name chooses, which may be the name of its workload; empty for the only pending pod.
// With an error, the answer has the findings alone.
func (p Question[R]) Put(q *answer.Question, name string) (*Answer[R], error) {
	of, err := target.Pending(q.Snapshot, name)
	if err != nil {
		return nil, err
	}
	findings, err := Findings(q, of)
	if err != nil {
		return nil, err
	}
	out := &Answer[R]{nodes: p.Nodes}
	out.Findings = findings
	err = q.Put(func() error {
		of, err := target.Pending(q.Snapshot, name) // the server may have refused it
		if err != nil {
			return err
		}
		out.Entry = of.Pending[0]
		pod := out.Entry.Pods.GetPod()
		if out.Untried = out.Entry.Message != ""; out.Untried {
			out.Response = p.Untried(out.Entry.Message, kube.UnreadDoubts(pod.GetUnread(), 0))
			return nil
		}
		if out.Response, err = p.Ask(q.Context(q.Snapshot.Cluster), pod); err == nil {
			q.NoteOthers(answer.OtherPods(q.Snapshot, out.Entry))
		}
		return err
	})
	if err != nil {
		return out, err
	}
	out.NoPreemption = q.NoPreemption()
	out.Cluster, out.Pod = q.Snapshot.Cluster, answer.ObjectOf(out.Entry.Origin)
	out.APIVersion, out.Kind, out.Verdict = answer.APIVersion, p.Kind, p.Verdict(out.Response, out.Cluster)
	q.Doubt(&out.Judgement, out.Entry.Origin.String(), out.Response)
	q.Judge(&out.Judgement, len(p.Nodes(out.Response).GetIndexes()) > 0 && out.Response.GetMessage() == "")
	return out, nil
}

// Findings returns the findings about the rules of pending pods, and notes which of several equal pods the answer is about.
func Findings(q *answer.Question, of *target.Chosen) ([]review.Finding, error) {
	first := of.Pending[0]
	if len(of.Pending) > 1 {
		q.Notef("the first of %d pods of %s: %s", of.Count(), cmp.Or(of.Text, first.Workload.String()), first.Pods.Pod.Name)
	}
	var pods []kube.PodSource
	if by, ok := q.Snapshot.SourceOf(first); ok {
		by.Count = of.Count()
		pods = append(pods, by)
	}
	return q.Review(pods)
}
