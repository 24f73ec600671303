//go:build unix

// Command solver compares joint placement with OR-Tools CP-SAT, on instances by the recipe of arXiv 2511.08373, in equal time. All
// answers are checked here.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "solver:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) error {
	nodes := flag.String("nodes", "4,8,16,32", "numbers of nodes")
	pods := flag.String("pods", "4,8", "pods per node")
	priorities := flag.String("priorities", "1,2,4", "numbers of priorities")
	utils := flag.String("util", "0.90,0.95,1.00,1.05", "requests by room")
	instances := flag.Int("instances", 3, "instances of each kind")
	budget := flag.Duration("budget", time.Second, "time for each answer")
	workers := flag.Int("workers", 2, "workers of CP-SAT")
	script := flag.String("cpsat", "", "cpsat.mjs beside its modules; without it there is no comparison")
	verbose := flag.Bool("v", false, "print every instance")
	flag.Parse()
	var shapes []shape
	for _, n := range numbers(*nodes) {
		for _, per := range numbers(*pods) {
			for _, p := range numbers(*priorities) {
				for _, u := range numbers(*utils) {
					shapes = append(shapes, shape{int(n), int(per), int(p), u})
				}
			}
		}
	}
	b := &bench{w: w, budget: *budget, workers: *workers, verbose: *verbose, byNodes: map[string]*tally{}}
	if *script != "" {
		if err := b.start(*script); err != nil {
			return err
		}
	}
	for _, s := range shapes {
		for seed, found := uint64(1), 0; found < *instances; seed++ {
			in := generate(s, seed)
			usual, err := place(in, *budget, false)
			if err != nil {
				return err
			}
			// As in the paper, where all could fit only those count that kube-scheduler does not place in full.
			if s.util < 1 && slices.Equal(usual.counts, in.total()) && seed < 500 {
				continue
			}
			found++
			if err := b.compare(in, usual); err != nil {
				return fmt.Errorf("%+v, seed %d: %w", s, seed, err)
			}
		}
	}
	b.print()
	return nil
}

func numbers(list string) (out []float64) {
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		out = append(out, n)
	}
	return out
}

// answer is the placement of the pods.
type answer struct {
	at      []int
	counts  []int // by priority, highest first
	optimal bool
	seconds float64 // on the clock
	cpu     float64 // of the processor
}

// place places the pods one by one, as kube-scheduler does, or jointly.
func place(in *instance, budget time.Duration, joint bool) (*answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	begin, spent := time.Now(), processorSeconds()
	c, err := engine.Compile(ctx, in.cluster())
	if err != nil {
		return nil, err
	}
	queue := in.queue()
	o := engine.PlaceOptions{Profile: api.Kube137()}
	if joint {
		g := engine.PodGroup{Name: "all", Minimum: 1, Joint: true, Steps: 1 << 26}
		for i := range queue {
			g.Entries = append(g.Entries, i)
		}
		o.Groups, o.Partial = []engine.PodGroup{g}, true
	}
	result, err := c.Place(ctx, queue, o)
	if err != nil {
		return nil, err
	}
	a := &answer{seconds: time.Since(begin).Seconds(), cpu: processorSeconds() - spent}
	for i, p := range result.Placements {
		for k := range queue[i].Count {
			if k < len(p.Nodes) {
				a.at = append(a.at, int(p.Nodes[k]))
			} else {
				a.at = append(a.at, -1)
			}
		}
	}
	if joint {
		a.optimal = result.Groups[0].Most
	}
	a.counts, err = in.check(a.at)
	return a, err
}

// bench compares answers.
type bench struct {
	w       io.Writer
	budget  time.Duration
	workers int
	verbose bool
	in      io.Writer
	out     *bufio.Scanner
	byNodes map[string]*tally
	names   []string
}

