package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// printRates prints pods a second, and the median wait of a pod.
func printRates(results []result) {
	fmt.Print("| nodes | scheduler |")
	for _, k := range kinds {
		fmt.Printf(" %s, pods/s (median wait) |", k.name)
	}
	fmt.Printf("\n|---|---|%s\n", strings.Repeat("---|", len(kinds)))
	for _, r := range results {
		fmt.Printf("| %d | %s |", r.nodes, r.scheduler.name)
		for _, k := range kinds {
			fmt.Printf(" %.0f (%v) |", r.rates[k.name], r.waits[k.name].Round(10*time.Millisecond))
		}
		fmt.Println()
	}
	fmt.Println()
}

// printTimes prints where a pod's time went, and the processors'.
func printTimes(results []result) {
	fmt.Printf("| nodes | scheduler | %s | processor time |\n|---|---|%s---|\n",
		strings.Join(hopNames, " | "), strings.Repeat("---|", len(hopNames)))
	for _, r := range results {
		fmt.Printf("| %d | %s |", r.nodes, r.scheduler.name)
		for _, name := range hopNames {
			if ms, ok := r.hops[name]; ok {
				fmt.Printf(" %.2f |", ms)
			} else {
				fmt.Print(" |")
			}
		}
		var used []string
		for _, name := range slices.Sorted(maps.Keys(r.processor)) {
			used = append(used, fmt.Sprintf("%s %.1f", name, r.processor[name]))
		}
		fmt.Printf(" %s |\n", strings.Join(used, ", "))
	}
	fmt.Println("\nMilliseconds per pod, over all kinds.")
}
