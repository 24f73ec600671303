package place

import (
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// fields are the fields of the document.
type fields struct {
	answer.Header
	// TopologyKey is the node label by which nodes are grouped, empty for none.
	TopologyKey string       `json:"topologyKey,omitempty"`
	Pods        []answer.Pod `json:"pods"`
	// Rollouts are the rollouts that were decided with the pods.
	Rollouts []*whatif.Rollout `json:"rollouts,omitempty"`
	// Leavers are pods that leave their nodes, as their workloads are to have fewer replicas.
	Leavers   []Leaver      `json:"leavers,omitempty"`
	Workloads []Workload    `json:"workloads"`
	Nodes     []answer.Node `json:"nodes"`
}

// Workload is what happens to the pods of one object, or to the pods that one controller made.
type Workload struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	// Pods is their number; Placed have a node, and Evicted were preempted by another pod.
	Pods    int `json:"pods"`
	Placed  int `json:"placed"`
	Evicted int `json:"evicted"`
	// Nodes are the nodes that they are placed on, each once.
	Nodes []answer.NodeCount `json:"nodes"`
	// Unplaced are its pods without a node, by reason, but for pods of pod groups that are kept from nodes as a whole.
	Unplaced []Unplaced `json:"unplaced"`
}

// Unplaced is pods of a workload that have no node for one reason.
type Unplaced struct {
	Pods int `json:"pods"`
	// Reason is kube-scheduler's event for them. Why, Preemption and Changes are sentences: what keeps the first of them from the nodes,
	// which pods kube-scheduler would evict for it, and what would place it.
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

// Document fills the fields of the document.
func (a *Answer) Document() error {
	before, after, err := a.Fill()
	if err != nil {
		return err
	}
	a.APIVersion, a.Kind = answer.APIVersion, Kind
	a.Leavers, a.Pods = leavers(a.Snapshot), answer.NewPlacements(a.Snapshot).Answer(a.Response)
	a.Nodes = answer.NodesOf(a.Snapshot.Cluster, a.TopologyKey, before, after)
	a.Summarize()
	return nil
}

// Summarize sets the workloads.
func (a *Answer) Summarize() {
	a.Workloads = []Workload{}
	for _, g := range a.Grouped(a.Response, nil) {
		a.Workloads = append(a.Workloads, a.workload(g))
	}
}

func (a *Answer) workload(g *Group) Workload {
	out := Workload{
		Namespace: g.Origin.Namespace, Name: g.Origin.Name, Kind: g.Origin.Kind, Nodes: []answer.NodeCount{}, Unplaced: []Unplaced{},
		Pods: len(g.Nodes) + int(g.Unplaced+g.Evicted), Placed: len(g.Nodes), Evicted: int(g.Evicted),
	}
	index := map[string]int{}
	for _, n := range g.Nodes {
		i, ok := index[n]
		if !ok {
			i = len(out.Nodes)
			index[n], out.Nodes = i, append(out.Nodes, answer.NodeCount{Name: n})
		}
		out.Nodes[i].Pods++
	}
	x := a.Words()
	for _, r := range g.Reasons {
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

// Fields are the document's fields, then the fields of PlaceResponse.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	return &a.fields, a.Response, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the pods: each by its name; pods whose names are random by the object that creates them, once.
func (a *Answer) Names() []string {
	var out []string
	seen := map[string]bool{}
	for _, pod := range a.Pods {
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

// Part is a document about a part of an answer, as it arrives. It has no header.
type Part struct {
	// Pods are the pods of the part.
	Pods []answer.Pod `json:"pods"`

	Response *stowagev1.PlaceStreamResponse `json:"-"`
}

// Fields are the document's fields, then the fields of PlaceStreamResponse.
func (p *Part) Fields() (head, body any, of *answer.Judgement) {
	type part Part
	return (*part)(p), p.Response, &answer.Judgement{}
}

// MarshalJSON encodes the fields.
func (p *Part) MarshalJSON() ([]byte, error) { return answer.Marshal(p.Fields()) }
