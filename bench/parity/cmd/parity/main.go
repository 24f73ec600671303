// Parity compares Stowage with kube-scheduler v1.37 over generated cases.
//
//	parity -cases 10000 -profile all        compare
//	parity -seed-from 10000 -cases 10000    go on where the last run ended
//	parity -replay case.yaml                show what a case's difference is
//	parity -address 127.0.0.1:7070          ask a running server
//	parity -record corpus.gz -cases 1500    write kube-scheduler's answers down
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/proto/answersize"
	"github.com/stowage-scheduler/stowage/server/placement"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a case makes much garbage and keeps nothing
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	same, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

func run(ctx context.Context) (same bool, err error) {
	var o options
	profile := flag.String("profile", "all", fmt.Sprintf("one of %v, or all of them in turn", generate.Profiles()))
	replay := flag.String("replay", "", "`file` of one case to compare")
	address := flag.String("address", "", "`host:port` of a Stowage server to ask; in this process if empty")
	record := flag.String("record", "", "`file` to write kube-scheduler's answers to, instead of comparing")
	flag.Uint64Var(&o.seedFrom, "seed-from", 0, "first `seed`")
	flag.Uint64Var(&o.cases, "cases", 1000, "`number` of cases")
	flag.IntVar(&o.workers, "workers", 1, "`number` of cases at a time")
	flag.StringVar(&o.differences, "differences", "differences", "`directory` for the cases that differ, made small")
	flag.IntVar(&o.keep, "keep", 3, "`number` of cases to make small per kind of difference")
	flag.Parse()

	o.profiles = generate.Profiles()
	if *profile != "all" {
		if err := generate.CheckProfile(*profile); err != nil {
			return false, err
		}
		o.profiles = []string{*profile}
	}
	o.stowage = conformance.Direct(placement.New(0, nil))
	if *address != "" {
		conn, err := grpc.NewClient(*address,
			append(answersize.DialOptions(1<<30), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			return false, err
		}
		defer conn.Close()
		o.stowage = conformance.Remote(conn)
	}
	switch {
	case *replay != "":
		return replayCase(ctx, *replay, o.stowage)
	case *record != "":
		return true, recordCorpus(*record, &o)
	}
	return compareCases(ctx, &o)
}

// options are the flags of a comparison.
type options struct {
	profiles        []string
	seedFrom, cases uint64
	workers, keep   int
	differences     string
	stowage         conformance.Service
}

// profileOf is the profile of a seed: they take turns.
func (o *options) profileOf(seed uint64) string {
	return o.profiles[seed%uint64(len(o.profiles))]
}

func kinds(differences []conformance.Difference) []string {
	var out []string
	for _, d := range differences {
		if !slices.Contains(out, d.Kind) {
			out = append(out, d.Kind)
		}
	}
	return out
}
