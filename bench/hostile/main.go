// Command hostile attacks a server whose memory is limited, one attack after the other, while a neighbour makes calls from another
// address. It prints the server's peak memory, how many calls and connections of the attackers it refused, and how the neighbour's
// calls fared. It exits with 1 if the server took more memory than allowed, or ended, or if a call of the neighbour failed or was
// slow.
//
// The attackers speak HTTP/2 themselves, and do what no gRPC client does. They share the machine with the server and its neighbour, so
// what they send is limited: to what a network of two gigabits carries, and to some calls a second.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/process"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const (
	// memory is the limit of the server, and most what it may take of it.
	memory, most = 2 << 30, memory / 20 * 19
	// slow is how much more than on an idle server the neighbour's 99th percentile may be, and leastKept the percents of its calls that
	// are answered, which have patience as a deadline.
	slow, leastKept, patience = 100 * time.Millisecond, 95, time.Second
	// network and often are the bytes and the calls of the attackers in a second.
	network, often = 250 << 20, 1000
	// pause is the time between two calls of the neighbour.
	pause = 10 * time.Millisecond
)

func main() {
	server := flag.String("server", "", "the server's command")
	nodes := flag.Int("nodes", 5000, "nodes of the neighbour's cluster, with 30 pods each")
	lasts := flag.Duration("duration", 10*time.Second, "for how long each attack lasts")
	only := flag.String("only", "", "attacks whose names contain this")
	each := flag.Duration("each", 3*time.Second, "for how long each attack with a list of the contract lasts")
	every := flag.Int("every", 10, "attack with one of so many lists of the contract, 1 for all of them, 0 for none")
	from := flag.Int("from", time.Now().YearDay(), "which of them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	all := lasting(attacks, *lasts)
	if *every > 0 {
		all = append(all, lasting(drawn(*every, *from), *each)...)
	}
	ok, err := run(ctx, *server, *nodes, all, *lasts, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func lasting(all []attack, lasts time.Duration) []attack {
	out := slices.Clone(all)
	for i := range out {
		out[i].lasts = lasts
	}
	return out
}

// arena is a server, what it knows, and what the attackers got.
type arena struct {
	process *process.Process
	cluster *stowagev1.Cluster
	stored  string
	lasts   time.Duration // the current attack

	bytes, calls *rate.Limiter // of the attackers

	refused atomic.Int64 // connections
	mu      sync.Mutex
	answers map[string]int // of calls, by their grpc-status
}

func (a *arena) snapshot() *stowagev1.DecisionContext {
	return &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: a.stored}}}
}

func (a *arena) count(answers map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for code, n := range answers {
		a.answers[code] += n
	}
}

// start starts a server as it runs in a container with the limit of memory.
func (a *arena) start(ctx context.Context, command string) (err error) {
	server := exec.CommandContext(ctx, command, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--drain-delay=0s")
	server.Env = append(os.Environ(), fmt.Sprintf("GOMEMLIMIT=%d", memory/10*9))
	a.process, err = process.Start(server)
	return err
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the most memory of the server since the last reset, in bytes.
func (a *arena) peak() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.process.Process.Pid))
	if err != nil {
		return 0, err
	}
	m := highWater.FindSubmatch(text)
	if m == nil {
		return 0, errors.New("the server has ended")
	}
	kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
	return kilobytes << 10, err
}

// reset restarts peak.
func (a *arena) reset() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", a.process.Process.Pid), []byte("5"), 0)
}

// neighbour is a well-behaved caller. It makes calls with cached answers, and in turn new ones.
type neighbour struct {
	client          *stowage.Client
	pod             *stowagev1.Pod
	count           int
	remembered, new calls
}

// calls are the results of calls.
type calls struct {
	took   []time.Duration
	failed map[codes.Code]int
}

// live makes calls until the context ends.
func (n *neighbour) live(ctx context.Context, by *stowagev1.DecisionContext) {
	n.remembered, n.new = calls{failed: map[codes.Code]int{}}, calls{failed: map[codes.Code]int{}}
	for ctx.Err() == nil {
		n.count++
		pod := proto.CloneOf(n.pod)
		pod.Labels = map[string]string{"call": strconv.Itoa(n.count)}
		n.remembered.ask(ctx, n.client, &stowagev1.FilterRequest{Context: by, Pod: n.pod})
		n.new.ask(ctx, n.client, &stowagev1.FilterRequest{Context: by, Pod: pod})
		time.Sleep(pause)
	}
	slices.Sort(n.remembered.took)
	slices.Sort(n.new.took)
}

