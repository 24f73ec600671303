// Command bench measures Stowage against floors and against kube-scheduler, and prints one table, in ratios.
//
// It fails if an answer is wrong, or a promise of thresholds.yaml is broken: with -small the looser one, on a thousand
// nodes and within a minute.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/parity/speed"
)

func main() {
	log.SetFlags(log.Ltime)
	small := flag.Bool("small", false, "1,000 nodes, and the looser thresholds")
	huge := flag.Bool("huge", available() >= hugeNeeds, "500,000 nodes too; by default where there is memory for it")
	nodes := flag.String("kube-nodes", "1000,5000,15000", "sizes at which kube-scheduler decides too; 100000 takes minutes and 20 GiB; empty for none")
	turns := flag.Int("turns", 7, "how often each thing that is measured has its turn")
	only := flag.String("only", "", "measure only sections whose name contains this, such as queues")
	markdown := flag.String("markdown", "", "write the table here as Markdown")
	chart := flag.String("chart", "", "write the picture here as SVG")
	flag.Parse()
	if err := run(*small, *huge, *nodes, *only, *turns, *markdown, *chart); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func run(small, huge bool, nodes, only string, turns int, markdown, chart string) error {
	o := speed.Options{Small: small, Huge: huge && !small, Turns: turns, Only: only}
	for n := range strings.FieldsFuncSeq(nodes, func(r rune) bool { return r == ',' }) {
		size, err := strconv.Atoi(n)
		if err != nil {
			return fmt.Errorf("-kube-nodes: %w", err)
		}
		if !small || size <= 1000 {
			o.KubeNodes = append(o.KubeNodes, size)
		}
	}
	report, err := speed.Run(o)
	if err != nil {
		return err
	}
	err = errors.Join(
		report.Print(os.Stdout), write(markdown, report.Markdown), write(chart, report.Chart),
	)
	if broken := report.Broken(); len(broken) > 0 {
		err = errors.Join(err, fmt.Errorf("broken: %s", strings.Join(broken, ", ")))
	}
	return err
}

// write writes a file, if it has a name.
func write(name string, to func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(to(f), f.Close())
}

// hugeNeeds is what the cluster of 500,000 nodes takes with the client that states it, with room to spare.
const hugeNeeds = 14 << 30

// available is the memory that may still be used, 0 if unknown.
func available() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
