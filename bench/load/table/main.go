// Command table prints reports of load as one table: table NAME=REPORT...
package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stowage-scheduler/stowage/bench/load/report"
)

func main() {
	if err := printTable(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func printTable(reports []string) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\tcalls\tper second\tp50\tp95\tp99\tsent late, p99")
	for _, argument := range reports {
		name, path, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("want NAME=REPORT, not %q", argument)
		}
		r, err := report.Read(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%d\t%.1f", name, r.Count, r.Rps)
		for _, p := range report.Percentages {
			latency, err := r.At(p)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			fmt.Fprintf(out, "\t%v", round(latency))
		}
		fmt.Fprintf(out, "\t%s\n", lag(r))
	}
	return out.Flush()
}

func lag(r *report.Report) string {
	if r.Lag == 0 {
		return ""
	}
	return round(r.Lag).String()
}

// round leaves three digits.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