func (c *calls) ask(ctx context.Context, client *stowage.Client, question *stowagev1.FilterRequest) {
	begin := time.Now()
	call, end := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer end()
	_, err := client.Filter(call, question)
	c.took = append(c.took, time.Since(begin))
	if err != nil {
		c.failed[status.Code(err)]++
	}
}

// percentile returns a percentile of the durations of calls.
func (c *calls) percentile(p int) time.Duration {
	if len(c.took) == 0 {
		return 0
	}
	return c.took[min(len(c.took)*p/100, len(c.took)-1)].Round(10 * time.Microsecond)
}

// kept is the share of the calls that were answered, in percent.
func (c *calls) kept() float64 {
	failures := 0
	for _, count := range c.failed {
		failures += count
	}
	return 100 * (1 - float64(failures)/float64(max(len(c.took), 1)))
}

// fares reports whether most calls are answered, and not much slower than without attacks.
func (c *calls) fares(idle time.Duration) bool {
	return c.kept() >= leastKept && c.percentile(99) < idle+slow
}

func run(ctx context.Context, command string, nodes int, all []attack, lasts time.Duration, only string) (ok bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &arena{
		cluster: bigcluster.New(nodes), bytes: rate.NewLimiter(network, 1<<20), calls: rate.NewLimiter(often, 100),
	}
	if err := a.start(ctx, command); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.process.End(syscall.SIGKILL)) }()
	client, err := stowage.Dial([]string{a.process.Address})
	if err != nil {
		return false, err
	}
	defer func() { _ = client.Close() }()
	snapshot, err := stowage.NewSnapshot(bigcluster.Compact(a.cluster))
	if err != nil {
		return false, err
	}
	if err := client.Put(ctx, snapshot); err != nil {
		return false, err
	}
	a.stored = snapshot.Address()
	n := &neighbour{client: client, pod: &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: bigcluster.Template(0)}}}

	ok = true
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "attack\tmemory\tanswers\tconnections refused\tremembered: kept\tp50\tp99\tnew: kept\tp50\tp99\t\n")
	var idle [2]time.Duration
	none := attack{"nothing", with(func(_ *arena, ctx context.Context) { <-ctx.Done() }), lasts}
	for i, attack := range append([]attack{none}, all...) {
		if i > 0 && !strings.Contains(attack.name, only) {
			continue
		}
		held, err := a.under(ctx, &attack, n, &idle, out)
		if err != nil {
			return false, fmt.Errorf("%s: %w", attack.name, err)
		}
		ok = ok && held
	}
	return ok, nil
}

// under attacks the server, and reports whether the limits hold. idle is the neighbour's 99th percentiles without an attack, which
// the first call of under sets.
func (a *arena) under(
	ctx context.Context, attack *attack, n *neighbour, idle *[2]time.Duration, out *tabwriter.Writer,
) (bool, error) {
	a.refused.Store(0)
	a.answers, a.lasts = map[string]int{}, attack.lasts
	if err := a.reset(); err != nil {
		return false, err
	}
	run := attack.prepare(a)
	during, end := context.WithTimeout(ctx, attack.lasts)
	defer end()
	var attackers sync.WaitGroup
	attackers.Go(func() { run(during) })
	n.live(during, a.snapshot())
	attackers.Wait()
	peak, err := a.peak()
	if err != nil {
		return false, err
	}
	if idle[0] == 0 {
		*idle = [2]time.Duration{n.remembered.percentile(99), n.new.percentile(99)}
	}
	held := peak <= most && n.remembered.fares(idle[0]) && n.new.fares(idle[1])
	verdict := ""
	if !held {
		verdict = "BROKEN"
	}
	fmt.Fprintf(out, "%s\t%d MiB\t%s\t%d", attack.name, peak>>20, a.statuses(), a.refused.Load())
	for _, c := range []*calls{&n.remembered, &n.new} {
		fmt.Fprintf(out, "\t%.1f %% of %d", c.kept(), len(c.took))
		for _, code := range slices.Sorted(maps.Keys(c.failed)) {
			fmt.Fprintf(out, ", %d %v", c.failed[code], code)
		}
		fmt.Fprintf(out, "\t%v\t%v", c.percentile(50), c.percentile(99))
	}
	fmt.Fprintf(out, "\t%s\n", verdict)
	return held, out.Flush()
}

// statuses returns the counts of the attackers' answers by status.
func (a *arena) statuses() string {
	var parts []string
	for status, count := range a.answers {
		code, err := strconv.Atoi(status)
		if err != nil {
			code = int(codes.Unknown)
		}
		parts = append(parts, fmt.Sprintf("%d %v", count, codes.Code(code)))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
