// Command overload puts more load on a server than it can answer, and tells whether it answers as much as before and refuses the
// rest in time. It exits with 1 if a row misses what must hold.
//
// Calls come at a fixed rate, whether earlier ones have ended or not, and their latencies count from when they were due. All
// figures are relative to the same run: the peak is what callers that wait for each answer get, and the latency that others
// are compared with is that at half the peak. Each call has a deadline of three times that, from when it was due; one that
// ends there counts as accepted, and late. Beside each load an idle server in this process, which receives the same requests
// and does nothing, is called a hundred times a second: what its calls take is what this process and the processors take. All
// loads come in several rounds, and the figures are medians of these.
//
// Callers hold back after refusals, as clients/stowage does. Those of the rows after them do not; nothing has to hold for them.
//
// With -hostile a neighbour asks at a quarter of the peak, from another address than that many callers who each place a million pods with
// three hard spread constraints, and do so again when they are refused.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
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

// What must hold beside hostile callers.
const (
	leastKept     = .95
	longestHealth = 100 * time.Millisecond
)

func besideHostile(
	ctx context.Context, s *process.Process, idle string, all map[string]*form, hostile int, duration time.Duration,
) (ok bool, err error) {
	callers, err := dial(s.Address, idle, true)
	if err != nil {
		return false, err
	}
	defer callers.close()
	f := all["address"]
	peak, err := callers.closed(ctx, f, duration)
	if err != nil {
		return false, err
	}
	const deadline = time.Second
	alone := callers.open(ctx, f, peak/4, duration, deadline)
	h, err := startHostile(ctx, s.Address, all["hostile"].next(), hostile)
	if err != nil {
		return false, err
	}
	health := watchHealth(ctx, s.Admin)
	time.Sleep(duration / 2)
	beside := callers.open(ctx, f, peak/4, 2*duration, deadline)
	slowest, failed := health.stop()
	refused, others := h.stop()
	kept := beside.rate() / alone.rate()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "neighbour\toffered/s\tanswered/s\tp50\tp99\trefused\tother errors\t")
	for i, r := range []*result{alone, beside} {
		fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%v\t%v\t%d\t%s\t\n", []string{"alone", "beside"}[i], peak/4, r.rate(),
			short(r.p50()), short(r.p99()), len(r.refused), r.otherErrors())
	}
	if err := out.Flush(); err != nil {
		return false, err
	}
	fmt.Printf("%d hostile callers: %d refusals, %d other endings; the neighbour keeps %.1f %% of its calls; "+
		"/healthz: slowest %v, %d failed\n", hostile, refused, others, 100*kept, short(slowest), failed)
	ok = kept >= leastKept && slowest <= longestHealth && failed == 0
	if !ok {
		fmt.Println("MISSED")
	}
	return ok, nil
}

// short leaves three digits.
func short(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
