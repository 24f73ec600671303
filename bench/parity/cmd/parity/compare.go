package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/compare"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/bench/parity/shrink"
)

// shrinkTries bounds how often a case is decided while it is made small: some 10 ms each.
const shrinkTries = 3000

// finding is a case and what came of it.
type finding struct {
	seed        uint64
	c           *scenario.Case
	result      *compare.Result
	nominations compare.Nominations
	err         error
}

// compareCases compares all cases and reports; it is true if none differs.
func compareCases(ctx context.Context, o *options) (bool, error) {
	seeds, findings := make(chan uint64), make(chan finding)
	go func() {
		defer close(seeds)
		for seed := o.seedFrom; seed < o.seedFrom+o.cases; seed++ {
			select {
			case seeds <- seed:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range o.workers {
		workers.Go(func() {
			for seed := range seeds {
				f := finding{seed: seed, c: generate.Case(o.profileOf(seed), seed)}
				if f.result, f.err = compare.Run(ctx, f.c, o.stowage); f.err == nil && f.result.Answers != nil {
					f.nominations, f.err = compare.NominationsOf(f.c, f.result.Answers)
				}
				if ctx.Err() != nil {
					return // what differs may differ because the case was cut off
				}
				findings <- f
			}
		})
	}
	go func() {
		workers.Wait()
		close(findings)
	}()

	var tally compare.Tally
	undecided, overflows := 0, 0
	kept := map[string]int{}
	last := time.Now()
	next, ahead := o.seedFrom, map[uint64]bool{} // all cases before next were compared
	for f := range findings {
		ahead[f.seed] = true
		for ; ahead[next]; next++ {
			delete(ahead, next)
		}
		if overflow := new(oracle.OverflowError); errors.As(f.err, &overflow) {
			overflows++
			continue
		}
		if f.err != nil {
			undecided++
			fmt.Printf("%s: kube-scheduler does not decide: %v\n", f.c.Name, f.err)
			continue
		}
		tally.Add(f.result)
		tally.AddScenarios(f.c, f.result)
		if f.result.Answers != nil {
			tally.AddNominations(f.nominations)
			tally.AddPreemptions(compare.PreemptionsOf(f.c, f.result.Answers))
		}
		if d := f.result.Differences; len(d) > 0 {
			fmt.Printf("%s: %v\n", f.c.Name, kinds(d))
			if kept[d[0].Kind]++; kept[d[0].Kind] <= o.keep {
				if err := o.report(ctx, f); err != nil {
					return false, err
				}
			}
		}
		if time.Since(last) > 30*time.Second {
			last = time.Now()
			fmt.Printf("%d of %d cases, %d different\n", tally.Cases, o.cases, tally.Different)
		}
	}
	tally.Print(os.Stdout)
	if overflows > 0 {
		fmt.Printf("%d more cases in which kube-scheduler takes a single node whose score overflows\n", overflows)
	}
	if undecided > 0 {
		fmt.Printf("%d cases that kube-scheduler does not decide: the generator is wrong\n", undecided)
	}
	fmt.Printf("next: -seed-from %d\n", next)
	return tally.Different == 0 && undecided == 0, nil
}

// report makes a differing case small and writes it to a file.
func (o *options) report(ctx context.Context, f finding) error {
	kind := f.result.Differences[0].Kind
	small := shrink.Case(f.c, shrinkTries, func(c *scenario.Case) bool {
		r, err := compare.Run(ctx, c, o.stowage)
		return err == nil && len(r.Differences) > 0 && r.Differences[0].Kind == kind
	})
	if ctx.Err() != nil {
		small = f.c // cut off
		ctx = context.WithoutCancel(ctx)
	}
	r, err := compare.Run(ctx, small, o.stowage)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.differences, 0o755); err != nil {
		return err
	}
	path := filepath.Join(o.differences, fileName(kind)+"-"+strings.ReplaceAll(f.c.Name, "/", "-")+".yaml")
	var comment []string
	for _, d := range r.Differences {
		fmt.Println(d)
		comment = append(comment, strings.Split(strings.TrimSpace(strings.ReplaceAll(d.String(), "\u00a0", " ")), "\n")...)
	}
	fmt.Println("written to", path)
	return small.Write(path, comment)
}

func fileName(kind string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,:/", r) {
			return '-'
		}
		return r
	}, strings.ToLower(kind))
}

// replayCase compares the case of a file and shows all differences.
func replayCase(ctx context.Context, path string, stowage conformance.Service) (bool, error) {
	c, err := scenario.Read(path)
	if err != nil {
		return false, err
	}
	r, err := compare.Run(ctx, c, stowage)
	if err != nil {
		return false, err
	}
	switch {
	case r.Queue != nil:
		showQueue(r.Queue)
	case r.WhatIf != nil:
		for i, w := range r.WhatIf {
			fmt.Printf("whatIf[%d]: %v\n", i, w.Answer)
		}
	case r.Remedies != nil:
		fmt.Printf("%+v\n", *r.Remedies)
	case r.Drains != nil:
		for i, d := range r.Drains {
			fmt.Printf("drain[%d]: %v\n", i, d)
		}
	case r.Answers != nil:
		for i, d := range r.Answers.Filter {
			fmt.Printf("queue[%d]: feasible %v %s\n", i, d.FeasibleNodes.Indexes, d.Message)
		}
	}
	for _, d := range r.Differences {
		fmt.Println(d)
	}
	return len(r.Differences) == 0, nil
}

// showQueue shows what became of each pod of a whole kube-scheduler's queue, and whom it evicted.
func showQueue(r *oracle.QueueResult) {
	for _, p := range r.Pods {
		switch {
		case p.Evicted:
			fmt.Printf("queue[%d]: %d attempts, placed as %d on node %d and evicted\n", p.Entry, p.Attempts, p.Placed, p.Node)
		case p.Placed > 0:
			fmt.Printf("queue[%d]: %d attempts, placed as %d on node %d\n", p.Entry, p.Attempts, p.Placed, p.Node)
		default:
			fmt.Printf("queue[%d]: %d attempts, %s\n", p.Entry, p.Attempts, p.Message)
		}
	}
	for _, e := range r.Evictions {
		fmt.Printf("queue[%d] evicts from node %d:", e.Entry, e.Node)
		for _, v := range e.Victims {
			fmt.Printf(" %s/%s", v.Namespace, v.Name)
		}
		fmt.Println()
	}
}
