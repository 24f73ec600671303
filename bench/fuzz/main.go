// Command fuzz sends each random request to a server in many ways, and compares the answers: as a message that protobuf decodes, in
// frames that the server reads itself, in the usual encoding and in others, with the cluster in the request, by the address of a
// snapshot that was put in parts, by a base and a delta, for the first time and again. The address of a snapshot must be the address
// of its content, which other code computes. Three in ten requests are changed where it hurts, and one in ten in its bytes: all ways
// must refuse the same requests.
//
// Requests are to all RPCs about a cluster. The server's handlers are called without a transport, so that frames can be cut
// anywhere. After a call its frames are overwritten, as by a transport that reuses them.
//
// It exits with 1 at the first difference, and writes the input to a file, which -replay reads.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"
)

func main() {
	n := flag.Uint64("n", 1_000_000, "how many requests")
	seed := flag.Uint64("seed", uint64(time.Now().Unix()), "of the inputs")
	from := flag.Uint64("from", 0, "the first input")
	workers := flag.Int("workers", 2, "inputs at a time")
	replay := flag.String("replay", "", "a file with an input, instead of random ones")
	flag.Parse()
	debug.SetGCPercent(400)
	if err := run(*n, *seed, *from, *workers, *replay); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(n, seed, from uint64, workers int, replay string) error {
	if replay != "" {
		in, err := readInput(replay)
		if err != nil {
			return err
		}
		_, err = in.compare(newService())
		return err
	}
	fmt.Printf("inputs of seed %d from %d on\n", seed, from)
	t := newTotals()
	failed := make(chan failure, workers)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(seed, from, n, workers, t, failed)
	}()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			fmt.Printf("%d of %d requests, %d inputs, 0 different\n", t.requests.Load(), n, t.inputs.Load())
		case f := <-failed:
			file, err := f.write()
			if err != nil {
				return err
			}
			return fmt.Errorf("input %d of seed %d, in %s, a %s: %w", f.number, seed, file, f.input.method.name, f.err)
		case <-done:
			if len(failed) > 0 {
				continue
			}
			return report(t)
		}
	}
}

// report prints the totals. It fails if a method had hardly any answers: then nothing was compared.
func report(t *totals) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "method\tinputs\tanswered\twith a delta\trequests\tnot in time")
	var seldom []string
	for i, m := range methods {
		c := &t.of[i]
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\n", m.name, c.inputs.Load(), c.answered.Load(), c.delta.Load(), c.requests.Load(), c.late.Load())
		if c.answered.Load()*5 < c.inputs.Load() {
			seldom = append(seldom, m.name)
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Printf("%d requests of %d inputs, 0 different\n", t.requests.Load(), t.inputs.Load())
	if len(seldom) > 0 {
		return fmt.Errorf("four in five inputs are refused of %v", slices.Sorted(slices.Values(seldom)))
	}
	return nil
}
