// Package provision answers which nodes to add for pending pods.
package provision

import (
	"context"
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options limit the search. The templates of new nodes are the templates of the snapshot.
type Options struct {
	// CountTemplateDomains spreads pods over the topology domains of all templates, also of templates without a new node.
	CountTemplateDomains bool
	// MaxNodes and MaxSteps are limits of the contract; nil for its defaults.
	MaxNodes, MaxSteps *uint32
}

// Kind is the kind of the document.
const Kind = "ProvisionReport"

// Answer is the document of kind ProvisionReport. Its JSON has the fields of ProvisionResponse after its own.
type Answer struct {
	answer.Document

	answer.Judgement `json:"-"`
	Options          Options                      `json:"-"`
	Snapshot         *kube.Snapshot               `json:"-"`
	Response         *stowagev1.ProvisionResponse `json:"-"`
	// Place is where the pods go with the new nodes.
	Place *place.Answer `json:"-"`
}

// Ask looks for nodes to add.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	out := &Answer{Options: o, Snapshot: q.Snapshot}
	err := q.Put(func() (err error) {
		request := q.Snapshot.ProvisionRequest()
		request.Context.Profile, request.TieBreakSeed, request.MaxNodes, request.MaxSteps = q.Profile(), q.Seed, o.MaxNodes, o.MaxSteps
		request.QueueMode, request.CountTemplateDomains = q.QueueMode(), o.CountTemplateDomains
		out.Response, err = q.Client.Provision(ctx, request)
		return answer.Refused(request, err)
	})
	if err != nil {
		return nil, err
	}
	placed := out.Response.Place
	q.Snapshot.Complete(placed)
	q.Doubt(&out.Judgement, "", out.Response)
	q.Judge(&out.Judgement, placed.UnplacedCount == 0)
	if len(q.NothingToPlace()) > 0 {
		out.Status = answer.Unsure
	}
	out.Place = place.New(q.Snapshot, "", placed)
	e, err := answer.NewEffectWith(q.Snapshot.Cluster, q.Snapshot.NodeTemplates, out.Response.NodeNames)
	if err != nil {
		return nil, err
	}
	e.Place(q.Snapshot, placed.Placements, placed.Evictions)
	out.Document = answer.NewDocument(Kind, verdict(out.Response), q.Snapshot.Cluster, "", e)
	out.Pods = answer.NewPlacements(q.Snapshot).Answer(placed)
	return out, nil
}

// Fields are the document's fields, then the fields of the response.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return a.Document, a.Response, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the new nodes, as kubectl names them.
func (a *Answer) Names() []string { return answer.NodeNames(a.Response.NodeNames) }

// Templates are the templates with new nodes: the name, the number of nodes, and the price of one.
func (a *Answer) Templates() [][]string {
	var out [][]string
	for t, n := range a.Response.GetCounts() {
		if n > 0 {
			of := a.Snapshot.NodeTemplates[t]
			out = append(out, []string{of.GetNode().GetName(), fmt.Sprint(n), fmt.Sprint(of.GetPrice())})
		}
	}
	return out
}

// Unplaced is pods of a workload that no new nodes place, for the same reasons.
type Unplaced struct {
	of   kube.Origin
	pods uint32
	why  string
	// Templates say what one more node of each template would do.
	Templates []string
}

// Text reports the pods, and why they have no node.
func (u *Unplaced) Text() string {
	return fmt.Sprintf("%s/%s: %s without a node: %s", u.of.Namespace, u.of.Name, words.Plural(u.pods, "pod"), u.why)
}

// Unplaced are the pods without a node.
func (a *Answer) Unplaced() []*Unplaced {
	var out []*Unplaced
	byReason := map[string]*Unplaced{}
	for _, u := range a.Response.GetUnplaced() {
		next := &Unplaced{of: a.Snapshot.Entry(int(u.GetQueueIndex())).Workload, why: "no counts were found that place all pods"}
		if u.GetImpossible() {
			next.why = "no new node places a pod"
		}
		for _, r := range u.GetRefusals() {
			next.Templates = append(next.Templates, a.oneMore(r))
		}
		key := fmt.Sprint(*next)
		if byReason[key] == nil {
			byReason[key] = next
			out = append(out, next)
		}
		byReason[key].pods += a.Response.GetPlace().GetPlacements()[u.GetQueueIndex()].GetUnplacedCount()
	}
	return out
}

// oneMore says what one more node of a template would do.
func (a *Answer) oneMore(r *stowagev1.TemplateRefusal) string {
	of := a.Snapshot.NodeTemplates[r.GetTemplateIndex()]
	text := r.GetMessage()
	switch {
	case text != "":
	case of.MaxCount != nil && a.Response.GetCounts()[r.GetTemplateIndex()] >= of.GetMaxCount():
		text = fmt.Sprintf("takes a pod, but its maximum is %d", of.GetMaxCount())
	default:
		text = "takes a pod"
	}
	return fmt.Sprintf("one more %s: %s", of.GetNode().GetName(), text)
}

func verdict(response *stowagev1.ProvisionResponse) string {
	n := len(response.GetNodeNames())
	if n == 0 {
		return "No nodes to add"
	}
	return fmt.Sprintf("%s to add at a cost of %d (%s)", words.Plural(n, "node"), response.GetCost(),
		words.Proof(response.GetOptimal(), response.GetLowerBound()))
}
