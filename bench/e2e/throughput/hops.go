package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// hop is a part of the way of a pod, measured by a histogram's sum.
type hop struct {
	name   string
	from   func(*stack.Stack) string // where the metrics are
	metric string
	labels []string // all of which a sample must have
}

func plainMetrics(s *stack.Stack) string    { return s.PlainMetrics }
func extendedMetrics(s *stack.Stack) string { return s.ExtendedMetrics }
func extenderMetrics(s *stack.Stack) string { return s.ExtenderMetrics }
func serverMetrics(s *stack.Stack) string   { return s.ServerMetrics }
func batchMetrics(s *stack.Stack) string    { return s.BatchMetrics }

const (
	algorithm = "scheduler_scheduling_algorithm_duration_seconds_sum"
	points    = "scheduler_framework_extension_point_duration_seconds_sum"
	verbs     = "stowage_extender_duration_seconds_sum"
	steps     = "stowage_batch_step_duration_seconds_sum"
	decisions = "stowage_decision_duration_seconds_sum"
)

func plainHops() []hop {
	return []hop{
		{"algorithm", plainMetrics, algorithm, nil},
		{"bind", plainMetrics, points, []string{`extension_point="Bind"`}},
	}
}

// schedulers are in the order in which they run. Which nodes the first one looks at is adaptive, as it is by default.
var schedulers = []scheduler{
	{"kube-scheduler, sampling", stack.PlainPods, func(ctx context.Context, s *stack.Stack) error {
		return s.StartPlain(ctx, map[string]any{"percentageOfNodesToScore": 0})
	}, plainHops()},
	{"kube-scheduler, all nodes", stack.PlainPods, func(ctx context.Context, s *stack.Stack) error {
		return s.StartPlain(ctx, nil)
	}, plainHops()},
	{"with stowage-extender", stack.ExtenderPods, func(ctx context.Context, s *stack.Stack) error {
		if err := s.StartServer(ctx); err != nil {
			return err
		}
		return s.StartExtender(ctx, "--kube-api-qps=5000", "--kube-api-burst=5000")
	}, []hop{
		{"algorithm", extendedMetrics, algorithm, nil},
		{"of it filter", extenderMetrics, verbs, []string{`verb="filter"`, `part="total"`}},
		{"of it prioritize", extenderMetrics, verbs, []string{`verb="prioritize"`, `part="total"`}},
		{"call of Stowage", extenderMetrics, verbs, []string{`part="stowage"`}},
		{"in Stowage", serverMetrics, decisions, nil},
		{"bind", extenderMetrics, verbs, []string{`verb="bind"`, `part="total"`}},
	}},
	{"stowage-batch", stack.BatchPods, func(ctx context.Context, s *stack.Stack) error {
		if err := s.StartServer(ctx); err != nil {
			return err
		}
		return s.StartBatch(ctx, "--kube-api-qps=5000", "--kube-api-burst=5000", "--no-leader-elect")
	}, []hop{
		{"algorithm", batchMetrics, steps, []string{`step="place"`}},
		{"call of Stowage", batchMetrics, "rpc_client_call_duration_seconds_sum", []string{"PlacementService/Place\""}},
		{"in Stowage", serverMetrics, decisions, nil},
		{"wait for bind", batchMetrics, steps, []string{`step="bind_queue"`}},
		{"bind", batchMetrics, steps, []string{`step="bind"`}},
	}},
}

// hopNames are the columns, in order.
var hopNames = []string{"algorithm", "of it filter", "of it prioritize", "call of Stowage", "in Stowage", "wait for bind", "bind"}

// sums are what was counted up to a moment.
type sums struct {
	hops      map[string]float64 // seconds
	processor map[string]float64 // seconds, by process
}

func look(ctx context.Context, s *stack.Stack, hops []hop) (sums, error) {
	out := sums{map[string]float64{}, map[string]float64{}}
	for _, h := range hops {
		sum, err := scrape(ctx, s, h)
		if err != nil {
			return out, fmt.Errorf("%s: %w", h.name, err)
		}
		out.hops[h.name] = sum
	}
	for name, p := range s.Processes() {
		used, err := p.ProcessorTime()
		if err != nil {
			return out, err
		}
		out.processor[name] = used.Seconds()
	}
	used, err := s.APIServer.ProcessorTime()
	out.processor["kube-apiserver"] = used.Seconds()
	return out, err
}

func (s sums) since(before sums, hops []hop, pods float64) (perPod, processor map[string]float64) {
	perPod, processor = map[string]float64{}, map[string]float64{}
	for _, h := range hops {
		perPod[h.name] = (s.hops[h.name] - before.hops[h.name]) / pods * 1000
	}
	for name, used := range s.processor {
		processor[name] = (used - before.processor[name]) / pods * 1000
	}
	return perPod, processor
}

var client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // loopback

// scrape sums the samples of a hop's metric.
func scrape(ctx context.Context, s *stack.Stack, h hop) (sum float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.from(s), http.NoBody)
	if err != nil {
		return 0, err
	}
	s.Authorize(request)
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answers %s", h.from(s), answer.Status)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
lines:
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, h.metric+"{") && !strings.HasPrefix(line, h.metric+" ") {
			continue
		}
		for _, label := range h.labels {
			if !strings.Contains(line, label) {
				continue lines
			}
		}
		v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, lines.Err()
}
