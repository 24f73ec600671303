package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/review"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type whatIfCommand struct {
	question
	ties
	queueFlag
	Apply       []string `sep:"none" placeholder:"PATH" help:"Apply manifests, as kubectl apply does: a path as for --file. Repeatable."`
	Scale       []string `sep:"none" placeholder:"[NAMESPACE/]KIND/NAME=NUMBER" help:"Scale a workload, such as deploy/web=20. Repeatable."`
	WithoutNode []string `sep:"," placeholder:"NAME" values:"node" help:"Remove a node. Pods with a controller are recreated. Repeatable."`
	AddNode     []string `sep:"none" placeholder:"like=NAME[,count=NUMBER][,zone=ZONE]" help:"Add nodes like an existing node, as they are when ready, with the pods of DaemonSets. Repeatable."`
	Cordon      []string `sep:"," placeholder:"NAME" values:"node" help:"Cordon a node. Repeatable."`
	Evict       []string `sep:"," placeholder:"[NAMESPACE/]pod/NAME" help:"Evict a pod, regardless of PodDisruptionBudgets. Repeatable."`

	scaled []scaledTo // workloads whose controllers choose the pods to delete
}

// Validate is called by kong.
func (c *whatIfCommand) Validate() error {
	if !c.edits() && len(c.WithoutNode)+len(c.Cordon)+len(c.Evict) == 0 {
		return errors.New("say what changes with --apply, --scale, --without-node, --add-node, --cordon or --evict")
	}
	return nil
}

// edits reports whether objects change.
func (c *whatIfCommand) edits() bool { return len(c.Apply)+len(c.Scale)+len(c.AddNode) > 0 }

// Run is called by kong.
func (c *whatIfCommand) Run(s *session, code *answered) error {
	if err := errors.Join(c.check(), c.format(s.command)); err != nil {
		return err
	}
	c.dress(s)
	scheduler, err := c.scheduler()
	if err != nil {
		return err
	}
	c.rollouts = len(c.WithoutNode)+len(c.Cordon)+len(c.Evict) == 0
	before, after, changes, err := c.snapshots(s, cmp.Or(c.SchedulerName, scheduler.Name))
	if err != nil {
		return err
	}
	disruption, more, err := c.disruption(after)
	if err != nil {
		return err
	}
	client, stop, err := c.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	is := &asked{session: s, services: client, snapshot: after, scheduler: scheduler}
	mode := is.queueMode(c.Queue)
	was := &asked{session: s, services: client, snapshot: before, scheduler: scheduler}
	if err := c.reviewChange(was, is); err != nil {
		return err
	}
	earlier, err := c.state(was, &kube.Disruption{}, mode)
	if err != nil {
		return err
	}
	later, err := c.state(is, disruption, mode)
	if err != nil {
		return err
	}
	out := whatif.Compare(append(changes, more...), earlier, later)
	out.ScaleDowns = c.scaleDowns(out)
	rollouts, err := c.decideRollouts(s.ctx, is, later.Answer.GetPlacement())
	if err != nil {
		return err
	}
	out.Rollouts, out.Findings = append(out.Rollouts, rollouts...), c.findings
	out.Fine = out.Fine && whatif.Fine(rollouts)
	return c.print(s, earlier, later, out, code)
}

// reviewChange finds placement rules that are void or suspicious after the change and were not before.
func (c *whatIfCommand) reviewChange(was, is *asked) error {
	if was.snapshot == is.snapshot {
		c.has(is, nil, c.Output == table)
		return nil
	}
	known := map[string]bool{}
	before, err := c.found(was, was.snapshot.StatedPending())
	if err != nil {
		return err
	}
	for i := range before {
		known[before[i].String()] = true
	}
	after, err := c.found(is, is.snapshot.StatedPending())
	if err != nil {
		return err
	}
	c.has(is, slices.DeleteFunc(after, func(f review.Finding) bool { return known[f.String()] }), c.Output == table)
	return nil
}

// scaledTo is a workload and its number of replicas.
type scaledTo struct {
	kube.Origin
	replicas int64
}

// scaleDowns are the commands that choose the pods to delete of workloads with fewer replicas.
func (c *whatIfCommand) scaleDowns(out *whatif.Comparison) []string {
	var commands []string
	for _, to := range c.scaled {
		if out.Leaves(whatif.Object(to.Origin)) {
			commands = append(commands, quote.Command("stowage scale-down", nil,
				append(c.source(), "--workload="+to.Argument(), fmt.Sprintf("--replicas=%d", to.replicas))...))
		}
	}
	return commands
}

// state puts the question about a snapshot after a disruption.
func (c *whatIfCommand) state(a *asked, d *kube.Disruption, mode stowagev1.QueueMode) (*whatif.State, error) {
	out := &whatif.State{Snapshot: a.snapshot, Disruption: d}
	err := c.put(a, func(a *asked) (proto.Message, error) {
		scenario, err := a.snapshot.Scenario(d)
		if err != nil {
			return nil, err
		}
		request := a.snapshot.WhatIfRequest()
		request.Scenarios = []*stowagev1.Scenario{scenario}
		request.Context.Profile, request.QueueMode = a.scheduler.Profile, mode
		request.TieBreak, request.TieBreakSeed = c.tieBreak(), c.Seed
		return request, whatIf(a.ctx, a, request, func(answer *stowagev1.WhatIfResponse) { out.Answer = answer })
	})
	return out, err
}

