package cli

import (
	"errors"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/drain"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
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
	return ask(s, &c.question, code, c.mode(), func(q *answer.Question) (*drain.Answer, error) {
		q.TieBreak, q.Seed = c.tieBreak(), c.Seed
		return drain.Ask(s.ctx, q, drain.Options{
			Nodes: c.Nodes, Together: c.Together, LargestSet: c.LargestSet, MaxSteps: c.MaxSteps, Targets: c.Target, Force: c.Force,
			DeleteEmptyDirData: c.DeleteData, RefuseDaemonSetPods: !c.DaemonSets, IgnoreBudgets: c.IgnoreBudgets,
			Moves: c.Moves || c.Verbose || c.Output == asHTML || c.Output == asSVG, // pictures show them
		})
	}, text.Drain, html.Drain)
}
