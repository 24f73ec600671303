package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/target"
	"github.com/stowage-scheduler/stowage/clients/answer/whatif"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/manifest"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
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

	scaled []whatif.Scaled // workloads whose controllers choose the pods to delete
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
	c.rollouts = len(c.WithoutNode)+len(c.Cordon)+len(c.Evict) == 0
	o := whatif.Options{
		Source: c.source(), Lost: c.WithoutNode, Cordoned: c.Cordon, Evicted: c.Evict, Namespace: c.Namespace,
	}
	read := func(s *session) (after *kube.Snapshot, scheduler *schedulerconfig.Scheduler, err error) {
		if scheduler, err = c.scheduler(s); err != nil {
			return nil, nil, err
		}
		o.Before, after, o.Changes, err = c.snapshots(s, cmp.Or(c.SchedulerName, scheduler.Name))
		return after, scheduler, err
	}
	q, stop, err := c.openBy(s, c.mode(), slices.Concat(c.File, c.Apply), read)
	if err != nil {
		return err
	}
	defer stop()
	q.TieBreak, q.Seed, o.Scaled = c.tieBreak(), c.Seed, c.scaled
	return askAbout(s, &c.question, code, q, func(q *answer.Question) (*whatif.Answer, error) {
		return whatif.Ask(s.ctx, q, o)
	}, text.WhatIf, html.WhatIf)
}

// snapshots reads the cluster with and without the changed objects. before is nil if no objects change.
func (c *whatIfCommand) snapshots(s *session, schedulerName string) (before, after *kube.Snapshot, changes []string, err error) {
	base, err := c.reader(s, schedulerName)
	if err != nil {
		return nil, nil, nil, err
	}
	if !c.edits() {
		after, err = c.built(s, base)
		return nil, after, nil, err
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

// edit changes objects, and describes the changes.
func (c *whatIfCommand) edit(s *session, r *manifest.Reader) ([]string, error) {
	var out []string
	for _, path := range c.Apply {
		if err := readFile(s, r, path); err != nil {
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
		c.scaled = slices.DeleteFunc(c.scaled, func(earlier whatif.Scaled) bool { return earlier.Origin == scaled })
		if n > 0 && scaled.Kind != "StatefulSet" {
			c.scaled = append(c.scaled, whatif.Scaled{Origin: scaled, Replicas: n})
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
		out = append(out, "add "+words.Plural(count, "node")+" like "+like+": "+words.Names(names))
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
