package cli

import (
	"errors"
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/explain"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type explainCommand struct {
	onePod
	Fix     bool     `help:"Print the first change that would place the pod and that kubectl can make: its commands, and the patch for the last one."`
	Targets []string `arg:"" optional:"" values:"target" name:"target" help:"What to explain: NAME, KIND/NAME or NAMESPACE/KIND/NAME, such as web, deploy/web or shop/pod/web-1. For a workload: one pending pod of each spec. For a running pod, or a workload without pending pods: whether the pod could move."`
}

// Run is called by kong.
func (c *explainCommand) Run(s *session, code *answered) error {
	switch {
	case c.Fix && c.Output != table && c.Output != wide:
		return fmt.Errorf("--output=%s: --fix prints commands and a patch", c.Output)
	case len(c.Targets) > 0 && c.Pod != "":
		return errors.New("--pod and targets exclude each other")
	}
	q, stop, err := c.open(s, "")
	if err != nil {
		return err
	}
	defer stop()
	o := explain.Options{Targets: c.Targets, Namespace: c.Namespace, Pod: c.Pod}
	if err := c.drawable(q, o); err != nil {
		return err
	}
	a, err := decided(s, &c.question, q, func() (*explain.Answer, error) { return explain.Ask(s.ctx, q, o) })
	if a != nil && (c.Output == table || c.drawn()) {
		c.writeFindings(s, a.Findings)
	}
	if err != nil {
		return err
	}
	*code = exitYes
	for _, p := range a.Pods {
		if after := p.After.String(); after != "" && (c.Output == asName || c.Output == asSVG) {
			quote.Fprintf(s.stderr, "stowage: %s\n", after)
		}
		if exit := c.exit(s, &p.Judgement); exit == exitNo || *code == exitYes {
			*code = exit
		}
	}
	switch {
	case c.Fix:
		return text.Fix(s.stdout, a, c.style(s))
	case c.Output == table:
		text.Explain(s.stdout, a, c.style(s))
		return nil
	case !a.Single && !c.drawn():
		l, err := a.List()
		if err != nil {
			return err
		}
		return c.encode(s.stdout, l)
	}
	r, err := a.Pods[0].Report()
	if err != nil {
		return err
	}
	return c.document(s.stdout, r, func() *html.Page { return html.Explain(r) })
}

// drawable refuses pods of which there is no page, name or patch.
func (c *explainCommand) drawable(q *answer.Question, o explain.Options) error {
	if !c.drawn() && !c.Fix {
		return nil
	}
	all, err := o.Choose(q)
	if err != nil {
		return err
	}
	if c.drawn() && len(all) > 1 {
		return fmt.Errorf("--output=%s: several targets have none, nor have pods with several specs", c.Output)
	}
	for _, t := range all {
		switch {
		case len(t.Pending) > 0:
		case c.Fix:
			return fmt.Errorf("--fix: %s is on a node, and only pending pods have one", t.Text)
		default:
			return fmt.Errorf("--output=%s: %s is on a node, and its answer has none", c.Output, t.Text)
		}
	}
	return nil
}
