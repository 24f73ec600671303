// Package fit answers how many more pods fit.
package fit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options are what to count.
type Options struct {
	// Mix is what makes one unit; empty for one pod of the only workload.
	Mix []Part
	// TopologyKey is a node label by whose values units are counted as well; empty for none.
	TopologyKey string
	// MaxUnits ends the count; 0 for the server's limit.
	MaxUnits uint32
	// Changes finds changes with which more pods fit.
	Changes bool
}

// Part is a part of a unit.
type Part struct {
	// Name is a pending pod or a workload, as kube.Snapshot.Counted names it.
	Name string
	// Count is the number of its pods in a unit.
	Count uint32
}

// Kind is the kind of the document.
const Kind = "FitReport"

// fields are the fields of the document.
type fields struct {
	answer.Document
	// Why is what keeps the next pod from the nodes, in a sentence.
	Why string `json:"why,omitempty"`
}

// Answer is the document of kind FitReport. Its JSON has the fields of FitResponse after its own.
type Answer struct {
	fields

	answer.Judgement `json:"-"`
	Options          Options                `json:"-"`
	Cluster          *stowagev1.Cluster     `json:"-"`
	Mix              []*kube.Counted        `json:"-"`
	Response         *stowagev1.FitResponse `json:"-"`
}

// Ask counts. With an error, the answer has the findings alone.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	mix, err := o.mix(q.Snapshot)
	if err != nil {
		return nil, err
	}
	var pods []kube.PodSource
	for _, m := range mix {
		if m.Source != nil {
			pods = append(pods, *m.Source)
		}
	}
	findings, err := q.Review(pods)
	if err != nil {
		return nil, err
	}
	out := &Answer{Options: o}
	out.Findings = findings
	if err := q.Put(func() error { return out.put(ctx, q) }); err != nil {
		return out, err
	}
	out.Cluster = q.Snapshot.Cluster
	for _, d := range out.Response.GetDoubts() {
		q.Doubt(&out.Judgement, out.Mix[d.GetPod().GetQueueIndex()].Name, d)
	}
	q.Judge(&out.Judgement, out.Response.GetUnits() > 0)
	e, err := answer.NewEffect(out.Cluster)
	if err != nil {
		return nil, err
	}
	for i, p := range out.Response.GetPods() {
		_, name, _ := strings.Cut(out.Mix[i].Name, "/")
		for j, node := range p.GetNodes().GetIndexes() {
			e.Add(node, out.Mix[i].Pods.GetPod(), name, int(p.GetCounts()[j]))
		}
	}
	out.Document = answer.NewDocument(Kind, out.verdict(), out.Cluster, o.TopologyKey, e)
	out.Findings, out.Why = findings, out.Words().Why(out.Response.GetExplanation())
	return out, nil
}

// Words describes the response.
func (a *Answer) Words() *words.Explanation {
	return &words.Explanation{Cluster: a.Cluster, Counting: true, PodName: func(p *stowagev1.PodReference) string {
		if of, counted := p.GetOrigin().(*stowagev1.PodReference_QueueIndex); counted {
			_, name, _ := strings.Cut(a.Mix[of.QueueIndex].Name, "/")
			return name
		}
		return words.PodName(a.Cluster, p)
	}}
}

// put sends the request, unless kube-scheduler does not queue a part of the mix.
func (a *Answer) put(ctx context.Context, q *answer.Question) (err error) {
	if a.Mix, err = a.Options.mix(q.Snapshot); err != nil { // the server may have refused a pod
		return err
	}
	if i := slices.IndexFunc(a.Mix, func(m *kube.Counted) bool { return m.Message != "" }); i >= 0 {
		a.Response = notQueued(a.Mix, i)
		return nil
	}
	request := q.Snapshot.FitRequest(a.Mix)
	request.Context.Profile, request.TopologyKey, request.IncludeChanges = q.Profile(), a.Options.TopologyKey, a.Options.Changes
	request.TieBreak, request.TieBreakSeed, request.Explain = q.TieBreak, q.Seed, true
	if a.Options.MaxUnits > 0 {
		request.MaxUnits = &a.Options.MaxUnits
	}
	a.Response, err = q.Client.Fit(ctx, request)
	return answer.Refused(request, err)
}

