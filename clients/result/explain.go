package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Explain is what keeps a pod from the nodes: the document of kind ExplainReport.
type Explain struct {
	explainFields
	answer *stowagev1.FilterResponse
	words  *text.Explain
}

type explainFields struct {
	Header
	// Pod is the pod, by its origin: a pod of the manifests, or the object that creates it.
	Pod PodName `json:"pod"`
	// Why and Preemption say in words what keeps the pod from the nodes, and whom kube-scheduler would evict for it.
	Why        string `json:"why,omitempty"`
	Preemption string `json:"preemptionText,omitempty"`
	// Rollout is how the rollout goes on that creates the pod; absent if none is under way, or the pod has a node.
	Rollout *whatif.Rollout `json:"rollout,omitempty"`
	// Remedies are, in words, the changes each of which would place it.
	Remedies []string `json:"remedies"`
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string `json:"topologyKey,omitempty"`
	Nodes       []Node `json:"nodes"`
}

// PodName names a pod.
type PodName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
}

// NewExplain returns the document of an answer about a pod.
func NewExplain(x *text.Explain, pod kube.Origin, key string, a *stowagev1.FilterResponse) (*Explain, error) {
	before, err := fill.Of(x.Cluster)
	if err != nil {
		return nil, err
	}
	out := &Explain{answer: a, words: x, explainFields: explainFields{
		Header: NewHeader("ExplainReport", x.Verdict(a)), Pod: PodName{pod.Namespace, pod.Name, pod.Kind},
		Why: x.Why(a.GetExplanation()), Preemption: x.Preemption(a.GetPreemption()),
		Rollout: x.Rollout, TopologyKey: key, Nodes: nodesOf(x.Cluster, key, before, nil),
	}}
	changes, preemption := a.GetChanges(), a.GetPreemption()
	switch {
	case x.After != nil && x.After.First != nil:
		first := x.After.First
		out.Why = x.Why(first.GetExplanation())
		changes, preemption = first.GetChanges(), first.GetPreemption()
	case len(a.GetFeasibleNodes().GetIndexes()) > 0 || x.After.Later() != "":
		changes = nil
	}
	out.Remedies = x.Remedies(words.Remedies(changes, preemption))
	verdicts(out.Nodes, a)
	return out, nil
}

// verdicts notes on each node whether it can take the pod, and why not: every failing check where the answer has them.
func verdicts(nodes []Node, a *stowagev1.FilterResponse) {
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

// MarshalJSON has the document's fields, then those of FilterResponse.
func (x *Explain) MarshalJSON() ([]byte, error) { return With(x.explainFields, x.answer) }

// Names are the nodes that can take the pod.
func (x *Explain) Names() []string { return Feasible(x.answer.GetFeasibleNodes()) }

// Feasible names nodes as kubectl does.
func Feasible(nodes *stowagev1.NodeList) []string {
	var out []string
	for _, name := range nodes.GetNames() {
		out = append(out, "node/"+name)
	}
	return out
}

// Page is the answer for a browser.
func (x *Explain) Page() *page.Page {
	feasible := x.answer.GetFeasibleNodes().GetNames()
	out := &page.Page{
		Title: "Nodes for " + x.Pod.Namespace + "/" + x.Pod.Name, Verdict: x.Verdict,
		Good:    x.words.Good(x.answer),
		Warn:    x.words.Caveat != "",
		Picture: picture(x.TopologyKey, x.Nodes, &text.Picture{Cluster: x.words.Cluster, TopologyKey: x.TopologyKey}, nil),
	}
	if now := x.words.Now(x.answer); now != x.Verdict {
		out.Notes = append(out.Notes, now)
	}
	for _, text := range []string{x.Why, x.Preemption} {
		if text != "" {
			out.Notes = append(out.Notes, text)
		}
	}
	if len(x.Remedies) > 0 {
		out.Sections = append(out.Sections, page.Section{Title: "Any one of these would place it", List: x.Remedies})
	}
	reasons := page.Section{Title: "Reasons", Columns: []string{"Nodes", "Verdict", "Plugin", "Which"}}
	if len(feasible) > 0 {
		reasons.Rows = append(reasons.Rows, []string{fmt.Sprint(len(feasible)), "can take it", "", words.Names(feasible)})
	}
	for _, r := range x.answer.GetRejections() {
		var texts []string
		for _, reason := range r.GetReasons() {
			texts = append(texts, reason.GetMessage())
		}
		names := r.GetNodes().GetNames()
		reasons.Rows = append(reasons.Rows, []string{
			fmt.Sprint(len(names)), strings.Join(texts, ", "), words.Plugin(r.GetPlugin()), words.Names(names),
		})
	}
	out.Sections = append(out.Sections, reasons)
	if text := x.words.Checks(x.answer); text != "" {
		out.Sections = append(out.Sections, page.Section{Title: "Every failing check", Plain: text, Folded: true})
	}
	out.Sections = append(out.Sections, table(cmp.Or(x.TopologyKey, "Domain"), x.Nodes))
	return out
}
