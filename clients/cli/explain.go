package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type explainCommand struct {
	onePod
	Fix     bool     `help:"Print the first change that would place the pod and that kubectl can make: its commands, and the patch for the last one."`
	Targets []string `arg:"" optional:"" values:"target" name:"target" help:"What to explain: NAME, KIND/NAME or NAMESPACE/KIND/NAME, such as web, deploy/web or shop/pod/web-1. For a workload: one pending pod of each spec. For a running pod, or a workload without pending pods: whether the pod could move."`
}

// explainAnswer is the answer about targets in JSON and YAML.
type explainAnswer struct {
	result.Header
	Targets []explained `json:"targets"`
}

// explained is the answer about one target.
type explained struct {
	// Target is the argument.
	Target    string `json:"target"`
	Namespace string `json:"namespace"`
	// Pod is the pod that is explained. Pods whose names are random have the name of the object that creates them, or what their
	// names begin with where pending pods of the target have several specs.
	Pod string `json:"pod"`
	// Alike is the number of pending pods of the target with the spec of this one.
	Alike int `json:"alike"`
	// Node is the node that the pod is on, which counts as without it; empty for a pending pod.
	Node string `json:"node,omitempty"`
	// Feasible says that the pod has a feasible node, or of a pod on a node another one than its own.
	Feasible bool `json:"feasible"`
	// AfterOthers says that a feasible pending pod has no node once the other pending pods are placed; empty if it has one.
	AfterOthers string `json:"afterOthers,omitempty"`
	// After are the nodes of a pod, or of all of the pods, that has none until others are placed.
	After []string `json:"after,omitempty"`
	// AfterAnswer is the Placement that explains the first pod without a node then, with the changes that would place it.
	AfterAnswer json.RawMessage `json:"afterAnswer,omitempty"`
	// Rollout is how the rollout goes on that creates the pod; absent if none is under way, or the pod has a node.
	Rollout *whatif.Rollout `json:"rollout,omitempty"`
	// Whole is what changes do for all of the pods; absent for a single pod, and where others are pending.
	Whole *explainedWhole `json:"whole,omitempty"`
	// Advice is changes of the workload that place the pods; absent if there are none.
	Advice []explainedAdvice `json:"advice,omitempty"`
	// Answer is the FilterResponse.
	Answer json.RawMessage `json:"answer"`
}

// explainedWhole is report.Whole in JSON and YAML.
type explainedWhole struct {
	// Placed is how many of the pods have a node with each of the changes, those of AfterAnswer if it is there, of Answer otherwise; 0
	// where that is not known.
	Placed []uint32 `json:"placed"`
	// NodeCount is how many nodes like that of the change addedNode give all of the pods a node; 0 where that is not known.
	NodeCount uint32 `json:"nodeCount"`
	// Joint says that all of the pods have a node if they are placed together.
	Joint bool `json:"joint"`
}

