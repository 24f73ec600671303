package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/report"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/review"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type explainCommand struct {
	onePod
	Fix     bool     `help:"Print how to make the first change that would place the pod of --pod: kubectl's commands, and the patch that the last one reads."`
	Targets []string `arg:"" optional:"" name:"target" help:"What to explain: KIND/NAME or NAMESPACE/KIND/NAME, such as pod/web-1, deploy/web or shop/sts/db; of a workload a pending pod. Of a pod on a node, or of a workload without pending pods, whether it could move. Several are explained one after another."`
}

// explainAnswer is the answer about targets in JSON and YAML.
type explainAnswer struct {
	Targets []explained `json:"targets"`
	// Findings are placement rules that have no effect or look like mistakes.
	Findings []review.Finding `json:"findings"`
}

// explained is the answer about one target.
type explained struct {
	// Target is the argument.
	Target    string `json:"target"`
	Namespace string `json:"namespace"`
	// Pod is the pod that is explained. Pods whose names are random have the name of the object that creates them.
	Pod string `json:"pod"`
	// Alike is the number of pending pods of the target.
	Alike int `json:"alike"`
	// Node is the node that the pod is on, which counts as without it; empty for a pending pod.
	Node string `json:"node,omitempty"`
	// Feasible says that the pod has a feasible node, or of a pod on a node another one than its own.
	Feasible bool `json:"feasible"`
	// Answer is the FilterResponse.
	Answer json.RawMessage `json:"answer"`
}

