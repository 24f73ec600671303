// Command karpenter compares Stowage with Karpenter's own simulation, in one process: the nodes that 20,000 diverse pods need,
// and whether each of 1,000 nodes can go, by itself. The answers of both are checked by one reading of kube-scheduler's rules,
// in this package.
//
// It is a module of its own because of sigs.k8s.io/karpenter, which nothing else here imports.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/clients/embedded"
)

type sizes struct{ pods, types, steps, nodes, sample, turns int }

func main() {
	log.SetFlags(log.Ltime)
	var s sizes
	small := flag.Bool("small", false, "1,000 pods, 50 types and 100 nodes: within a minute")
	flag.IntVar(&s.pods, "pods", 20_000, "number of diverse pods; 0 to leave them out")
	flag.IntVar(&s.types, "types", 400, "number of instance types")
	flag.IntVar(&s.steps, "steps", 0, "a max_steps for an additional call of Provision; 0 for none")
	flag.IntVar(&s.nodes, "nodes", 1_000, "number of nodes of the cluster, with 30 pods on each; 0 to leave them out")
	flag.IntVar(&s.sample, "sample", 20, "number of nodes that Karpenter looks at")
	flag.IntVar(&s.turns, "turns", 3, "number of calls of Stowage")
	flag.Parse()
	if *small {
		s = sizes{1_000, 50, s.steps, 100, 5, s.turns}
	}
	ctrllog.SetLogger(logging.NopLogger)
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), test.Options())
	if err := run(ctx, s); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s sizes) error {
	client, stop, err := embedded.Dial(ctx)
	if err != nil {
		return err
	}
	defer stop() //nolint:errcheck // the process ends
	fmt.Printf("%d cores, %s\n\n", runtime.GOMAXPROCS(0), runtime.Version())
	fmt.Println("| | Karpenter | Stowage | times faster | in processor time |\n|---|---|---|---|---|")
	stowage := &stowage{client, s.turns}
	if s.pods > 0 {
		if err := compareProvisioning(ctx, s, stowage); err != nil {
			return fmt.Errorf("diverse pods: %w", err)
		}
	}
	runtime.GC()
	if s.nodes > 0 {
		if err := compareConsolidation(ctx, s, stowage); err != nil {
			return fmt.Errorf("consolidation: %w", err)
		}
	}
	return nil
}

// compareProvisioning requests nodes for diverse pods from both. All pods must have one, by the rules that can be checked.
func compareProvisioning(ctx context.Context, s sizes, stowage *stowage) error {
	what := fmt.Sprintf("%s diverse pods, %d instance types", thousands(s.pods), s.types)
	pods := diversePods(s.pods)
	k, err := newKarpenter(ctx, s.types, nil)
	if err != nil {
		return err
	}
	theirs, err := k.provision(ctx, pods)
	if err != nil {
		return fmt.Errorf("Karpenter: %w", err)
	}
	var lines []string
	if err := theirs.check(); err != nil { // it says so in the report, and is timed all the same
		lines = append(lines, fmt.Sprintf("Karpenter's answer breaks a rule: %v", err))
	}
	nodes, cost := theirs.nodes()
	placed, err := stowage.place(ctx, nodes, pods)
	if err != nil {
		return err
	}
	for _, steps := range slices.Compact([]int{0, s.steps}) {
		ours, err := stowage.provision(ctx, k.types, pods, steps)
		if err != nil {
			return err
		}
		if err := replay(ours.nodes, pods, ours.at); err != nil {
			return fmt.Errorf("Stowage: %w", err)
		}
		budget := ""
		if steps > 0 {
			budget = fmt.Sprintf(", max_steps %d", steps)
		}
		row(what+budget, theirs.solving, ours.took)
		lines = append(lines, fmt.Sprintf("Stowage%s: %s nodes, cost %.1f, a bound of the cost %.1f (%.3f times), %s steps", budget,
			thousands(len(ours.nodes)), units(ours.cost), units(ours.bound), float64(ours.cost)/float64(ours.bound),
			thousands(ours.steps)))
	}
	fmt.Printf("\n- Karpenter: %s nodes, cost %.1f; topology and scheduler took %v before. By kube-scheduler's rules and order, "+
		"%s of the pods have a node on these.\n", thousands(len(nodes)), units(cost),
		theirs.preparing.wall.Round(time.Millisecond), thousands(placed))
	for _, l := range lines {
		fmt.Println("- " + l)
	}
	fmt.Println()
	return nil
}

// compareConsolidation checks with both whether the pods of a node fit on the other nodes. Stowage does so for each node.
func compareConsolidation(ctx context.Context, s sizes, stowage *stowage) error {
	c := newCluster(s.nodes)
	ours, err := stowage.drain(ctx, c)
	if err != nil {
		return fmt.Errorf("Stowage: %w", err)
	}
	b := newBooks(c)
	drained := 0
	for node, moves := range ours.moves {
		if moves == nil {
			continue
		}
		drained++
		if err := b.check(node, moves); err != nil {
			return fmt.Errorf("Stowage: node %d: %w", node, err)
		}
	}
	k, err := newKarpenter(ctx, max(s.types, nodeCPU), c)
	if err != nil {
		return err
	}
	took, answers, err := k.consolidate(ctx, c, s.sample)
	if err != nil {
		return fmt.Errorf("Karpenter: %w", err)
	}
	same, fits := 0, 0
	for node, moves := range answers {
		if (moves == nil) == (ours.moves[node] == nil) {
			same++
		}
		if moves == nil {
			continue
		}
		fits++
		if err := b.check(node, moves); err != nil {
			return fmt.Errorf("Karpenter: node %d: %w", node, err)
		}
	}
	sample := time.Duration(len(answers))
	all := timing{took.wall * time.Duration(s.nodes) / sample, took.cpu * time.Duration(s.nodes) / sample}
	row(fmt.Sprintf("Each of %s nodes alone, %s pods; Karpenter: %d nodes", thousands(s.nodes), thousands(len(c.pods)), sample), all,
		ours.took)
	fmt.Printf("\n- Karpenter: %v for each of %d nodes, %d of them may go.\n- Stowage: %d of %d nodes may go. Both say the same of %d "+
		"of the %d nodes.\n", (took.wall / sample).Round(10*time.Microsecond), sample, fits, drained, s.nodes, same, sample)
	return nil
}

func row(what string, theirs, ours timing) {
	fmt.Printf("| %s | %v | %v | %s | %s |\n", what, rounded(theirs.wall), rounded(ours.wall), ratio(theirs.wall, ours.wall),
		ratio(theirs.cpu, ours.cpu))
}

func ratio(theirs, ours time.Duration) string {
	r := theirs.Seconds() / ours.Seconds()
	if r < 10 {
		return fmt.Sprintf("%.1fx", r)
	}
	return fmt.Sprintf("%.0fx", r)
}

// timing is what something takes on the clock, and in processor time of the whole process.
type timing struct{ wall, cpu time.Duration }

// clock is a point in time.
type clock struct {
	wall time.Time
	cpu  time.Duration
}

func now() clock { return clock{time.Now(), loopback.CPUTime()} }

func (c clock) took() timing { return timing{time.Since(c.wall), loopback.CPUTime() - c.cpu} }

func rounded(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// median is the median of each.
func median(all []timing) timing {
	var wall, cpu []time.Duration
	for _, t := range all {
		wall, cpu = append(wall, t.wall), append(cpu, t.cpu)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return timing{wall[len(wall)/2], cpu[len(cpu)/2]}
}