// start starts the process of CP-SAT.
func (b *bench) start(script string) error {
	cmd := exec.Command("node", script)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	b.in, b.out = in, bufio.NewScanner(out)
	b.out.Buffer(nil, 1<<20)
	// The runtime compiles the solver while it runs: warm up, so that no answer comes from its interpreter.
	for seed := range uint64(4) {
		first := generate(shape{8, 8, 2, 1}, seed)
		if _, err = b.solve(first, slices.Repeat([]int{-1}, len(first.pods)), 5*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// solve calls CP-SAT. hint is a valid answer.
func (b *bench) solve(in *instance, hint []int, budget time.Duration) (*answer, error) {
	type podRequest struct {
		CPU      int64 `json:"cpu"`
		Mem      int64 `json:"mem"`
		Priority int   `json:"priority"`
	}
	q := struct {
		Nodes   int          `json:"nodes"`
		CPU     int64        `json:"cpu"`
		Mem     int64        `json:"mem"`
		Pods    []podRequest `json:"pods"`
		Hint    []int        `json:"hint"`
		Seconds float64      `json:"seconds"`
		Workers int          `json:"workers"`
	}{Nodes: in.nodes, CPU: in.cpu, Mem: in.mem, Hint: hint, Seconds: budget.Seconds(), Workers: b.workers}
	for _, p := range in.pods {
		q.Pods = append(q.Pods, podRequest{p.cpu, p.mem, p.priority})
	}
	line, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if _, err := b.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if !b.out.Scan() {
		return nil, errors.Join(errors.New("CP-SAT gave no answer"), b.out.Err())
	}
	var r struct {
		At      []int   `json:"at"`
		Optimal bool    `json:"optimal"`
		Seconds float64 `json:"seconds"`
		CPU     float64 `json:"processor"`
	}
	if err := json.Unmarshal(b.out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("%w: %s", err, b.out.Bytes())
	}
	counts, err := in.check(r.At)
	return &answer{r.At, counts, r.Optimal, r.Seconds, r.CPU}, err
}

// tally is the results of several instances.
type tally struct {
	instances, pods             int
	better, equal, worse        int // than CP-SAT
	usual, ours, cpsat          int // placed pods
	oursProved, cpsatProved     int
	oursSeconds, cpsatSeconds   float64
	oursCPU, cpsatCPU           float64
	oursImproved, cpsatImproved int // more than kube-scheduler
	contradictions              int
	oursGap, cpsatGap           int // pods fewer than the bound
}

func (b *bench) compare(in *instance, usual *answer) error {
	ours, err := place(in, b.budget, true)
	if err != nil {
		return fmt.Errorf("ours: %w", err)
	}
	cpsat := usual
	if b.in != nil {
		if cpsat, err = b.solve(in, usual.at, b.budget); err != nil {
			return fmt.Errorf("CP-SAT: %w", err)
		}
		if slices.Compare(cpsat.counts, usual.counts) < 0 {
			cpsat = &answer{usual.at, usual.counts, false, cpsat.seconds, cpsat.cpu}
		}
	}
	for _, name := range []string{fmt.Sprintf("%d nodes", in.nodes), fmt.Sprintf("load %.2f", in.util), "all"} {
		t := b.byNodes[name]
		if t == nil {
			t = &tally{}
			b.byNodes[name] = t
			b.names = append(b.names, name)
		}
		t.add(in, usual, ours, cpsat)
	}
	if b.verbose {
		fmt.Fprintf(b.w, "%+v seed %d of %v: kube %v, ours %v %v %.2fs, CP-SAT %v %v %.2fs\n", in.shape, in.seed, in.total(),
			usual.counts, ours.counts, ours.optimal, ours.seconds, cpsat.counts, cpsat.optimal, cpsat.seconds)
	}
	return nil
}

// processorSeconds is the processor time of this process.
func processorSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

func (t *tally) add(in *instance, usual, ours, cpsat *answer) {
	t.instances++
	t.pods += len(in.pods)
	t.usual, t.ours, t.cpsat = t.usual+sum(usual.counts), t.ours+sum(ours.counts), t.cpsat+sum(cpsat.counts)
	t.oursSeconds, t.cpsatSeconds = t.oursSeconds+ours.seconds, t.cpsatSeconds+cpsat.seconds
	t.oursCPU, t.cpsatCPU = t.oursCPU+ours.cpu, t.cpsatCPU+cpsat.cpu
	count := func(n *int, v bool) {
		if v {
			*n++
		}
	}
	c := slices.Compare(ours.counts, cpsat.counts)
	count(&t.better, c > 0)
	count(&t.equal, c == 0)
	count(&t.worse, c < 0)
	count(&t.oursProved, ours.optimal)
	count(&t.cpsatProved, cpsat.optimal)
	count(&t.oursImproved, slices.Compare(ours.counts, usual.counts) > 0)
	count(&t.cpsatImproved, slices.Compare(cpsat.counts, usual.counts) > 0)
	count(&t.contradictions, c > 0 && cpsat.optimal || c < 0 && ours.optimal)
	bound := in.bound()
	t.oursGap += bound - sum(ours.counts)
	t.cpsatGap += bound - sum(cpsat.counts)
}

func (b *bench) print() {
	fmt.Fprintln(b.w, "| instances | number | pods | placed in order | jointly | CP-SAT | better, equal, worse | proved jointly, by CP-SAT | "+
		"more than in order jointly, by CP-SAT | below the bound jointly, CP-SAT | mean time jointly, CP-SAT | of the processor |")
	fmt.Fprintln(b.w, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	slices.SortStableFunc(b.names, func(x, y string) int { return strings.Compare(kind(x), kind(y)) })
	for _, name := range b.names {
		t := b.byNodes[name]
		percent := func(n int) string { return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(t.instances)) }
		fmt.Fprintf(b.w, "| %s | %d | %d | %d | %d | %d | %d, %d, %d | %s, %s | %s, %s | %d, %d | %.2f s, %.2f s | %.2f s, %.2f s |\n",
			name, t.instances, t.pods, t.usual, t.ours, t.cpsat, t.better, t.equal, t.worse, percent(t.oursProved), percent(t.cpsatProved),
			percent(t.oursImproved), percent(t.cpsatImproved), t.oursGap, t.cpsatGap,
			t.oursSeconds/float64(t.instances), t.cpsatSeconds/float64(t.instances), t.oursCPU/float64(t.instances), t.cpsatCPU/float64(t.instances))
		if t.contradictions > 0 {
			fmt.Fprintf(b.w, "\n%d answers are proved to be best and are not\n\n", t.contradictions)
		}
	}
}

// kind sorts numbers of nodes, then loads, then all.
func kind(name string) string {
	switch {
	case strings.HasSuffix(name, "nodes"):
		return fmt.Sprintf("a%10s", name)
	case name == "all":
		return "c"
	}
	return "b" + name
}
