// Command chaos calls three replicas of a server and fails them one after the other: it kills, terminates and stops one, drops all
// bytes to one, slows one down a hundred times, and restarts all in turn. Callers have deadlines of a second. It exits with 1 if a
// call failed, if an answer was wrong, or if the rate of answers fell below half while one replica was stopped.
//
// Each replica is behind a proxy of its own, which keeps its address. A server without faults gives the right answers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

func main() {
	server := flag.String("server", "", "the server's command")
	minutes := flag.Float64("minutes", 1, "for how long; all faults come in any case")
	nodes := flag.Int("nodes", 2000, "nodes of the cluster, with 30 pods each; one leaves each second")
	number := flag.Int("callers", 8, "callers at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := run(ctx, *server, *nodes, *number, time.Duration(*minutes*float64(time.Minute)))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// fault is a fault of a replica.
type fault struct {
	name   string
	happen func(ctx context.Context, r *replica) error
}

// long is the duration of a fault that does not end by itself.
const long = 10 * time.Second

// during sets something, waits, and sets it back.
func during(begin, end func(r *replica) error) func(context.Context, *replica) error {
	return func(ctx context.Context, r *replica) error {
		if err := begin(r); err != nil {
			return err
		}
		sleep(ctx, long)
		return end(r)
	}
}

// slowness is a hundred times what a call takes.
const slowness = 100 * time.Millisecond

func faults(all []*replica) []fault {
	return []fault{
		{"nothing", during(func(*replica) error { return nil }, func(*replica) error { return nil })},
		{"killed", func(ctx context.Context, r *replica) error { return r.restart(ctx, syscall.SIGKILL) }},
		{"terminated", func(ctx context.Context, r *replica) error { return r.restart(ctx, syscall.SIGTERM) }},
		{"stopped", during(func(r *replica) error { return r.signal(syscall.SIGSTOP) },
			func(r *replica) error { return r.signal(syscall.SIGCONT) })},
		{"black hole", during(func(r *replica) error { r.proxy.hole.Store(true); return nil },
			func(r *replica) error { r.proxy.hole.Store(false); return nil })},
		{"slow", during(func(r *replica) error { r.proxy.late.Store(int64(slowness / 2)); return nil },
			func(r *replica) error { r.proxy.late.Store(0); return nil })},
		{"all restarted", func(ctx context.Context, _ *replica) error {
			for _, r := range all {
				if err := r.restart(ctx, syscall.SIGTERM); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

func run(ctx context.Context, command string, nodes, number int, lasts time.Duration) (ok bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var replicas []*replica
	defer func() {
		for _, r := range replicas {
			err = errors.Join(err, r.proxy.close(), r.process.End(syscall.SIGKILL))
		}
	}()
	for range 4 { // the last is for the right answers
		r, err := newReplica(ctx, command)
		if err != nil {
			return false, err
		}
		replicas = append(replicas, r)
	}
	reference, err := stowage.Dial([]string{replicas[3].proxy.address()})
	if err != nil {
		return false, err
	}
	defer func() { _ = reference.Close() }()
	client, err := stowage.Dial([]string{
		replicas[0].proxy.address(), replicas[1].proxy.address(), replicas[2].proxy.address(),
	}, stowage.WithPatience(2*time.Second))
	if err != nil {
		return false, err
	}
	defer func() { _ = client.Close() }()
	s, err := stowage.NewSnapshot(bigcluster.Compact(bigcluster.New(nodes)))
	if err != nil {
		return false, err
	}
	c := &callers{client: client, reference: reference}
	first := &version{snapshot: s}
	if err := errors.Join(first.answer(ctx, reference), client.Put(ctx, s)); err != nil {
		return false, err
	}
	c.now.Store(first)
	c.counts.Store(&counts{})
	calling, rest := context.WithCancel(ctx)
	var all sync.WaitGroup
	var changed error
	c.call(calling, &all, number)
	all.Go(func() { changed = c.change(calling) })
	sleep(ctx, 3*time.Second) // caches fill
	ok, err = c.through(ctx, replicas[:3], lasts)
	rest()
	all.Wait()
	return ok, errors.Join(err, changed)
}

// through injects all faults, again and again, and prints the results of the calls during each fault and in the seconds after.
func (c *callers) through(ctx context.Context, replicas []*replica, lasts time.Duration) (bool, error) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer func() { _ = out.Flush() }()
	fmt.Fprintln(out, "one of three replicas is\tfor\tcalls\tfailed\twrong\tslowest\tof the calls with nothing\t")
	begin, ok, turn := time.Now(), true, 0
	var calm float64
	for turn == 0 || time.Since(begin) < lasts {
		for _, f := range faults(replicas) {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			now := &counts{}
			c.counts.Store(now)
			from := time.Now()
			if err := f.happen(ctx, replicas[turn%3]); err != nil {
				return false, fmt.Errorf("%s: %w", f.name, err)
			}
			sleep(ctx, 3*time.Second)
			now.took = time.Since(from)
			if f.name == "nothing" {
				calm = now.perSecond()
			}
			share := now.perSecond() / calm
			missed := now.failed.Load()+now.wrong.Load() > 0 || f.name == "stopped" && share < .5
			ok = ok && !missed
			note := ""
			if missed {
				note = "<- missed"
			}
			if first := now.first.Load(); first != nil {
				note += " " + *first
			}
			fmt.Fprintf(out, "%s\t%.0f s\t%d\t%d\t%d\t%v\t%.0f %%\t%s\n", f.name, now.took.Seconds(), now.calls.Load(), now.failed.Load(),
				now.wrong.Load(), time.Duration(now.slowest.Load()).Round(time.Millisecond), 100*share, note)
			_ = out.Flush()
		}
		turn++
	}
	return ok, nil
}
