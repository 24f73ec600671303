// Package report is what came of putting load on a server, in the form in which ghz writes it as JSON: the part of that
// form that is read here.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Report is one run.
type Report struct {
	Count uint64 `json:"count"`
	// Rps is how many calls ended per second.
	Rps                    float64        `json:"rps"`
	LatencyDistribution    []Latency      `json:"latencyDistribution"`
	StatusCodeDistribution map[string]int `json:"statusCodeDistribution"`
	// Lag is the delay with which the driver sent calls, and part of their latencies. ghz does not report it.
	Lag time.Duration `json:"lag,omitempty"`
}

// Latency is the latency that a percentage of the calls did not exceed.
type Latency struct {
	Percentage int           `json:"percentage"`
	Latency    time.Duration `json:"latency"`
}

// Percentages are the percentiles that every report has.
var Percentages = []int{50, 95, 99}

// Percentile returns the smallest of the sorted values that at least the given percentage of the values do not exceed.
func Percentile(sorted []time.Duration, percentage int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percentage+99)/100-1)]
}

// Read reads a report. One with calls that failed is an error.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for code, n := range r.StatusCodeDistribution {
		if code != "OK" {
			return nil, fmt.Errorf("%s: %d calls ended with %s", path, n, code)
		}
	}
	if r.Count == 0 {
		return nil, fmt.Errorf("%s: no calls", path)
	}
	return r, nil
}

// Write writes a report.
func (r *Report) Write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// At is the latency of a percentage.
func (r *Report) At(percentage int) (time.Duration, error) {
	i := slices.IndexFunc(r.LatencyDistribution, func(l Latency) bool { return l.Percentage == percentage })
	if i < 0 {
		return 0, fmt.Errorf("the report does not tell of %d %%", percentage)
	}
	return r.LatencyDistribution[i].Latency, nil
}
