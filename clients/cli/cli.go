package cli

import (
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/server/version"
)

const description = `Stowage answers scheduling questions as kube-scheduler would, for a live cluster or for manifests. It never changes a cluster.

The exit status is 0 for a yes: all pods were placed, a node is feasible, the nodes can be drained, or an audit finds nothing broken. It is 1 for a no, and 2 if
the request was invalid or failed. It is 3 if kube-scheduler might decide otherwise: because of fields that Stowage does not read, because Stowage does not decide a change of a workload, or because
there was nothing to place though the manifests have workloads. Standard error lists workloads of kinds that Stowage does not read;
they do not change the exit status if there are other pods to place.`

// commands is the grammar of the command line. An example is a command line without the command's name; several are separated by "; ".
// The examples of commands tagged "starts" begin the help of all.
type commands struct {
	Version kong.VersionFlag `group:"general" help:"Print the version."`

	Explain     explainCommand     `cmd:"" starts:"" example:"explain shop/deploy/web; explain -f cluster.json web-7d4b9-x2x9p --fix" help:"Explain why a pod is pending: every failing check on every node, the pods that kube-scheduler would preempt, and changes that would place it."`
	Place       placeCommand       `cmd:"" starts:"" example:"place -f cluster.json -f web.yaml; place -f nodes.yaml -f web.yaml -o html > placement.html" help:"Place pending pods in the order of kube-scheduler's queue, or in their pod groups."`
	Drain       drainCommand       `cmd:"" starts:"" example:"drain node-a --moves; drain --all --largest-set -f cluster.json" help:"Check whether nodes can be drained: where their pods would run, which would stay pending, which cannot be evicted."`
	Fail        failCommand        `cmd:"" starts:"" example:"fail --zone eu-west-1b; fail --each topology.kubernetes.io/zone -f cluster.json" help:"Simulate the failure of zones or nodes: which pods find another node, which replicas are missing, which PodDisruptionBudgets are violated."`
	WhatIf      whatIfCommand      `cmd:"" starts:"" example:"what-if --scale shop/deploy/web=20 --add-node like=node-a,count=2; what-if -f cluster.json --apply edited.yaml" help:"Compare the cluster before and after a change: manifests applied, workloads scaled, nodes added, cordoned or removed, pods evicted."`
	Fit         fitCommand         `cmd:"" starts:"" example:"fit --mix shop/web --by topology.kubernetes.io/zone -f cluster.json" help:"Count how many more pods of a workload fit, or of several workloads in a ratio."`
	Provision   provisionCommand   `cmd:"" example:"provision --template nodepools.yaml; provision -f cluster.json -f web.yaml --template nodepools.yaml" help:"Find cheap nodes to add for the pending pods, with a lower bound of the cost."`
	Consolidate consolidateCommand `cmd:"" example:"consolidate --moves -f cluster.json; consolidate -f cluster.json --template nodepools.yaml" help:"Find nodes to remove, or to replace with cheaper nodes, one action after another, without leaving a pod pending."`
	Audit       auditCommand       `cmd:"" starts:"" example:"audit; audit -f cluster.json -o html > audit.html" help:"Find what is wrong with the cluster: violated or ineffective rules, overcommitted nodes, pods with no other node, replicas that would fail together."`
	Filter      filterCommand      `cmd:"" example:"filter --pod shop/web-1 -f cluster.json" help:"List the feasible nodes of a pod and why the others are not; without a feasible node, also the pods that kube-scheduler would preempt. Scores are not computed: a pod that fails because they overflow fails only in score and place."`
	Score       scoreCommand       `cmd:"" example:"score --pod shop/web-1 -f cluster.json" help:"Score the feasible nodes of a pod."`
	Preempt     preemptCommand     `cmd:"" example:"preempt --pod shop/web-1 --safe -f cluster.json" help:"List the pods that kube-scheduler would preempt for a pod. Flags add searches that kube-scheduler does not have: victims that can all be placed again, and the fewest victims on any nodes."`
	ScaleDown   scaleDownCommand   `cmd:"" example:"scale-down --workload shop/web --replicas 3 -f cluster.json" help:"Choose the replicas of a workload to delete so that the others stay spread."`
	machineCommands

	Help        helpCommand    `cmd:"" example:"help explain" help:"Print the help of a command."`
	ShowVersion versionCommand `cmd:"" name:"version" example:"version" help:"Print the version."`
}

// exited carries kong's exit code to Run.
type exited int

// newParser returns the parser of the command line. It leaves by exited after printing help or the version.
func newParser(called string, stdout, stderr io.Writer) (*kong.Kong, error) {
	parser, err := kong.New(&commands{}, kong.Name(called), kong.Vars{"version": version.Current()},
		kong.Description(description), kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Help(printHelp), kong.ExplicitGroups(flagGroups))
	if err != nil {
		return nil, err
	}
	parser.Model.HelpFlag.Group = &flagGroups[len(flagGroups)-1]
	return parser, nil
}

// printError prints an error, a line for each joined one.
func printError(stderr io.Writer, err error) int {
	for _, e := range flat(err) {
		fmt.Fprintf(stderr, "stowage: error: %s\n", quote.Lines(e.Error()))
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
