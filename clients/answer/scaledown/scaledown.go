// Package scaledown answers which replicas of a workload to delete.
package scaledown

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options choose a workload and its number of replicas.
type Options struct {
	// Workload is a name of kube.Snapshot.Scalable; empty for the only one.
	Workload string
	Replicas uint32
}

// Kind is the kind of the document.
const Kind = "ScaleDownReport"

// Answer is the document of kind ScaleDownReport. Its JSON has the fields of ScaleDownResponse after its own.
type Answer struct {
	answer.Document

	answer.Judgement `json:"-"`
	Cluster          *stowagev1.Cluster           `json:"-"`
	Workload         *kube.Scalable               `json:"-"`
	Response         *stowagev1.ScaleDownResponse `json:"-"`
	// Commands make the workload's controller delete these replicas. Uncontrollable says why no command does; one of them is empty, and both
	// are if there is nothing to delete.
	Commands       []string `json:"-"`
	Uncontrollable string   `json:"-"`
}

// New returns the answer of a response, with its verdict alone.
func New(c *stowagev1.Cluster, w *kube.Scalable, response *stowagev1.ScaleDownResponse) *Answer {
	out := &Answer{Cluster: c, Workload: w, Response: response}
	deleted := countOf(response.GetDeletions())
	replicas := deleted + countOf(response.GetRemaining())
	out.Verdict = fmt.Sprintf("%s/%s: %s, %d to delete", w.Namespace, w.Name, words.Plural(replicas, "replica"), deleted)
	return out
}

// Ask chooses the replicas to delete.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	var out *Answer
	err := q.Put(func() error {
		w, err := q.Snapshot.Scalable(o.Workload)
		if err != nil {
			return err
		}
		request := q.Snapshot.ScaleDownRequest(w, o.Replicas)
		request.Context.Profile = q.Profile()
		response, err := q.Client.ScaleDown(ctx, request)
		if err != nil {
			return answer.Refused(request, err)
		}
		out = New(q.Snapshot.Cluster, w, response)
		return nil
	})
	if err != nil {
		return nil, err
	}
	w := out.Workload
	q.Doubt(&out.Judgement, w.Origin.String(), out.Response)
	if w.Controller != nil {
		where := ", which is not in the manifests"
		if w.Controlled {
			where = ""
		}
		q.Notef("%s is controlled by %s%s: scale %[2]s", w.Origin, w.Controller, where)
	}
	q.Judge(&out.Judgement, true)
	out.command()
	if out.Uncontrollable != "" {
		out.Notes = append(out.Notes, out.Uncontrollable)
	}
	e, err := answer.NewEffect(out.Cluster)
	if err != nil {
		return nil, err
	}
	for _, d := range out.Response.GetDeletions() {
		e.Move(d.GetPod(), nil)
	}
	out.Document = answer.NewDocument(Kind, out.Verdict, out.Cluster, "", e)
	return out, nil
}

// Fields are the document's fields, then the fields of the response.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return a.Document, a.Response, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the pods to delete, as kubectl names them.
func (a *Answer) Names() []string {
	var pods []string
	for _, d := range a.Response.GetDeletions() {
		pods = append(pods, d.GetPod().GetName())
	}
	return answer.PodNames(pods)
}

// maximumDomains is the number of domains of a topology key up to which a spread is listed.
const maximumDomains = 20

// Spreads are the spreads of the replicas over topology domains, without keys of many domains such as hostnames.
func (a *Answer) Spreads() []*stowagev1.ReplicaSpread {
	return slices.DeleteFunc(slices.Clone(a.Response.GetSpread()), func(s *stowagev1.ReplicaSpread) bool {
		return len(s.GetDomains()) > maximumDomains
	})
}

// Deletions are the pods to delete, in order: each with its node, its cost, and why it is deleted.
func (a *Answer) Deletions() [][]string {
	x := &words.Explanation{Cluster: a.Cluster}
	var out [][]string
	for _, d := range a.Response.GetDeletions() {
		why := fmt.Sprintf("score %d", d.GetTotalScore())
		if len(d.GetBrokenRules()) > 0 {
			var rules []string
			for _, r := range d.GetBrokenRules() {
				rules = append(rules, words.BrokenRule(r))
			}
			why = "breaks " + words.Names(rules)
		}
		out = append(out, []string{x.Pod(d.GetPod()), x.Node(d.GetPod().GetNodeIndex()), fmt.Sprint(d.GetDeletionCost()), why})
	}
	return out
}

// command sets the commands. Pods without names cannot be annotated.
func (a *Answer) command() {
	deletions := a.Response.GetDeletions()
	switch {
	case len(deletions) == 0:
		return
	case a.Workload.Kind == "StatefulSet":
		a.Uncontrollable = fmt.Sprintf("No command selects these pods: StatefulSet %s/%s deletes the pods with the highest ordinals, whatever their costs.",
			a.Workload.Namespace, a.Workload.Name)
		if names := highest(a.Response); !slices.Contains(names, "") {
			a.Uncontrollable += fmt.Sprintf(" kubectl scale would delete %s.", words.Names(names))
		}
		return
	}
	for _, d := range deletions {
		if p := d.GetPod(); p.GetName() != "" {
			cost := fmt.Sprintf("controller.kubernetes.io/pod-deletion-cost=%d", d.GetDeletionCost())
			a.Commands = append(a.Commands, quote.Command("kubectl annotate pod", []string{p.GetName(), cost},
				"--namespace="+p.GetNamespace(), "--overwrite"))
		}
	}
	scaled := a.Workload.Origin
	if c := a.Workload.Controller; c != nil {
		scaled = *c
	}
	a.Commands = append(a.Commands, quote.Command("kubectl scale", []string{strings.ToLower(scaled.Kind), scaled.Name},
		"--namespace="+scaled.Namespace, fmt.Sprintf("--replicas=%d", countOf(a.Response.GetRemaining()))))
}

// highest returns the pods with the highest ordinals, as many as a response deletes.
func highest(response *stowagev1.ScaleDownResponse) []string {
	var pods []*corev1.Pod
	for _, p := range slices.Concat(response.GetDeletions(), response.GetRemaining()) {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.GetPod().GetName()}})
	}
	slices.SortFunc(pods, func(x, y *corev1.Pod) int { return cmp.Compare(controller.Ordinal(y), controller.Ordinal(x)) })
	var out []string
	for _, p := range pods[:min(len(pods), countOf(response.GetDeletions()))] {
		out = append(out, p.Name)
	}
	return out
}

func countOf(pods []*stowagev1.ScaledPod) int {
	n := 0
	for _, p := range pods {
		n += int(p.GetPod().GetCount())
	}
	return n
}
