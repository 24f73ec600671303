// Command throughput has plain kube-scheduler, kube-scheduler with stowage-extender, and stowage-batch bind the same pods in
// the same control plane, one after the other, and prints how many a second each bound and where a pod's time went. It
// checks that every pod is bound and no rule is violated. `make e2e-bench` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
)

func main() {
	bin := flag.String("bin", os.Getenv("E2E_BIN"), "directory with the control plane's commands")
	commands := flag.String("commands", os.Getenv("E2E_COMMANDS"), "directory with this project's commands")
	repository := flag.String("repository", ".", "the repository")
	nodes := flag.String("nodes", "1000,5000", "numbers of nodes")
	pods := flag.Int("pods", 600, "pods of each kind")
	only := flag.String("only", "", "names of schedulers to run, all if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *bin, *commands, *repository, *nodes, *pods, *only)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, bin, commands, repository, nodes string, pods int, only string) error {
	var results []result
	before := load()
	for text := range strings.SplitSeq(nodes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		of, err := runSize(ctx, bin, commands, repository, n, pods, only)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
		results = append(results, of...)
	}
	fmt.Printf("%d cores, load %s before and %s after; %d pods of each kind, %d zones; etcd without fsync.\n\n",
		runtime.NumCPU(), before, load(), pods, zones)
	printRates(results)
	printTimes(results)
	return nil
}

// runSize runs all schedulers on a cluster of one size.
func runSize(ctx context.Context, bin, commands, repository string, nodes, pods int, only string) ([]result, error) {
	dir, err := os.MkdirTemp("", "stowage-throughput-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c, err := controlplane.Start(ctx, bin, dir)
	if err != nil {
		return nil, err
	}
	defer c.Stop()
	if repository, err = filepath.Abs(repository); err != nil {
		return nil, err
	}
	if commands, err = filepath.Abs(commands); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := controlplane.FakeNodes(ctx, c.Client, nodes, zones); err != nil {
		return nil, err
	}
	log.Printf("%d nodes after %.1f s", nodes, time.Since(begin).Seconds())
	var out []result
	for _, s := range schedulers {
		if only != "" && !strings.Contains(only, s.name) {
			continue
		}
		// Each starts with what it needs, and everything of the one before has ended.
		r, err := measure(ctx, c, s, commands, repository, nodes, pods)
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", s.name, err, c.Logs(10))
		}
		out = append(out, r)
	}
	return out, nil
}

// load is the machine's load of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
