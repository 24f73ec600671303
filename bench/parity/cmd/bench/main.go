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
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/parity/speed"
)

// flags are the arguments of the command.
type flags struct {
	small, huge           bool
	nodes, only, command  string
	turns, rounds         int
	markdown, chart, json string
	against               string
}

func main() {
	log.SetFlags(log.Ltime)
	var f flags
	flag.BoolVar(&f.small, "small", false, "1,000 nodes, and the looser thresholds")
	flag.BoolVar(&f.huge, "huge", available() >= hugeNeeds, "500,000 nodes too; by default where there is memory for it")
	flag.StringVar(&f.nodes, "kube-nodes", "1000,5000,15000", "sizes at which kube-scheduler decides too; 100000 takes minutes and 20 GiB; empty for none")
	flag.IntVar(&f.turns, "turns", 7, "how often each thing that is measured has its turn")
	flag.StringVar(&f.only, "only", "", "measure only sections whose name contains this, such as queues")
	flag.StringVar(&f.command, "stowage", beside("stowage"), "the stowage command, for the section about it; by default the one beside this command")
	flag.StringVar(&f.markdown, "markdown", "", "write the table here as Markdown")
	flag.StringVar(&f.chart, "chart", "", "write the picture here as SVG")
	flag.StringVar(&f.json, "json", "", "write the rows with thresholds here as JSON")
	flag.StringVar(&f.against, "against", "", "another build of this command: both measure in turn, and rows that lost more than 5 % are reported")
	flag.IntVar(&f.rounds, "rounds", 5, "how often both measure with -against")
	flag.Parse()
	do := f.measure
	if f.against != "" {
		do = f.compare
	}
	if err := do(); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

// beside is the path of a file in the folder of this command, empty if there is none.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(self), name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

func (f *flags) measure() error {
	o := speed.Options{Small: f.small, Huge: f.huge && !f.small, Turns: f.turns, Only: f.only, Command: f.command}
	for n := range strings.FieldsFuncSeq(f.nodes, func(r rune) bool { return r == ',' }) {
		size, err := strconv.Atoi(n)
		if err != nil {
			return fmt.Errorf("-kube-nodes: %w", err)
		}
		if !f.small || size <= 1000 {
			o.KubeNodes = append(o.KubeNodes, size)
		}
	}
	report, err := speed.Run(o)
	if err != nil {
		return err
	}
	err = errors.Join(
		report.Print(os.Stdout), write(f.markdown, report.Markdown), write(f.chart, report.Chart), write(f.json, report.JSON),
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
