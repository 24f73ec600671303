package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

const description = `Scheduling decisions as kube-scheduler would make them, over the cluster that manifests state.

The exit status is 0 if all pods were placed, or a node can take the pod; 1 if not; 2 if the question was wrong or got no
answer; 3 if kube-scheduler might refuse nevertheless, because of what was not read, or if there was nothing to place though
the manifests have pods to come. Workloads of kinds that are not read are told on standard error; they do not
change the exit status if there are others to place.`

// commands is the grammar of the command line.
type commands struct {
	Place      placeCommand      `cmd:"" help:"Decide where the pending pods go: one by one in the order of the manifests, or in their groups."`
	Filter     filterCommand     `cmd:"" help:"Tell which nodes can take a pod, and why the others cannot. Does not score: where scores overflow, only score and place fail the pod."`
	Score      scoreCommand      `cmd:"" help:"Tell how good each node that can take a pod is."`
	Explain    explainCommand    `cmd:"" help:"Tell everything that stands between a pod and each node."`
	ScaleDown  scaleDownCommand  `cmd:"" help:"Tell which replicas of a workload to delete, so that the rest are spread best."`
	Completion completionCommand `cmd:"" help:"Print a completion script for a shell."`
}

// session is what a command runs in.
type session struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       *os.File // stdout, if it is one
	application    *kong.Application
}

// exited is how kong's wish to end the program reaches Run.
type exited int

// Run runs the command and returns its exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	parser, err := kong.New(&commands{}, kong.Name("stowage"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return fail(stderr, err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return fail(stderr, err)
	}
	out := &output{w: stdout}
	s := &session{ctx: ctx, stdin: interruptible{ctx, stdin}, stdout: out, stderr: stderr, application: parser.Model}
	if f, ok := isTerminal(stdout); ok {
		s.terminal = f
	}
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

// fail tells what went wrong, a line for each thing.
func fail(stderr io.Writer, err error) int {
	for _, e := range flat(err) {
		fmt.Fprintf(stderr, "stowage: error: %v\n", e)
	}
	return exitError
}

// flat takes joined errors apart. What wraps joined errors stays whole, as its own words would be lost.
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
