package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/suggest"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type failCommand struct {
	question
	ties
	queueFlag
	Zone         []string `sep:"," placeholder:"NAME" values:"zone" help:"Zone that fails: nodes with this topology.kubernetes.io/zone. Repeatable."`
	TopologyKey  []string `sep:"none" placeholder:"LABEL=VALUE" help:"Topology domain that fails, such as topology.kubernetes.io/region=eu. Repeatable."`
	Node         []string `sep:"," placeholder:"NAME" values:"node" help:"Node that fails. Repeatable."`
	NodeSelector string   `placeholder:"LABELS" help:"Nodes with these labels fail, such as pool=spot,arch!=arm64."`
	Each         string   `placeholder:"LABEL" values:"topology-key" help:"Let each domain of this topology key fail on its own."`
	Moves        bool     `help:"List every replacement pod, with its new node."`
}

// Validate is called by kong.
func (c *failCommand) Validate() error {
	named := len(c.Zone)+len(c.TopologyKey)+len(c.Node) > 0 || c.NodeSelector != ""
	if named == (c.Each != "") {
		return errors.New("say what fails with --zone, --topology-key, --node or --node-selector, " +
			"or let each domain fail alone with --each")
	}
	return nil
}

// failAnswer is the answer in JSON and YAML.
type failAnswer struct {
	Failures []*whatif.Failure `json:"failures"`

	answers []*stowagev1.WhatIfResponse
}

// effect is what a failure does to the nodes. Several failures, each alone, leave the nodes as they are.
func (f *failAnswer) effect(snapshot *kube.Snapshot, failures []*kube.Disruption) func(*answer.Effect) {
	return func(e *answer.Effect) {
		if len(failures) == 1 {
			e.States(answer.Failed, failures[0].Lost...)
			e.Disrupt(snapshot, failures[0], f.answers[0])
		}
	}
}

// domains are what the failure of each domain leads to, if each fails alone.
func (f *failAnswer) domains(key string) map[string]answer.DomainNote {
	if key == "" {
		return nil
	}
	out := map[string]answer.DomainNote{}
	for _, a := range f.Failures {
		out[a.Name] = answer.DomainNote{Text: "if it fails: " + text.Outcome(a), Good: a.Survives}
	}
	return out
}

// Run is called by kong.
func (c *failCommand) Run(s *session, code *answered) error {
	var mode stowagev1.QueueMode
	return c.ask(s, func(a *asked) error {
		mode = a.queueMode(c.Queue)
		return nil
	}, func(a *asked) (proto.Message, error) {
		failures, err := c.failures(a.snapshot)
		if err != nil {
			return nil, err
		}
		request := a.snapshot.WhatIfRequest()
		request.Context.Profile, request.QueueMode = a.scheduler.Profile, mode
		request.TieBreak, request.TieBreakSeed = c.tieBreak(), c.Seed
		for _, d := range failures {
			for _, stay := range []bool{false, true} {
				this := *d
				this.NodesStay = stay
				scenario, err := a.snapshot.Scenario(&this)
				if err != nil {
					return nil, err
				}
				request.Scenarios = append(request.Scenarios, scenario)
			}
		}
		out := failAnswer{answers: make([]*stowagev1.WhatIfResponse, len(failures))}
		of := whatif.NewFailures(a.snapshot)
		err = whatIf(s.ctx, a, request, func(answer *stowagev1.WhatIfResponse) {
			c.doubt(a.snapshot, "", answer)
			i, stay := answer.GetScenarioIndex()/2, answer.GetScenarioIndex()%2 == 1
			if stay {
				of.NodesStay(out.Failures[i], answer)
				return
			}
			out.answers[i] = answer
			out.Failures = append(out.Failures, of.Failure(failures[i], answer))
		})
		if err != nil {
			return request, err
		}
		return request, c.print(s, a.snapshot, &out, failures, code)
	})
}

// print prints an answer.
func (c *failCommand) print(
	s *session, snapshot *kube.Snapshot, out *failAnswer, failures []*kube.Disruption, code *answered,
) error {
	ok := !slices.ContainsFunc(out.Failures, func(f *whatif.Failure) bool { return !f.Survives })
	*code = c.verdict(s, snapshot, ok)
	r := text.Fail{Key: c.Each, Moves: c.Moves, Verbose: c.Verbose}
	of := result.AnswerOf{
		Kind: "FailReport", Title: "If nodes fail", Verdict: r.Verdict(out.Failures), Good: ok, Value: out, Cluster: snapshot.Cluster,
		Names: podNames(withoutNode(out.Failures)), Effect: out.effect(snapshot, failures), TopologyKey: c.Each,
		Domains: out.domains(c.Each),
	}
	return c.printAnswer(s, of, func(w io.Writer, width int) {
		r.Width = width
		r.Write(w, out.Failures)
	})
}

// withoutNode names the pods that come back and have no node.
func withoutNode(all []*whatif.Failure) []string {
	var out []string
	for _, f := range all {
		for _, p := range f.Pods {
			if p.Node == "" {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// failures returns what fails: one failure, or with --each one for each domain.
func (c *failCommand) failures(snapshot *kube.Snapshot) ([]*kube.Disruption, error) {
	if c.Each != "" {
		domains := snapshot.Domains(c.Each)
		if len(domains) == 0 {
			return nil, fmt.Errorf("--each: no node has the label %s", c.Each)
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
	for i, domain := range slices.Concat(c.zones(), c.TopologyKey) {
		nodes, err := inDomain(snapshot, domain)
		if err != nil && i < len(c.Zone) {
			return nil, fmt.Errorf("--zone: %w", err)
		}
		if err != nil {
			return nil, fmt.Errorf("--topology-key: %w", err)
		}
		fail(domain, nodes)
	}
	if c.NodeSelector != "" {
		selector, err := labels.Parse(c.NodeSelector)
		if err != nil {
			return nil, fmt.Errorf("--node-selector: %w", err)
		}
		nodes := snapshot.NodesWhere(selector)
		if len(nodes) == 0 {
			return nil, fmt.Errorf("--node-selector: no node has the labels %s", c.NodeSelector)
		}
		fail(c.NodeSelector, nodes)
	}
	if len(c.Node) > 0 {
		nodes, err := snapshot.Candidates(c.Node)
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

// zones returns the domains that --zone names.
func (c *failCommand) zones() []string {
	var out []string
	for _, zone := range c.Zone {
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
