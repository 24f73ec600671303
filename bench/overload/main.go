// Command overload puts more load on a server than it can answer. It checks that the server answers as much as before and refuses
// the rest in time. It exits with 1 if a row misses a limit.
//
// Calls come at a fixed rate, whether earlier ones have ended or not, and their latencies count from when they were due. All figures
// are relative to the same run: the peak is the rate of callers that wait for each answer, and the reference latency is the latency
// at half the peak. Each call has a deadline of three times the reference, from when it was due; a call that ends there counts as
// accepted, and late. Beside each load an idle server in this process, which receives the same requests and does nothing, is called
// a hundred times a second: its latency is the share of this process and the processors. All loads come in several rounds, and the
// figures are their medians.
//
// Callers back off after refusals, as clients/stowage does. The callers of the last rows do not; no limits apply to these rows.
//
// With -hostile a neighbour makes new and cached calls at a quarter of the peak. From another address, a number of callers each
// place a million pods with three hard spread constraints, and try again after each refusal. Then a tenth as many callers
// send 100,000 empty scenarios each, and as many send 10,000 empty templates of nodes, which are work to decode.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/bench/process"
)

func main() {
	server := flag.String("server", "", "the server's command")
	nodes := flag.Int("nodes", 1000, "nodes of the cluster, with 30 pods each")
	duration := flag.Duration("duration", 3*time.Second, "how long each load lasts")
	rounds := flag.Int("rounds", 5, "how often all loads come in turn; the figures are medians")
	hostile := flag.Int("hostile", 0, "callers who place a million pods each; 0 measures the overload of ordinary calls")
	forms := flag.String("forms", "address,inline,place", "the calls to overload with")
	echo := flag.Bool("floor", false, "measure plain callers of a server that computes nothing and refuses three of four calls for nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if *echo {
		err := floor(ctx, *nodes, *rounds, *duration)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, "overload:", err)
			os.Exit(1)
		}
		return
	}
	ok, err := run(ctx, *server, *nodes, *rounds, *hostile, strings.Split(*forms, ","), *duration)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, command string, nodes, rounds, hostile int, forms []string, duration time.Duration) (ok bool, err error) {
	s, err := start(ctx, command)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.End(syscall.SIGTERM)) }()
	idle, err := loopback.ServeEcho()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, idle.Stop()) }()
	all, err := requests(ctx, s.Address, nodes)
	if err != nil {
		return false, err
	}
	if hostile > 0 {
		return besideHostile(ctx, s, idle.Address, all, hostile, duration)
	}
	var rows []*row
	for range rounds { // in turn, as the machine's speed changes
		for i, name := range forms {
			form := all[name]
			if form == nil {
				return false, fmt.Errorf("no calls %q", name)
			}
			for j, holdBack := range []bool{true, false} {
				k := 2*i + j
				if k == len(rows) {
					rows = append(rows, newRow(form.name, holdBack))
				}
				if err := rows[k].measure(ctx, s, idle.Address, form, duration); err != nil {
					return false, err
				}
			}
		}
	}
	return table(rows)
}

// The limits beside hostile callers.
const (
	leastKept     = .95
	longestHealth = 100 * time.Millisecond
)

// decoded is the number of callers whose requests are work to decode, as a fraction of the callers whose requests compute.
const decoded = 10

func besideHostile(
	ctx context.Context, s *process.Process, idle string, all map[string]*form, hostile int, duration time.Duration,
) (ok bool, err error) {
	callers, err := dial(s.Address, idle, true)
	if err != nil {
		return false, err
	}
	defer callers.close()
	peak, err := callers.closed(ctx, all["address"], duration)
	if err != nil {
		return false, err
	}
	forms := []*form{all["address"], all["remembered"]}
	alone := neighbour(ctx, callers, forms, peak/8, duration)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "beside\tneighbour's\toffered/s\tanswered/s\tkept\tp50\tp99\trefused\tother errors\t")
	row := func(beside string, results []*result) (held bool) {
		held = true
		for i, r := range results {
			kept := r.rate() / alone[i].rate()
			held = held && kept >= leastKept
			fmt.Fprintf(out, "%s\t%s\t%.0f\t%.0f\t%.1f %%\t%v\t%v\t%d\t%s\t\n", beside, forms[i].name, peak/8, r.rate(), 100*kept,
				short(r.p50()), short(r.p99()), len(r.refused), r.otherErrors())
		}
		return held
	}
	row("nobody", alone)
	ok = true
	for _, attack := range []struct {
		form    string
		callers int
	}{{"hostile", hostile}, {"scenarios", hostile / decoded}, {"templates", hostile / decoded}} {
		f := all[attack.form]
		h, err := startHostile(ctx, s.Address, f, attack.callers)
		if err != nil {
			return false, err
		}
		health := watchHealth(ctx, s.Admin)
		time.Sleep(duration / 2)
		beside := neighbour(ctx, callers, forms, peak/8, 2*duration)
		slowest, failed := health.stop()
		refused, others := h.stop()
		held := row(fmt.Sprintf("%d of %s", attack.callers, f.name), beside) && slowest <= longestHealth && failed == 0
		ok = ok && held
		if err := out.Flush(); err != nil {
			return false, err
		}
		fmt.Printf("%s: %d refusals, %d other endings; /healthz: slowest %v, %d failed\n", f.name, refused, others, short(slowest), failed)
		if !held {
			fmt.Println("MISSED")
		}
	}
	return ok, nil
}

// neighbour makes calls of several forms at a time, each at a rate.
func neighbour(ctx context.Context, by *callers, forms []*form, rate float64, duration time.Duration) []*result {
	const deadline = time.Second
	out := make([]*result, len(forms))
	var all sync.WaitGroup
	for i, f := range forms {
		all.Go(func() { out[i] = by.open(ctx, f, rate, duration, deadline) })
	}
	all.Wait()
	return out
}

// short leaves three digits.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
