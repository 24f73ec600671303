package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stowage-scheduler/stowage/bench/process"
)

// The limits. A refusal may take as long as an idle server needs for the same request beside the same load, if that is longer: then
// both wait for the callers' process or for a processor.
const (
	leastGoodput   = .9
	mostLatency    = 3
	longestRefusal = 10 * time.Millisecond
)

// overloads are the loads as multiples of the peak. The latency at the first one is the reference.
var overloads = []float64{.5, 1, 2, 4}

// row is the figures of a kind of calls, by round.
type row struct {
	name     string
	holdBack bool
	peaks    []float64
	loads    [][]*figures // by overload
}

// figures are the figures of a load in a round.
type figures struct {
	result  *result
	offered float64
	ofPeak  float64 // answers, by the peak
	ofHalf  float64 // p99 by that at half the peak
}

func newRow(name string, holdBack bool) *row {
	if !holdBack {
		name += ", plain callers"
	}
	return &row{name: name, holdBack: holdBack, loads: make([][]*figures, len(overloads))}
}

// measure measures a round.
func (r *row) measure(ctx context.Context, s *process.Process, idle string, f *form, duration time.Duration) error {
	callers, err := dial(s.Address, idle, r.holdBack)
	if err != nil {
		return err
	}
	defer callers.close()
	peak, err := callers.closed(ctx, f, duration)
	if err != nil {
		return err
	}
	r.peaks = append(r.peaks, peak)
	var half time.Duration
	for i, times := range overloads {
		result := callers.open(ctx, f, times*peak, duration, mostLatency*half)
		if i == 0 {
			half = result.p99()
		}
		r.loads[i] = append(r.loads[i], &figures{
			result, times * peak, result.rate() / peak, result.p99().Seconds() / half.Seconds(),
		})
		time.Sleep(time.Second / 2) // what was begun is over
	}
	return ctx.Err()
}

// median returns the median of a figure of a load.
func median[T cmp.Ordered](of []*figures, figure func(*figures) T) T {
	var all []T
	for _, f := range of {
		all = append(all, figure(f))
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// table prints the medians of all rows, and reports whether all limits hold.
func table(rows []*row) (ok bool, err error) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "call\tload\toffered/s\tsent/s\tanswered/s\tof peak\tp99\tof half's\trefused/s\tp99\tidle server\tat the deadline\tother errors\tmade late, p99\ttoo late\t")
	ok = true
	for _, r := range rows {
		slices.Sort(r.peaks)
		fmt.Fprintf(out, "%s\tpeak\t\t\t%.0f\t1.00\t\t\t\t\t\t\t\t\t\t\n", r.name, r.peaks[(len(r.peaks)-1)/2])
		for i, times := range overloads {
			missed := r.print(out, times, r.loads[i])
			ok = ok && (len(missed) == 0 || !r.holdBack)
		}
	}
	return ok, out.Flush()
}

func (r *row) print(out *tabwriter.Writer, times float64, of []*figures) (missed []string) {
	miss := func(is bool, what string) {
		if is {
			missed = append(missed, what)
		}
	}
	ofPeak := median(of, func(f *figures) float64 { return f.ofPeak })
	ofHalf := median(of, func(f *figures) float64 { return f.ofHalf })
	refusal := median(of, func(f *figures) time.Duration { return f.result.refusal() })
	floor := median(of, func(f *figures) time.Duration { return f.result.least() })
	unexplained, others := 0, 0
	var errors []string
	for _, f := range of {
		unexplained += f.result.unexplained
		for _, n := range f.result.others {
			others += n
		}
		if e := f.result.otherErrors(); e != "" {
			errors = append(errors, e)
		}
	}
	verdict := ""
	if times >= 1 {
		miss(times == 4 && ofPeak < leastGoodput, "goodput")
		miss(ofHalf > mostLatency, "latency")
		miss(others > 0, "other errors")
		miss(refusal > max(longestRefusal, floor), "refusals late")
		miss(unexplained > 0, "refusals without RetryInfo")
		verdict = "ok"
		if len(missed) > 0 {
			verdict = "MISSED: " + strings.Join(missed, ", ")
		}
	}
	fmt.Fprintf(out, "\t%g times\t%.0f\t%.0f\t%.0f\t%.2f\t%v\t%.2f\t%.0f\t%v\t%v\t%.2f %%\t%s\t%v\t%.0f\t%s\n", times,
		median(of, func(f *figures) float64 { return f.offered }),
		median(of, func(f *figures) float64 { return f.result.perSecond(int(f.result.sent)) }),
		median(of, func(f *figures) float64 { return f.result.rate() }), ofPeak,
		short(median(of, func(f *figures) time.Duration { return f.result.p99() })), ofHalf,
		median(of, func(f *figures) float64 { return f.result.perSecond(len(f.result.refused)) }), short(refusal), short(floor),
		100*median(of, func(f *figures) float64 { return f.result.overdue() }), strings.Join(errors, "; "), short(median(of, func(f *figures) time.Duration { return f.result.lag() })),
		median(of, func(f *figures) float64 { return f.result.perSecond(f.result.late) }), verdict)
	return missed
}