// print prints an answer.
func (c *whatIfCommand) print(s *session, before, after *whatif.State, out *whatif.Comparison, code *answered) error {
	c.doubt(after.Snapshot, "", after.Answer)
	c.doubtRollouts(after.Snapshot, out.Rollouts)
	*code = c.verdict(s, after.Snapshot, out.Fine)
	of := result.AnswerOf{
		Kind: "WhatIfReport", Title: "What if", Verdict: text.WhatIfVerdict(out), Good: out.Fine, Value: out,
		Cluster: after.Snapshot.Cluster, Before: before.Snapshot.Cluster, Effect: func(e *answer.Effect) {
			e.States(answer.Removed, after.Disruption.Lost...)
			e.Disrupt(after.Snapshot, after.Disruption, after.Answer)
		},
	}
	var pods []string
	for _, p := range out.Pods {
		if p.Node == "" && p.Effect != whatif.Leaves {
			pods = append(pods, p.Name)
		}
	}
	of.Names = podNames(pods)
	return c.printAnswer(s, of, func(w io.Writer, width int) {
		(&text.WhatIf{Width: width}).Write(w, out)
		text.Rollouts(w, out.Rollouts, width)
	})
}

// snapshots reads the cluster as it is and as it is with the changed objects, which may be the same.
func (c *whatIfCommand) snapshots(s *session, schedulerName string) (before, after *kube.Snapshot, changes []string, err error) {
	base, err := c.reader(s, schedulerName)
	if err != nil {
		return nil, nil, nil, err
	}
	if !c.edits() {
		before, err = c.built(s, base)
		return before, before, nil, err
	}
	edited := base.Fork()
	if changes, err = c.edit(s, edited); err != nil {
		return nil, nil, nil, err
	}
	if before, err = base.Snapshot(); err != nil {
		return nil, nil, nil, err
	}
	after, err = c.built(s, edited)
	return before, after, changes, err
}

// edit changes objects as the flags say, and returns the changes in words.
func (c *whatIfCommand) edit(s *session, r *manifest.Reader) ([]string, error) {
	var out []string
	for _, path := range c.Apply {
		if err := c.readFile(s, r, path); err != nil {
			return nil, err
		}
		out = append(out, "apply "+path)
	}
	for _, text := range c.Scale {
		object, number, found := strings.Cut(text, "=")
		n, err := strconv.ParseInt(number, 10, 32)
		if !found || err != nil || n < 0 {
			return nil, fmt.Errorf("--scale=%s: is not KIND/NAME=NUMBER, such as deploy/web=20", text)
		}
		t, err := target.Parse(object, c.Namespace, nil)
		if err != nil {
			return nil, fmt.Errorf("--scale: %w", err)
		}
		scaled, err := r.Scale(t.Kind, t.Namespace, t.Name, int32(n))
		if err != nil {
			return nil, fmt.Errorf("--scale=%s: %w", text, err)
		}
		out = append(out, fmt.Sprintf("scale %s to %d", scaled, n))
		// The last number counts. A StatefulSet deletes the highest ordinals.
		c.scaled = slices.DeleteFunc(c.scaled, func(earlier scaledTo) bool { return earlier.Origin == scaled })
		if n > 0 && scaled.Kind != "StatefulSet" {
			c.scaled = append(c.scaled, scaledTo{scaled, n})
		}
	}
	for _, text := range c.AddNode {
		like, count, zone, err := newNodes(text)
		if err != nil {
			return nil, fmt.Errorf("--add-node=%s: %w", text, err)
		}
		names, err := r.AddNodes(like, count, zone)
		if err != nil {
			return nil, fmt.Errorf("--add-node=%s: %w", text, err)
		}
		out = append(out, "add "+counted(count, "node", "nodes")+" like "+like+": "+words.Names(names))
	}
	return out, nil
}

// maximumNewNodes bounds --add-node, which is for a few nodes: the contract has 1,000,000 at most.
const maximumNewNodes = 100_000

// newNodes reads a value of --add-node.
func newNodes(text string) (like string, count int, zone string, err error) {
	count = 1
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "like":
			like = value
		case "zone":
			zone = value
		case "count":
			if count, err = strconv.Atoi(value); err != nil || count < 1 || count > maximumNewNodes {
				return "", 0, "", fmt.Errorf("count is not a number from 1 to %d", maximumNewNodes)
			}
		default:
			return "", 0, "", fmt.Errorf("%q is not like, count or zone", key)
		}
	}
	if like == "" {
		return "", 0, "", errors.New("like=NAME is missing, the node that the new ones are like")
	}
	return like, count, zone, nil
}

// disruption returns what happens to nodes and pods, and says it in words.
func (c *whatIfCommand) disruption(snapshot *kube.Snapshot) (*kube.Disruption, []string, error) {
	d, lines := &kube.Disruption{}, []string(nil)
	for _, of := range []struct {
		flag, word string
		names      []string
		into       *[]string
	}{{"--without-node", "without", c.WithoutNode, &d.Lost}, {"--cordon", "cordon", c.Cordon, &d.Cordoned}} {
		nodes, err := snapshot.Candidates(of.names)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", of.flag, err)
		}
		for _, name := range nodes.GetNames() {
			*of.into = append(*of.into, name)
			lines = append(lines, of.word+" node "+name)
		}
	}
	for _, text := range c.Evict {
		t, err := target.Parse(text, c.Namespace, nil)
		if err != nil {
			return nil, nil, fmt.Errorf("--evict: %w", err)
		}
		p, err := t.Running(snapshot)
		if err != nil {
			return nil, nil, fmt.Errorf("--evict: %w", err)
		}
		if why := kube.StaysGone(p.Pod); why != "" && p.Pod.DeletionTimestamp == nil {
			return nil, nil, fmt.Errorf("--evict: %s: %s, and makes it again there", p.Object, why)
		}
		d.Evicted = append(d.Evicted, p.Object)
		lines = append(lines, "evict "+p.Object.String())
	}
	return d, lines, nil
}
