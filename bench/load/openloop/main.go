// Command openloop sends an encoded Filter request to a server at a fixed rate, without waiting for earlier calls, and writes
// a report.
//
// A call's latency counts from the moment at which it was to be sent, not from when it was: if the server, or this
// command, falls behind, every call that is late says so. A closed loop, or one that counts from the sending, leaves out
// just the calls that would have waited (coordinated omission).
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/bench/load/report"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func main() {
	address := flag.String("address", "", "the server's address")
	file := flag.String("request", "", "file with the request in its binary form")
	rate := flag.Float64("rate", 1, "calls per second")
	duration := flag.Duration("duration", 30*time.Second, "how long to send")
	out := flag.String("out", "", "file to write the report to")
	flag.Parse()
	if err := run(*address, *file, *rate, *duration, *out); err != nil {
		fmt.Fprintln(os.Stderr, "openloop:", err)
		os.Exit(1)
	}
}

func run(address, file string, rate float64, duration time.Duration, out string) error {
	if rate <= 0 || rate > 1e6 {
		return errors.New("want a rate above 0 and up to a million")
	}
	request, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	client, err := loopback.Dial(address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	d := &driver{client: client, request: request}
	// Connects, and has the answer that all others must be equal to.
	if d.want, err = d.call(); err != nil {
		return err
	}
	return d.send(time.Duration(float64(time.Second)/rate), duration).Write(out)
}

// timeout is the longest that a call may take.
const timeout = 10 * time.Minute

type driver struct {
	client        *loopback.Client
	request, want []byte
}

func (d *driver) call() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.client.Call(ctx, stowagev1.PlacementService_Filter_FullMethodName, d.request)
}

// send sends a call every interval and waits for all of them.
func (d *driver) send(interval, duration time.Duration) *report.Report {
	count := max(1, int(duration/interval))
	latencies, lags, codes := make([]time.Duration, count), make([]time.Duration, count), make([]string, count)
	var calls sync.WaitGroup
	start := time.Now()
	for i := range count {
		due := start.Add(time.Duration(i) * interval)
		time.Sleep(time.Until(due))
		lags[i] = time.Since(due)
		calls.Go(func() {
			answer, err := d.call()
			latencies[i] = time.Since(due)
			codes[i] = status.Code(err).String()
			if err == nil && !bytes.Equal(answer, d.want) {
				codes[i] = "another answer"
			}
		})
	}
	calls.Wait()
	took := time.Since(start)

	slices.Sort(latencies)
	slices.Sort(lags)
	r := &report.Report{
		Count:                  uint64(count),
		Rps:                    float64(count) / took.Seconds(),
		StatusCodeDistribution: map[string]int{},
		Lag:                    report.Percentile(lags, 99),
	}
	for _, p := range report.Percentages {
		r.LatencyDistribution = append(r.LatencyDistribution, report.Latency{Percentage: p, Latency: report.Percentile(latencies, p)})
	}
	for _, c := range codes {
		r.StatusCodeDistribution[c]++
	}
	return r
}
