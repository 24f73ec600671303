package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/clients/report"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

const description = `Scheduling decisions as kube-scheduler would make them, for a cluster that is live or in manifests.

The exit status is 0 if all pods were placed, a node is feasible, the nodes can be drained, or an audit finds nothing broken; 1 if not; 2 if
the request was invalid or got no answer; 3 if kube-scheduler might reject a pod because of fields that are not read, if a change of a workload is not decided, or if
there was nothing to place though the manifests have workloads. Workloads of kinds that are not read are listed on standard error;
they do not change the exit status if there are other pods to place.`

// commands is the grammar of the command line.
type commands struct {
	Version kong.VersionFlag `help:"Print the version."`

	Place       placeCommand       `cmd:"" help:"Place the pending pods: one by one in the order of kube-scheduler's queue, or in their groups."`
	Filter      filterCommand      `cmd:"" help:"List the feasible nodes of a pod, and why the others are not; without one, the pods that kube-scheduler would evict. Does not score: where scores overflow, only score and place fail the pod."`
	Score       scoreCommand       `cmd:"" help:"Score the feasible nodes of a pod."`
	Explain     explainCommand     `cmd:"" help:"Explain everything that keeps a pod from each node, which pods kube-scheduler would evict for it, and what else would place it."`
	Preempt     preemptCommand     `cmd:"" help:"List the pods that kube-scheduler would evict for a pod; if asked, those whose replacements all have a node, and the fewest on any nodes, which kube-scheduler does not look for."`
	ScaleDown   scaleDownCommand   `cmd:"" help:"List the replicas of a workload to delete so that the rest are spread best."`
	Fit         fitCommand         `cmd:"" help:"Count how many more pods of a workload fit, or of several in a ratio."`
	Drain       drainCommand       `cmd:"" help:"Tell for nodes whether they can be drained: where their pods go, which have no node, and which cannot be evicted."`
	Fail        failCommand        `cmd:"" help:"Tell what happens if zones or nodes fail: which pods come back, which find no node, and which PodDisruptionBudgets are not met."`
	WhatIf      whatIfCommand      `cmd:"" help:"Tell what a change leads to: manifests applied, workloads scaled, nodes added, cordoned or taken away, pods evicted."`
	Provision   provisionCommand   `cmd:"" help:"Find nodes to add so that the pending pods have nodes, for little cost, and tell what is proven."`
	Consolidate consolidateCommand `cmd:"" help:"Find nodes to remove or to replace by cheaper ones, one action after another, so that all pods keep nodes; and tell what is proven."`
	Audit       auditCommand       `cmd:"" help:"Look for what is wrong with the cluster as it is: rules that do not hold any more or have no effect, nodes that are over-committed, pods that have no other node, replicas that fail together."`
	Completion  completionCommand  `cmd:"" help:"Print a completion script for a shell."`
	Values      valuesCommand      `cmd:"" hidden:"" help:"Print values for completion."`
	Man         manCommand         `cmd:"" help:"Print the manual page: stowage man > stowage.1"`
}

// session is the environment of a command.
type session struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	raw            io.Writer // stdout, for the sequences of a screen
	terminal       *os.File  // stdout, if it is one
	application    *kong.Application
	command        string // its name
	width          int    // of tables and lines
	ink            report.Ink
	progress       *progressLine // nil if stderr is no terminal
}

// exited carries kong's exit code to Run.
type exited int

// Run runs the command and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return RunAs(ctx, name, args, stdin, stdout, stderr)
}

// name is the name of the command.
const name = "stowage"

// RunAs is Run for a program of a path. One that is named kubectl-stowage is a plugin of kubectl, which its usage says.
func RunAs(ctx context.Context, program string, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	called := name
	if strings.TrimSuffix(filepath.Base(program), ".exe") == "kubectl-stowage" {
		called = "kubectl stowage"
	}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	parser, err := kong.New(&commands{}, kong.Name(called), kong.Vars{"version": telemetry.Version()},
		kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return fail(stderr, err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return fail(stderr, err)
	}
	out := &output{w: stdout}
	s := &session{ctx: ctx, stdin: interruptible{ctx, stdin}, stdout: out, raw: out, stderr: stderr, application: parser.Model, command: parsed.Selected().Name}
	if f, ok := isTerminal(stdout); ok {
		s.terminal = f
	}
	if _, ok := isTerminal(stderr); ok {
		s.progress = &progressLine{w: stderr, interval: time.Second}
		s.stderr, out.before = s.progress, s.progress.silence
	}
	s.stderr = plainWriter{w: s.stderr}
	answer := answered(exitYes)
	err = parsed.Run(s, &answer)
	if err == nil {
		err = out.err
	}
	if err != nil {
		return fail(stderr, err)
	}
	return int(answer)
}

// fail prints an error, a line for each joined one.
func fail(stderr io.Writer, err error) int {
	for _, e := range flat(err) {
		fmt.Fprintf(plainWriter{w: stderr}, "stowage: error: %v\n", e)
	}
	return exitError
}

// flat splits joined errors. An error that wraps joined errors stays whole, as its own text would be lost.
func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flat(e)...)
	}
	return out
}