// mix returns what to count.
func (o *Options) mix(snapshot *kube.Snapshot) ([]*kube.Counted, error) {
	parts := o.Mix
	if len(parts) == 0 {
		parts = []Part{{Count: 1}}
	}
	var out []*kube.Counted
	for _, p := range parts {
		m, err := snapshot.Counted(p.Name, p.Count)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// notQueued returns the response for a mix with an entry that kube-scheduler does not queue.
func notQueued(mix []*kube.Counted, entry int) *stowagev1.FitResponse {
	out := &stowagev1.FitResponse{BindingMixIndex: new(uint32(entry)), Message: mix[entry].Message}
	for i, m := range mix {
		out.Pods = append(out.Pods, &stowagev1.FitPods{Nodes: &stowagev1.NodeList{}})
		out.Doubts = append(out.Doubts, kube.UnreadDoubts(m.Pods.GetPod().GetUnread(), uint32(i))...)
	}
	return out
}

// Fields are the document's fields, then the fields of the response.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return a.fields, a.Response, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the nodes that take pods, as kubectl names them.
func (a *Answer) Names() []string {
	var out []string
	for _, p := range a.Response.GetPods() {
		out = append(out, answer.NodeNames(p.GetNodes().GetNames())...)
	}
	return slices.Compact(out)
}

// Next says why the next pod has no node; empty if the count ended before.
func (a *Answer) Next() string {
	if a.Response.GetLimited() {
		return ""
	}
	return fmt.Sprintf("The next pod of %s has no node: %s", a.Mix[a.Response.GetBindingMixIndex()].Name, a.Response.GetMessage())
}

// Changes lists changes, each with the number of units that fit with it.
func (a *Answer) Changes() []string {
	x := a.Words()
	var out []string
	for _, c := range a.Response.GetChanges() {
		out = append(out, fmt.Sprintf("%d: %s", c.GetUnits(), x.Change(c.GetChange())))
	}
	return out
}

// Domains are, by domain of the topology key, its pods for each part of the mix, and the units that fit in the domain alone.
func (a *Answer) Domains() [][]string {
	var rows [][]string
	for _, d := range a.Response.GetDomains() {
		row := []string{d.GetValue()}
		for _, n := range d.GetPlacedCounts() {
			row = append(row, fmt.Sprint(n))
		}
		rows = append(rows, append(row, fmt.Sprint(d.GetUnitsAlone())))
	}
	return rows
}

// Parts name the parts of the mix above their numbers of pods; pods is the name of an only part.
func (a *Answer) Parts(pods string) []string {
	if len(a.Mix) == 1 {
		return []string{pods}
	}
	var out []string
	for _, m := range a.Mix {
		out = append(out, m.Name)
	}
	return out
}

// verdict reports how many units fit.
func (a *Answer) verdict() string {
	atLeast, pods, nodes := "", uint64(0), map[uint32]bool{}
	if a.Response.GetLimited() {
		atLeast = "At least "
	}
	for _, p := range a.Response.GetPods() {
		for i, n := range p.GetNodes().GetIndexes() {
			pods += uint64(p.GetCounts()[i])
			nodes[n] = true
		}
	}
	on := ""
	if len(nodes) > 0 {
		on = ", on " + words.Plural(len(nodes), "node")
	}
	if len(a.Mix) == 1 && a.Mix[0].Pods.GetCount() == 1 {
		return fmt.Sprintf("%s%d more of %s fit%s", atLeast, a.Response.GetUnits(), a.Mix[0].Name, on)
	}
	var unit []string
	for _, m := range a.Mix {
		unit = append(unit, fmt.Sprintf("%d of %s", m.Pods.GetCount(), m.Name))
	}
	return fmt.Sprintf("%s%d times %s fit: %s%s", atLeast, a.Response.GetUnits(), strings.Join(unit, " and "), words.Plural(pods, "pod"), on)
}
