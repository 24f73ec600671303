// Command schedulerlibrary compares sigs.k8s.io/scheduler-library with the same interface over Stowage, in one process and on the same
// objects: how long calls take, and whether the answers agree.
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
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/stowage-scheduler/stowage/bench/loopback"
)

func main() {
	log.SetFlags(log.Ltime)
	klog.SetLogger(klog.TODO().V(0))
	sizes := flag.String("nodes", "1000,5000", "numbers of nodes, with ten pods on each")
	turns := flag.Int("turns", 9, "how often each call is timed")
	flag.Parse()
	if err := run(context.Background(), strings.Split(*sizes, ","), *turns); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sizes []string, turns int) error {
	fmt.Printf("%d cores, %s, medians of %d\n\n", runtime.GOMAXPROCS(0), runtime.Version(), turns)
	fmt.Println("| nodes | call | library | Stowage | times faster | in processor time |\n|---|---|---|---|---|---|")
	for _, size := range sizes {
		nodes, err := strconv.Atoi(size)
		if err != nil {
			return err
		}
		o := newObjects(nodes)
		row := func(call string, took [2]times) {
			library, stowage := median(took[0].wall), median(took[1].wall)
			fmt.Printf("| %d | %s | %s | %s | %s | %s |\n", nodes, call, duration(library), duration(stowage),
				ratio(library, stowage), ratio(median(took[0].cpu), median(took[1].cpu)))
		}
		theirs, ours, err := build(ctx, o, turns, row)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", nodes, err)
		}
		took, err := follow(ctx, o, turns)
		if err != nil {
			return fmt.Errorf("%d nodes: %w", nodes, err)
		}
		row("a pod is bound: a snapshot of the live state, CanSchedulePod", took)
		for _, c := range cases(o) {
			took, err := c.compare(ctx, theirs, ours, turns)
			if err != nil {
				return fmt.Errorf("%d nodes: %s: %w", nodes, c.name, err)
			}
			row(c.name, took)
		}
	}
	return nil
}

// compare times both by turns. Short calls are repeated within a turn. All answers must agree.
func (c *timed) compare(ctx context.Context, theirs, ours *side, turns int) (took [2]times, err error) {
	var first *answer
	runtime.GC()
	for turn := range turns + 1 {
		for i, s := range []*side{theirs, ours} {
			for turned := time.Now(); time.Since(turned) < 50*time.Millisecond; {
				call := c.prepare(s)
				begin := now()
				got, err := call(ctx)
				if turn > 0 { // the first calls read more
					took[i].add(begin)
				}
				switch {
				case err != nil:
					return took, err
				case first == nil:
					first = &got
				case got != *first:
					return took, fmt.Errorf("an answer of %s is %v, the library's is %v", []string{"the library", "Stowage"}[i], got, *first)
				}
			}
		}
	}
	return took, nil
}

// build makes a snapshot of objects, several times, and returns the last one of both.
func build(ctx context.Context, o *objects, turns int, row func(string, [2]times)) (theirs, ours *side, err error) {
	var took [2]times
	for range turns {
		for i, of := range []struct {
			to   **side
			make func(context.Context, *objects) (*side, error)
		}{{&theirs, newLibrary}, {&ours, newStowage}} {
			*of.to = nil
			runtime.GC()
			begin := now()
			if *of.to, err = of.make(ctx, o); err != nil {
				return nil, nil, err
			}
			took[i].add(begin)
		}
	}
	row("a snapshot of all objects", took)
	return theirs, ours, nil
}

// times are of the same call, on the clock and of the process.
type times struct{ wall, cpu []time.Duration }

func (t *times) add(begin clock) {
	t.wall, t.cpu = append(t.wall, time.Since(begin.wall)), append(t.cpu, loopback.CPUTime()-begin.cpu)
}

// clock is a moment on the clock, and the processor time until then.
type clock struct {
	wall time.Time
	cpu  time.Duration
}

func now() clock { return clock{time.Now(), loopback.CPUTime()} }

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// ratio is a quotient with two digits.
func ratio(a, b time.Duration) string {
	if r := float64(a) / float64(b); r < 10 {
		return strconv.FormatFloat(r, 'g', 2, 64)
	}
	return strconv.FormatFloat(float64(a)/float64(b), 'f', 0, 64)
}

// duration is a time with three digits.
func duration(d time.Duration) string {
	unit := time.Millisecond
	if d < unit {
		unit = time.Microsecond
	}
	text := strconv.FormatFloat(float64(d)/float64(unit), 'g', 3, 64)
	if value, err := strconv.ParseFloat(text, 64); err == nil && value >= 1000 {
		text = strconv.FormatFloat(value, 'f', 0, 64)
	}
	if unit == time.Millisecond {
		return text + " ms"
	}
	return text + " µs"
}