// Run is called by kong.
func (c *explainCommand) Run(s *session, code *answered) error {
	switch {
	case c.Fix && c.Output != table && c.Output != wide:
		return fmt.Errorf("--output=%s: --fix prints commands and a patch", c.Output)
	case len(c.Targets) == 0 && c.Fix:
		return c.fix(s, code)
	case len(c.Targets) == 0:
		return c.filter(s, code, true)
	case c.Fix:
		return errors.New("--fix is for --pod, not for targets")
	case c.Pod != "":
		return errors.New("--pod and targets exclude each other")
	}
	if c.drawn() && len(c.Targets) > 1 {
		return fmt.Errorf("--output=%s: several targets have none", c.Output)
	}
	out := explainAnswer{Targets: []explained{}}
	var codes []answered
	done := 0
	err := c.question.ask(s, func(a *asked) error {
		all, err := c.found(a.snapshot)
		if err != nil {
			return err
		}
		var pods []kube.Stated
		for _, t := range all {
			if t.pending == nil {
				if c.drawn() {
					return fmt.Errorf("--output=%s: %s is on a node, and its answer has none", c.Output, t.text)
				}
				continue
			}
			if by, ok := a.snapshot.StatedBy(*t.pending); ok {
				by.Count = t.alike
				pods = append(pods, by)
			}
		}
		return c.review(a, pods, c.tellsFindings())
	}, func(a *asked) (proto.Message, error) {
		all, err := c.found(a.snapshot)
		if err != nil {
			return nil, err
		}
		for done < len(all) { // the answers so far hold if an object is refused later
			if done > 0 && c.Output == table {
				fmt.Fprintln(s.stdout)
			}
			one, verdict, request, err := c.explain(a, all[done])
			if err != nil {
				return request, err
			}
			out.Targets, codes = append(out.Targets, one), append(codes, verdict)
			done++
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	*code = worst(codes)
	if c.Output != table && !c.drawn() {
		out.Findings = c.findings
		return c.printValue(s.stdout, out)
	}
	return nil
}

// worst returns the exit status of several answers: no if one is, else unsure if one is.
func worst(codes []answered) answered {
	for _, code := range []answered{exitNo, exitUnsure} {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return exitYes
}

// chosen is a pod that a target chooses: a pending one, or one on a node.
type chosen struct {
	*target
	pending *kube.Entry
	alike   int // pending pods of the target
	on      kube.OnNode
}

// found returns the pods that the targets choose.
func (c *explainCommand) found(snapshot *kube.Snapshot) ([]*chosen, error) {
	var out []*chosen
	var errs []error
	for _, text := range c.Targets {
		t, err := parseTarget(text, c.Namespace)
		if err == nil {
			var one *chosen
			if one, err = t.choose(snapshot); err == nil {
				out = append(out, one)
			}
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// choose returns the first pending pod of a target, or else its first pod on a node.
func (t *target) choose(snapshot *kube.Snapshot) (*chosen, error) {
	out := &chosen{target: t}
	var namespaces []string
	within := func(namespace string) {
		if !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	for _, e := range slices.Concat(snapshot.Queue, snapshot.Waiting, snapshot.Others) {
		if !e.Of(t.is) {
			continue
		}
		within(e.Origin.Namespace)
		if out.alike += int(e.Pods.PodCount()); out.pending == nil {
			out.pending = &e
		}
	}
	placed := 0
	for p := range snapshot.OnNodes() {
		if !slices.ContainsFunc(snapshot.Owners(p.Pod), t.is) {
			continue
		}
		within(p.Object.Namespace)
		if placed++; placed == 1 {
			out.on = p
		}
	}
	switch {
	case len(namespaces) > 1:
		return nil, fmt.Errorf("%q is in several namespaces, name one of %s", t.text, report.Names(namespaces))
	case out.alike+placed == 0 && t.Kind == "Pod":
		return nil, fmt.Errorf("there is no pod %q", t.text)
	case out.alike+placed == 0:
		return nil, fmt.Errorf("there is no pod of %q", t.text)
	case out.pending != nil && out.pending.Misread != nil:
		return nil, out.pending.Misread
	}
	return out, nil
}

// explain answers one target and, in a table, prints the answer. request is that of an error.
func (c *explainCommand) explain(a *asked, t *chosen) (one explained, code answered, request proto.Message, err error) {
	one = explained{Target: t.text, Alike: t.alike}
	var answer *stowagev1.FilterResponse
	if t.pending == nil {
		one.Namespace, one.Pod = t.on.Object.Namespace, t.on.Object.Name
		one.Node = a.snapshot.Cluster.Nodes[t.on.Node].GetName()
		answer, request, err = c.moving(a, t)
	} else {
		one.Namespace, one.Pod = t.pending.Origin.Namespace, t.pending.Origin.Name
		answer, request, err = c.waiting(a, t)
	}
	if err != nil {
		return one, exitError, request, err
	}
	for _, name := range answer.GetFeasibleNodes().GetNames() {
		one.Feasible = one.Feasible || name != one.Node
	}
	one.Feasible = one.Feasible && (one.Node != "" || answer.GetMessage() == "")
	if one.Answer, err = result.Message(answer); err != nil {
		return one, exitError, nil, err
	}
	return one, c.verdict(a.session, a.snapshot, one.Feasible, answer.GetUnread()), nil, nil
}

// waiting explains a pending pod.
func (c *explainCommand) waiting(a *asked, t *chosen) (*stowagev1.FilterResponse, proto.Message, error) {
	pod := t.pending.Pods.GetPod()
	heading := t.pending.Origin.Namespace + "/" + t.pending.Origin.Name
	if t.alike > 1 {
		heading += fmt.Sprintf(", the first of %d pending pods of %s", t.alike, t.text)
	}
	if c.Output == table {
		fmt.Fprintf(a.stdout, "%s:\n", heading)
	}
	x := c.explanation(a, a.snapshot.Cluster, pod.GetNominatedNodeName())
	if t.pending.Message != "" {
		answer := &stowagev1.FilterResponse{Message: t.pending.Message, Unread: pod.GetUnread()}
		if c.Output == table {
			fmt.Fprintln(a.stdout, a.ink.Verdict(false, answer.Message))
			report.Unread(a.stdout, answer.Unread, a.width)
		}
		return answer, nil, c.printOne(a, x, t.pending.Origin, answer)
	}
	request := &stowagev1.FilterRequest{
		Context: a.about(a.snapshot.Cluster), Pod: pod, Explain: true, IncludeChanges: true,
		IncludePreemption: !a.scheduler.NoPreemption,
	}
	answer, err := a.Filter(a.ctx, request)
	if err != nil {
		return nil, request, err
	}
	if c.Output == table {
		x.Write(a.stdout, answer)
		report.Unread(a.stdout, answer.Unread, a.width)
	}
	return answer, request, c.printOne(a, x, t.pending.Origin, answer)
}

// printOne prints the answer about the only target as a name, a page or a picture.
func (c *explainCommand) printOne(a *asked, x *report.Explain, pod kube.Origin, answer *stowagev1.FilterResponse) error {
	if c.drawn() {
		return c.printExplained(a, x, pod, answer)
	}
	return nil
}

// moving explains whether a pod on a node could move: it is taken off its node, and filtered.
func (c *explainCommand) moving(a *asked, t *chosen) (*stowagev1.FilterResponse, proto.Message, error) {
	pod, err := a.snapshot.Again(t.on)
	if err != nil {
		return nil, nil, err
	}
	cluster := a.snapshot.Without(t.on)
	request := &stowagev1.FilterRequest{Context: a.about(cluster), Pod: pod, Explain: true}
	answer, err := a.Filter(a.ctx, request)
	if err != nil {
		// Of a cluster without the pod, an error would name the pods behind it by other positions.
		whole := &stowagev1.FilterRequest{Context: a.about(a.snapshot.Cluster), Pod: pod}
		if _, again := a.Filter(a.ctx, whole); again != nil {
			return nil, whole, again
		}
		return nil, request, err
	}
	here := a.snapshot.Cluster.Nodes[t.on.Node].GetName()
	others := &stowagev1.CandidateNodes{}
	for _, n := range a.snapshot.Cluster.Nodes {
		if n.GetName() != here {
			others.Names = append(others.Names, n.GetName())
		}
	}
	feasible := answer.GetFeasibleNodes().GetNames()
	if elsewhere := len(feasible) > 1 || len(feasible) == 1 && feasible[0] != here; !elsewhere && len(others.Names) > 0 {
		changes, err := a.Filter(a.ctx, &stowagev1.FilterRequest{
			Context: a.about(cluster), Pod: pod, CandidateNodes: others, IncludeChanges: true,
		})
		if err != nil {
			return nil, request, err
		}
		answer.Changes = changes.GetChanges()
	}
	if c.Output == table {
		c.writeMoving(a, t, cluster, answer)
	}
	return answer, request, nil
}

// writeMoving writes whether a pod on a node could move.
func (c *explainCommand) writeMoving(a *asked, t *chosen, cluster *stowagev1.Cluster, answer *stowagev1.FilterResponse) {
	pod, node := t.on.Object, cluster.Nodes[t.on.Node].GetName()
	m := report.Moving{Namespace: pod.Namespace, Pod: pod.Name, Node: node, Width: a.width}
	if t.Kind != "Pod" {
		m.Of = t.text
	}
	m.Write(a.stdout, answer)
	x := c.explanation(a, cluster, "")
	x.WriteWhy(a.stdout, "", answer.GetExplanation())
	if len(answer.GetChanges()) > 0 {
		fmt.Fprintln(a.stdout)
		x.WriteChanges(a.stdout, "", 1, answer.GetChanges(), nil)
	}
	x.WriteChecks(a.stdout, answer)
	report.Unread(a.stdout, answer.GetUnread(), a.width)
}
