package report_test

import (
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/bench/load/report"
)

func TestPercentile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, c := range []struct {
		sorted     []time.Duration
		percentage int
		want       time.Duration
	}{
		{nil, 50, 0}, {[]time.Duration{7}, 1, 7}, {[]time.Duration{7}, 99, 7}, {[]time.Duration{1, 2, 3}, 50, 2},
		{hundred, 50, 50}, {hundred, 95, 95}, {hundred, 99, 99}, {hundred, 100, 100},
	} {
		if got := report.Percentile(c.sorted, c.percentage); got != c.want {
			t.Errorf("%d %% of %v: got %d, want %d", c.percentage, c.sorted, got, c.want)
		}
	}
}
