// Package fail answers what the failure of nodes leads to: which pods find another node, which replicas are missing, and which
// PodDisruptionBudgets are violated.
package fail

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/suggest"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options are what fails.
type Options struct {
	// Zones are zones, Domains topology domains such as topology.kubernetes.io/region=eu, Nodes names, and NodeSelector a label selector
	// of nodes that fail together.
	Zones, Domains, Nodes []string
	NodeSelector          string
	// Each is a topology key whose domains fail, each alone; empty for one failure.
	Each string
}

// Kind is the kind of the document.
const Kind = "FailReport"

// Answer is the document of kind FailReport.
type Answer struct {
	answer.Document
	Failures []*whatif.Failure `json:"failures"`

	answer.Judgement `json:"-"`
	// Each is the topology key whose domains fail, each alone; empty for one failure.
	Each string `json:"-"`
}

// New returns the answer about failures, without its judgement and its nodes.
func New(o Options, failures []*whatif.Failure) *Answer {
	out := &Answer{Each: o.Each, Failures: failures}
	out.Verdict = out.verdict()
	return out
}

// Ask lets nodes fail, for good, and while the API server still has them.
func Ask(ctx context.Context, q *answer.Question, o Options) (*Answer, error) {
	mode := q.QueueMode()
	var out *Answer
	var failing []*kube.Disruption
	var responses []*stowagev1.WhatIfResponse // of nodes that are gone
	err := q.Put(func() (err error) {
		if failing, err = o.failures(q.Snapshot); err != nil {
			return err
		}
		request, err := scenarios(q, failing)
		if err != nil {
			return err
		}
		request.QueueMode = mode
		out, responses = New(o, nil), nil
		of := whatif.NewFailures(q.Snapshot)
		return q.WhatIf(ctx, request, func(response *stowagev1.WhatIfResponse) {
			q.Doubt(&out.Judgement, "", response)
			i := response.GetScenarioIndex() / 2
			if stay := response.GetScenarioIndex()%2 == 1; stay {
				of.NodesStay(out.Failures[i], response)
				return
			}
			responses = append(responses, response)
			out.Failures = append(out.Failures, of.Failure(failing[i], response))
		})
	})
	if err != nil {
		return nil, err
	}
	q.Judge(&out.Judgement, out.survived() == len(out.Failures))
	e, err := answer.NewEffect(q.Snapshot.Cluster)
	if err != nil {
		return nil, err
	}
	if len(failing) == 1 { // several failures, each alone, leave the nodes as they are
		e.States(answer.Failed, failing[0].Lost...)
		e.Disrupt(q.Snapshot, failing[0], responses[0])
	}
	out.Document = answer.NewDocument(Kind, out.verdict(), q.Snapshot.Cluster, o.Each, e)
	return out, nil
}

// scenarios returns a request with two scenarios for each failure: with the nodes gone, and while the API server still has them.
func scenarios(q *answer.Question, failing []*kube.Disruption) (*stowagev1.WhatIfRequest, error) {
	request := q.Snapshot.WhatIfRequest()
	request.Context.Profile, request.TieBreak, request.TieBreakSeed = q.Profile(), q.TieBreak, q.Seed
	for _, d := range failing {
		for _, stay := range []bool{false, true} {
			this := *d
			this.NodesStay = stay
			scenario, err := q.Snapshot.Scenario(&this)
			if err != nil {
				return nil, err
			}
			request.Scenarios = append(request.Scenarios, scenario)
		}
	}
	return request, nil
}

// Fields are the document's fields.
func (a *Answer) Fields() (head, body any, of *answer.Judgement) {
	type fields Answer
	return (*fields)(a), nil, &a.Judgement
}

// MarshalJSON encodes the fields.
func (a *Answer) MarshalJSON() ([]byte, error) { return answer.Marshal(a.Fields()) }

// Names are the replacement pods without a node.
func (a *Answer) Names() []string {
	var out []string
	for _, f := range a.Failures {
		for _, p := range f.Pods {
			if p.Node == "" {
				out = append(out, p.Name)
			}
		}
	}
	return answer.PodNames(out)
}

// survived is the number of failures without a loss.
func (a *Answer) survived() int {
	n := 0
	for _, f := range a.Failures {
		if f.Survives {
			n++
		}
	}
	return n
}

// failures returns what fails: one failure, or with Each one for each domain.
func (o *Options) failures(snapshot *kube.Snapshot) ([]*kube.Disruption, error) {
	if o.Each != "" {
		domains := snapshot.Domains(o.Each)
		if len(domains) == 0 {
			return nil, fmt.Errorf("--each: no node has the label %s", o.Each)
		}
		var out []*kube.Disruption
		for _, value := range slices.Sorted(maps.Keys(domains)) {
			out = append(out, &kube.Disruption{Name: value, Lost: domains[value]})
		}
		return out, nil
	}
	var names []string
	fails := map[string]bool{}
	fail := func(name string, nodes []string) {
		names = append(names, name)
		for _, n := range nodes {
			fails[n] = true
		}
	}
	for i, domain := range slices.Concat(o.zones(), o.Domains) {
		nodes, err := inDomain(snapshot, domain)
		if err != nil && i < len(o.Zones) {
			return nil, fmt.Errorf("--zone: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("--topology-key: %w", err)
		}
		fail(domain, nodes)
	}
	if o.NodeSelector != "" {
		selector, err := labels.Parse(o.NodeSelector)
		if err != nil {
			return nil, fmt.Errorf("--node-selector: %w", err)
		}
		nodes := snapshot.NodesWhere(selector)
		if len(nodes) == 0 {
			return nil, fmt.Errorf("--node-selector: no node has the labels %s", o.NodeSelector)
		}
		fail(o.NodeSelector, nodes)
	}
	if len(o.Nodes) > 0 {
		nodes, err := snapshot.Candidates(o.Nodes)
		if err != nil {
			return nil, fmt.Errorf("--node: %w", err)
		}
		fail(words.Names(nodes.GetNames()), nodes.GetNames())
	}
	d := &kube.Disruption{Name: strings.Join(names, ", ")}
	for _, n := range snapshot.Cluster.Nodes {
		if fails[n.GetName()] {
			d.Lost = append(d.Lost, n.GetName())
		}
	}
	return []*kube.Disruption{d}, nil
}

// zones are the topology domains of Zones.
func (o *Options) zones() []string {
	var out []string
	for _, zone := range o.Zones {
		out = append(out, corev1.LabelTopologyZone+"="+zone)
	}
	return out
}

// inDomain returns the nodes of a topology domain, "key=value".
func inDomain(snapshot *kube.Snapshot, domain string) ([]string, error) {
	key, value, ok := strings.Cut(domain, "=")
	if !ok || key == "" {
		return nil, fmt.Errorf("%q is not LABEL=VALUE", domain)
	}
	domains := snapshot.Domains(key)
	switch nodes := domains[value]; {
	case len(nodes) > 0:
		return nodes, nil
	case len(domains) == 0:
		return nil, fmt.Errorf("no node has the label %s", key)
	default:
		known := slices.Sorted(maps.Keys(domains))
		return nil, fmt.Errorf("no node has %s, only %s%s", domain, words.Names(known), suggest.DidYouMean(value, slices.Values(known)))
	}
}