// after sets what x says about the pods after the others, and about all of them.
func (e *explained) after(x *text.Explain, answer *stowagev1.FilterResponse) (err error) {
	changes := answer.GetChanges()
	if x.After.Later() != "" {
		e.After = x.After.Nodes
	}
	if e.AfterOthers = x.After.String(); e.AfterOthers != "" && x.After.First != nil {
		changes = x.After.First.GetChanges()
		if e.AfterAnswer, err = result.Message(x.After.First); err != nil {
			return err
		}
	}
	if x.Whole != nil {
		e.Whole = &explainedWhole{Placed: []uint32{}, NodeCount: x.Whole.Nodes, Joint: x.Whole.Joint}
		for _, c := range changes {
			e.Whole.Placed = append(e.Whole.Placed, x.Whole.Placed(c))
		}
	}
	return nil
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
	case c.Pod != "":
		return errors.New("--pod and targets exclude each other")
	}
	out := explainAnswer{Targets: []explained{}}
	var codes []answered
	done, separator := 0, ""
	if c.Fix {
		separator = "#"
	}
	err := c.question.ask(s, func(a *asked) error {
		all, err := c.found(a.snapshot)
		if err != nil {
			return err
		}
		if c.drawn() && len(all) > 1 {
			return fmt.Errorf("--output=%s: several targets have none, nor have pods with several specs", c.Output)
		}
		var pods []kube.Stated
		for _, t := range all {
			if len(t.pending) == 0 {
				switch {
				case c.drawn():
					return fmt.Errorf("--output=%s: %s is on a node, and its answer has none", c.Output, t.text)
				case c.Fix:
					return fmt.Errorf("--fix: %s is on a node, and only pending pods have one", t.text)
				}
				continue
			}
			if by, ok := a.snapshot.StatedBy(t.pending[0]); ok {
				by.Count = podCount(t.pending)
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
				fmt.Fprintln(s.stdout, separator)
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
		out.Header = result.NewHeader("ExplainReportList", placeable(codes))
		out.Findings = c.findings
		return c.printValue(s.stdout, out)
	}
	return nil
}

// placeable says of how many pods the answer is yes.
func placeable(codes []answered) string {
	n := 0
	for _, code := range codes {
		if code != exitNo {
			n++
		}
	}
	return fmt.Sprintf("%d of %s can be placed or moved", n, counted(len(codes), "pod", "pods"))
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

// found returns the pods that the targets choose.
func (c *explainCommand) found(snapshot *kube.Snapshot) ([]*chosen, error) {
	var out []*chosen
	var errs []error
	for _, text := range c.Targets {
		t, err := parseTarget(text, c.Namespace, snapshot)
		if err == nil {
			var of []*chosen
			of, err = t.choose(snapshot)
			out = append(out, of...)
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// explain answers one target and, in a table, prints the answer. request is that of an error.
func (c *explainCommand) explain(a *asked, t *chosen) (one explained, code answered, request proto.Message, err error) {
	c.notes, c.doubts = c.beside(), words.Doubts{} // of the targets before
	one = explained{Target: t.text, Namespace: t.namespace(), Pod: t.name(), Alike: podCount(t.pending)}
	var answer *stowagev1.FilterResponse
	switch {
	case len(t.pending) == 0:
		one.Node = a.snapshot.Cluster.Nodes[t.on.Node].GetName()
		answer, request, err = c.moving(a, t)
	case c.Fix:
		var after *words.After
		if answer, after, request, err = c.fixed(a, t.pending, t.heading()); after.Later() != "" {
			one.After = after.Nodes
		}
		one.AfterOthers = after.String()
	default:
		answer, request, err = c.waiting(a, t, &one)
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
	return one, c.verdict(a.session, a.snapshot, (one.Feasible || len(one.After) > 0) && one.AfterOthers == ""), nil, nil
}

// waiting explains a pending pod, and sets in one what becomes of it after others. request is that of an error.
func (c *explainCommand) waiting(a *asked, t *chosen, one *explained) (answer *stowagev1.FilterResponse, request proto.Message, err error) {
	entry := t.pending[0]
	pod := entry.Pods.GetPod()
	x := c.explanation(a, a.snapshot.Cluster, pod.GetNominatedNodeName())
	if entry.Message != "" {
		answer := &stowagev1.FilterResponse{Message: entry.Message, Doubts: kube.UnreadDoubts(pod.GetUnread(), 0)}
		c.doubt(a.snapshot, entry.Origin.String(), answer)
		if c.Output == table {
			fmt.Fprintln(a.stdout, quote.Line(t.heading()))
			fmt.Fprintln(a.stdout, a.ink.Verdict(false, quote.Line(answer.Message)))
			c.writeDoubts(a.session)
		}
		return answer, nil, c.printOne(a, x, entry.Origin, answer)
	}
	filter := &stowagev1.FilterRequest{
		Context: a.about(a.snapshot.Cluster), Pod: pod, Explain: true, IncludeChanges: true,
		IncludePreemption: true,
	}
	if answer, err = a.Filter(a.ctx, filter); err != nil {
		return nil, filter, err
	}
	c.doubt(a.snapshot, entry.Origin.String(), answer)
	if x.After, request, err = c.after(a, t.pending, x.Good(answer)); err != nil {
		return nil, request, err
	}
	all, request, err := c.beyond(a, t.pending, answer, x)
	if err != nil {
		return nil, request, err
	}
	one.Advice = explainedAdviceOf(all)
	one.Rollout, x.Caveat = x.Rollout, caveat(c.unsure(a.snapshot))
	if err := one.after(x, answer); err != nil {
		return nil, nil, err
	}
	if c.Output == table {
		fmt.Fprintln(a.stdout, quote.Line(t.heading()))
		x.Write(a.stdout, answer)
		c.writeDoubts(a.session)
	}
	return answer, nil, c.printOne(a, x, entry.Origin, answer)
}

// printOne prints the answer about the only target as a name, a page or a picture.
func (c *explainCommand) printOne(a *asked, x *text.Explain, pod kube.Origin, answer *stowagev1.FilterResponse) error {
	if c.drawn() {
		return c.printExplained(a, x, pod, answer)
	}
	return nil
}

const ofKubelet = "it could not move: the kubelet of its node made it, and kube-scheduler does not decide about it"

// moving explains whether a pod on a node could move: it is taken off its node, and filtered.
func (c *explainCommand) moving(a *asked, t *chosen) (*stowagev1.FilterResponse, proto.Message, error) {
	if kube.MadeByKubelet(t.on.Pod) {
		if c.Output == table {
			quote.Fprintf(a.stdout, "%s/%s on %s:\n", t.on.Object.Namespace, t.on.Object.Name, a.snapshot.Cluster.Nodes[t.on.Node].GetName())
			fmt.Fprintln(a.stdout, ofKubelet)
		}
		return &stowagev1.FilterResponse{Message: ofKubelet}, nil, nil
	}
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
	c.doubt(a.snapshot, t.on.Object.String(), answer)
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
	a.tellOthers(a.snapshot.Queue)
	if c.Output == table {
		c.writeMoving(a, t, cluster, answer)
	}
	return answer, request, nil
}

// writeMoving writes whether a pod on a node could move.
func (c *explainCommand) writeMoving(a *asked, t *chosen, cluster *stowagev1.Cluster, answer *stowagev1.FilterResponse) {
	pod, node := t.on.Object, cluster.Nodes[t.on.Node].GetName()
	m := text.Moving{Namespace: pod.Namespace, Pod: pod.Name, Node: node, Width: a.width}
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
	c.writeDoubts(a.session)
}
