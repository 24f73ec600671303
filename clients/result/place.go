package result

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Place is where pods go: the document of kind PlaceReport.
type Place struct {
	placeFields
	answer *stowagev1.PlaceResponse
	words  *text.Place
}

type placeFields struct {
	Header
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string       `json:"topologyKey,omitempty"`
	Pods        []answer.Pod `json:"pods"`
	// Rollouts are those of Deployments that were decided with the pods.
	Rollouts []*whatif.Rollout `json:"rollouts,omitempty"`
	// Leavers are pods that leave their nodes, as their workloads are to have fewer replicas.
	Leavers   []Leaver      `json:"leavers,omitempty"`
	Workloads []Workload    `json:"workloads"`
	Nodes     []answer.Node `json:"nodes"`
}

// Workload is what happens to the pods of one object, or to those that one controller made.
type Workload struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	// Pods is their number; Placed and Evicted are those that have a node, and those that another pod preempted.
	Pods    int `json:"pods"`
	Placed  int `json:"placed"`
	Evicted int `json:"evicted"`
	// Nodes are the nodes that they are placed on, each once.
	Nodes []answer.NodeCount `json:"nodes"`
	// Unplaced are its pods without a node, by reason, but for those of pod groups that are kept from nodes as a whole.
	Unplaced []Unplaced `json:"unplaced"`
}

// Unplaced is pods of a workload that have no node for one reason.
type Unplaced struct {
	Pods int `json:"pods"`
	// Reason is kube-scheduler's event for them. Why, Preemption and Changes say in words what keeps the first of them from the
	// nodes, whom kube-scheduler would evict for it, and what would place it.
	Reason     string   `json:"reason"`
	Why        string   `json:"why,omitempty"`
	Preemption string   `json:"preemption,omitempty"`
	Changes    []string `json:"changes,omitempty"`
}

// Leaver is a pod that leaves its node.
type Leaver struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Node      string `json:"node"`
}

func leavers(s *kube.Snapshot) []Leaver {
	var out []Leaver
	for _, l := range s.Leavers {
		out = append(out, Leaver{l.Workload.Namespace, l.Pod, l.Node})
	}
	return out
}

// NewPlace returns the document of an answer. p has its snapshot, topology key and rollouts.
func NewPlace(p *text.Place, a *stowagev1.PlaceResponse) (*Place, error) {
	before, after, err := p.Fill(a)
	if err != nil {
		return nil, err
	}
	out := &Place{answer: a, words: p, placeFields: placeFields{
		Header: NewHeader("PlaceReport", p.Headline(a)), Leavers: leavers(p.Snapshot), TopologyKey: p.TopologyKey,
		Pods: answer.NewPlacements(p.Snapshot).Answer(a), Rollouts: p.Rollouts, Workloads: []Workload{}, Nodes: answer.NodesOf(p.Snapshot.Cluster, p.TopologyKey, before, after),
	}}
	for _, l := range p.Workloads(a, nil) {
		out.Workloads = append(out.Workloads, workload(p, l))
	}
	return out, nil
}

func workload(p *text.Place, l *text.Workload) Workload {
	out := Workload{
		Namespace: l.Origin.Namespace, Name: l.Origin.Name, Kind: l.Origin.Kind, Nodes: []answer.NodeCount{}, Unplaced: []Unplaced{},
		Pods: len(l.Nodes) + int(l.Unplaced+l.Evicted), Placed: len(l.Nodes), Evicted: int(l.Evicted),
	}
	index := map[string]int{}
	for _, n := range l.Nodes {
		i, ok := index[n]
		if !ok {
			i = len(out.Nodes)
			index[n], out.Nodes = i, append(out.Nodes, answer.NodeCount{Name: n})
		}
		out.Nodes[i].Pods++
	}
	x := p.Explanation()
	for _, r := range l.Reasons {
		u := Unplaced{
			Pods: int(r.Pods), Reason: r.First.GetMessage(), Why: x.Why(r.First.GetExplanation()),
			Preemption: x.Preemption(r.First.GetPreemption()),
		}
		for _, c := range words.Remedies(r.First.GetChanges(), r.First.GetPreemption()) {
			u.Changes = append(u.Changes, x.Change(c))
		}
		out.Unplaced = append(out.Unplaced, u)
	}
	return out
}

