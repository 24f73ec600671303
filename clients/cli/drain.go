package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type drainCommand struct {
	question
	ties
	queueFlag
	Nodes         []string `arg:"" optional:"" name:"node" values:"node" help:"Nodes to drain, each on its own unless a flag says otherwise."`
	All           bool     `help:"Check all nodes."`
	Together      bool     `help:"Drain the nodes at the same time."`
	LargestSet    bool     `help:"Drain as many of the nodes as possible, one after another. The exit status is 0 if at least one can be drained."`
	MaxSteps      uint32   `placeholder:"NUMBER" help:"With --largest-set: search budget, in steps. Default: 65536."`
	Target        []string `sep:"," placeholder:"NODE" help:"Node that evicted pods may move to. Repeatable. Default: all."`
	Force         bool     `help:"Evict pods without a controller or with a deleted DaemonSet as well, as kubectl drain --force does. They are not recreated."`
	DeleteData    bool     `name:"delete-emptydir-data" help:"Evict pods with an emptyDir volume as well, as kubectl drain --delete-emptydir-data does."`
	DaemonSets    bool     `name:"ignore-daemonsets" default:"true" help:"Leave the pods of DaemonSets on their nodes. --ignore-daemonsets=false refuses these pods, as kubectl drain does without the flag."`
	IgnoreBudgets bool     `help:"Ignore PodDisruptionBudgets."`
	Moves         bool     `help:"List every pod that moves, with its new node."`
}

// Validate is called by kong.
func (c *drainCommand) Validate() error {
	switch {
	case c.All == (len(c.Nodes) > 0):
		return errors.New("name the nodes to drain, or set --all")
	case c.Together && c.LargestSet:
		return errors.New("--together and --largest-set exclude each other")
	case c.MaxSteps > 0 && !c.LargestSet:
		return errors.New("--max-steps needs --largest-set")
	}
	return nil
}

// Run is called by kong.
func (c *drainCommand) Run(s *session, code *answered) error {
	var mode stowagev1.QueueMode
	return c.ask(s, func(a *asked) error {
		mode = a.queueMode(c.Queue)
		return nil
	}, func(a *asked) (proto.Message, error) {
		request, err := c.request(a.snapshot)
		if err != nil {
			return nil, err
		}
		request.Context.Profile, request.QueueMode = a.scheduler.Profile, mode
		parts, err := drained(s.ctx, a, request)
		if err != nil {
			return request, err
		}
		return request, c.print(s, a.snapshot, parts, code)
	})
}

// print prints an answer.
func (c *drainCommand) print(s *session, snapshot *kube.Snapshot, parts []*stowagev1.DrainResponse, code *answered) error {
	c.notePending(s, snapshot, "drain")
	c.noteTerminating(s, parts)
	for _, part := range parts {
		c.doubt(snapshot, "", part)
	}
	*code = c.verdict(s, snapshot, c.success(parts))
	r := &text.Drain{
		Cluster: snapshot.Cluster, Moves: c.moves(), LargestSet: c.LargestSet, Verbose: c.Verbose, Width: s.width, Ink: s.ink,
		Caveat: c.caveat,
	}
	if c.Output == table {
		r.Write(s.stdout, parts)
		c.writeDoubts(s)
		return nil
	}
	d, err := result.NewDrain(r, words.TopologyKey(snapshot.Cluster, nil), parts)
	if err != nil {
		return err
	}
	return c.printDocument(s.stdout, d)
}

// moves reports whether the answer has the moves: pictures show them.
func (c *drainCommand) moves() bool {
	return c.Moves || c.Verbose || c.Output == asHTML || c.Output == asSVG
}

// notePending notes the pending pods, which do not count.
func (q *question) notePending(s *session, snapshot *kube.Snapshot, before string) {
	var pending []kube.Origin
	for _, e := range slices.Concat(snapshot.Queue, snapshot.Waiting) {
		pending = append(pending, e.Origin)
	}
	if len(pending) > 0 {
		q.note(s, "pending pods are not placed before the %s, and do not count: %s", before, names(pending))
	}
}

// noteTerminating notes the pods that were terminating before the drain.
func (c *drainCommand) noteTerminating(s *session, parts []*stowagev1.DrainResponse) {
	n := 0
	for _, p := range parts {
		n += int(p.GetDrain().GetTerminatingCount())
	}
	if n > 0 {
		c.note(s, "%s terminating already: the replacements are not placed here, as most controllers have created them; "+
			"a StatefulSet does so once its pod is gone", counted(n, "pod is", "pods are"))
	}
}

// request returns the question.
func (c *drainCommand) request(snapshot *kube.Snapshot) (*stowagev1.DrainRequest, error) {
	request, err := snapshot.DrainRequest(c.Nodes)
	if err != nil {
		return nil, err
	}
	if request.TargetNodes, err = snapshot.Candidates(c.Target); err != nil {
		return nil, fmt.Errorf("--target: %w", err)
	}
	request.Mode = stowagev1.DrainMode_DRAIN_MODE_EACH
	switch {
	case c.Together:
		request.Mode = stowagev1.DrainMode_DRAIN_MODE_TOGETHER
	case c.LargestSet:
		request.Mode = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET
	}
	if c.MaxSteps > 0 {
		request.MaxSteps = &c.MaxSteps
	}
	request.DeleteEmptyDirData, request.RefuseDaemonSetPods = c.DeleteData, !c.DaemonSets
	request.Force, request.IgnoreBudgets, request.IncludeMoves = c.Force, c.IgnoreBudgets, c.moves()
	request.TieBreak, request.TieBreakSeed = c.tieBreak(), c.Seed
	return request, nil
}

// drained returns the parts of the answer.
func drained(
	ctx context.Context, client stowagev1.SimulationServiceClient, request *stowagev1.DrainRequest,
) ([]*stowagev1.DrainResponse, error) {
	stream, err := client.Drain(ctx, request)
	if err != nil {
		return nil, err
	}
	var parts []*stowagev1.DrainResponse
	for {
		part, err := stream.Recv()
		switch {
		case err == nil:
			parts = append(parts, part)
			continue
		case !errors.Is(err, io.EOF):
			return nil, err
		case len(parts) == 0 || parts[len(parts)-1].GetSummary() == nil:
			return nil, errors.New("the answer has no end")
		}
		return parts, nil
	}
}

// success reports whether all nodes can be drained, or of the largest set at least one.
func (c *drainCommand) success(parts []*stowagev1.DrainResponse) bool {
	if c.LargestSet {
		sum := parts[len(parts)-1].GetSummary()
		return sum.GetDrainedCount() > 0 || sum.GetTotalCount() == 0
	}
	for _, p := range parts {
		if d := p.GetDrain(); d != nil && d.GetStatus() != stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			return false
		}
	}
	return true
}

func names(of []kube.Origin) string {
	var out []string
	for _, o := range of {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	return words.Names(out)
}

// drainFlag returns the flag that sets a field of a request to drain.
func drainFlag(request proto.Message, path string) (string, bool) {
	flag, ok := map[string]string{"max_steps": "--max-steps", "target_nodes": "--target"}[path]
	_, drains := request.(*stowagev1.DrainRequest)
	return flag, ok && drains
}