// MarshalJSON has the document's fields, then those of PlaceResponse.
func (p *Place) MarshalJSON() ([]byte, error) { return With(p.placeFields, p.answer) }

// Names are the pods: each by its name, those whose names are random by the object that creates them, once.
func (p *Place) Names() []string {
	var out []string
	seen := map[string]bool{}
	for _, pod := range p.Pods {
		name := "pod/" + pod.Name
		if pod.Kind != "Pod" && pod.Kind != "StatefulSet" {
			name = strings.ToLower(pod.Kind) + "/" + pod.Name
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

// Page is the answer for a browser.
func (p *Place) Page() *html.Page {
	out := &html.Page{
		Title: "Where pods go", Verdict: p.Verdict, Good: p.good(), Warn: p.words.Caveat != "",
		Picture: html.PictureOf(p.TopologyKey, p.Nodes, p.words.Picture(p.answer), nil),
	}
	pods := html.Section{Title: "Pods", Columns: []string{"Pods", "Kind", "Placed", "Nodes"}}
	for _, w := range p.Workloads {
		pods.Rows = append(pods.Rows, []string{
			w.Namespace + "/" + w.Name, w.Kind, fmt.Sprintf("%d/%d", w.Placed, w.Pods), words.Names(w.nodes()),
		})
	}
	out.Sections = append(out.Sections, pods)
	out.Sections = append(out.Sections, p.without()...)
	out.Picture.Pending = p.pending()
	if lines := p.words.Evictions(p.answer.GetEvictions()); len(lines) > 0 {
		out.Sections = append(out.Sections, html.Section{Title: "Evictions", List: lines})
	}
	if text := p.words.Groups(p.answer.GetPodGroups()); text != "" {
		out.Sections = append(out.Sections, html.Section{Title: "Pod groups", Plain: text})
	}
	if len(p.Rollouts) > 0 {
		var plain strings.Builder
		text.Rollouts(&plain, p.Rollouts, p.words.Width)
		out.Sections = append(out.Sections, html.Section{Title: "Rollouts", Plain: strings.TrimSpace(plain.String())})
	}
	out.Sections = append(out.Sections, html.NodeTable(cmp.Or(p.TopologyKey, "Domain"), p.Nodes))
	return out
}

// without are sections about the pods without a node, one for workloads with the same reason.
func (p *Place) without() []html.Section {
	var out []html.Section
	var names [][]string
	var pods []int
	index := map[string]int{}
	for _, w := range p.Workloads {
		for _, u := range w.Unplaced {
			s := u.section()
			key := fmt.Sprintf("%q %q", s.Text, s.List)
			i, seen := index[key]
			if !seen {
				i = len(out)
				index[key] = i
				out, names, pods = append(out, s), append(names, nil), append(pods, 0)
			}
			names[i], pods[i] = append(names[i], w.Namespace+"/"+w.Name), pods[i]+u.Pods
		}
	}
	for i := range out {
		out[i].Title = words.WithoutNode(names[i], pods[i])
	}
	return out
}

// pending names the pods without a node below the picture.
func (p *Place) pending() string {
	var names []string
	pods := 0
	for _, w := range p.Workloads {
		if left := w.Pods - w.Placed; left > 0 {
			names, pods = append(names, w.Namespace+"/"+w.Name), pods+left
		}
	}
	if pods == 0 {
		return ""
	}
	return words.Plural(pods, "pod") + " without a node: " + words.Names(names)
}

func (u *Unplaced) section() html.Section {
	out := html.Section{Text: []string{u.Reason}, List: u.Changes}
	for _, text := range []string{u.Preemption, u.Why} {
		if text != "" {
			out.Text = append(out.Text, text)
		}
	}
	if len(u.Changes) > 0 {
		out.Text = append(out.Text, "Any one of these would place "+words.OneOf(uint32(u.Pods))+":")
	}
	return out
}

// good reports whether every pod has a node and every rollout completes.
func (p *Place) good() bool {
	return whatif.AllPlaced(p.words.Snapshot, p.answer, p.Rollouts) && whatif.Fine(p.Rollouts)
}

func (w *Workload) nodes() []string {
	var out []string
	for _, n := range w.Nodes {
		if n.Pods > 1 {
			n.Name = fmt.Sprintf("%s ×%d", n.Name, n.Pods)
		}
		out = append(out, n.Name)
	}
	return out
}
