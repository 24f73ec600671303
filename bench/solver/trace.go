//go:build unix

package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// The files of Alibaba's GPU trace of 2023 (cluster-trace-gpu-v2023/csv).
const (
	traceNodes = "openb_node_list_all_node.csv"
	tracePods  = "openb_pod_list_%s.csv"
	gpu        = "nvidia.com/gpu"
	model      = "model" // a label of nodes
)

// machine is a node of the trace. Amounts are millicores, MiB and GPUs.
type machine struct {
	amounts amounts
	model   string
}

type amounts [3]int64

func (a amounts) within(b amounts) bool { return a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2] }

func (a amounts) less(b amounts) amounts { return amounts{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }

// task is a pod of the trace with whole GPUs.
type task struct {
	amounts  amounts
	models   string // that it may use, with | between them; empty for any
	priority int    // 0 is the lowest
}

func (t *task) may(m *machine) bool {
	return t.models == "" || slices.Contains(strings.Split(t.models, "|"), m.model)
}

// levels are the priorities of the classes of quality of service, latency-sensitive ones first.
var levels = []string{"BE", "Burstable", "Guaranteed", "LS"}

// table reads a CSV file, and calls each with the fields of a line by the names of their columns.
func table(file string, each func(field func(string) string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	r := csv.NewReader(f)
	header, err := r.Read()
	for err == nil {
		var line []string
		if line, err = r.Read(); err == nil {
			err = each(func(name string) string {
				if at := slices.Index(header, name); at >= 0 {
					return line[at]
				}
				return ""
			})
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("%s: %w", file, err)
}

func integers(field func(string) string, names ...string) (out amounts, err error) {
	for i, name := range names {
		if out[i], err = strconv.ParseInt(field(name), 10, 64); err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// trace is the nodes of the trace and the pods of one list that have whole GPUs.
type trace struct {
	list     string
	machines []machine
	tasks    []task
}

func readTrace(directory, list string) (*trace, error) {
	t := &trace{list: list}
	err := table(filepath.Join(directory, traceNodes), func(field func(string) string) error {
		a, err := integers(field, "cpu_milli", "memory_mib", "gpu")
		if a[2] > 0 { // a pod with GPUs fits on no other
			t.machines = append(t.machines, machine{a, field("model")})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, table(filepath.Join(directory, fmt.Sprintf(tracePods, list)), func(field func(string) string) error {
		a, err := integers(field, "cpu_milli", "memory_mib", "num_gpu")
		if err == nil && a[2] >= 1 && field("gpu_milli") == "1000" {
			t.tasks = append(t.tasks, task{a, field("gpu_spec"), max(0, slices.Index(levels, field("qos")))})
		}
		return err
	})
}

// draw draws pods with replacement until they request a share of all GPUs, as the paper of the trace does, and orders them by
// priority, then as drawn.
func (t *trace) draw(load float64, priorities bool, seed uint64) (tasks []task) {
	rng := rand.New(rand.NewPCG(seed, math.Float64bits(load)))
	left := 0.0
	for i := range t.machines {
		left += load * float64(t.machines[i].amounts[2])
	}
	for left > 0 {
		next := t.tasks[rng.IntN(len(t.tasks))]
		if !priorities {
			next.priority = 0
		}
		tasks = append(tasks, next)
		left -= float64(next.amounts[2])
	}
	slices.SortStableFunc(tasks, func(a, b task) int { return cmp.Compare(b.priority, a.priority) })
	return tasks
}

// packing is the placement of tasks on machines.
type packing struct {
	at      []int // by task, -1 for none
	counts  []int // by priority, highest first
	gpus    int64
	proved  bool
	seconds float64
}

// checked counts what is placed, and checks that it fits.
func (t *trace) checked(tasks []task, at []int, begin time.Time) (*packing, error) {
	p := &packing{at: at, counts: make([]int, len(levels)), seconds: time.Since(begin).Seconds()}
	if len(at) != len(tasks) {
		return nil, fmt.Errorf("an answer about %d pods, not %d", len(at), len(tasks))
	}
	left := make([]amounts, len(t.machines))
	for i := range left {
		left[i] = t.machines[i].amounts
	}
	for i, n := range at {
		if n < 0 {
			continue
		}
		if !tasks[i].may(&t.machines[n]) {
			return nil, fmt.Errorf("pod %d may not be on node %d", i, n)
		}
		if !tasks[i].amounts.within(left[n]) {
			return nil, fmt.Errorf("node %d is too full", n)
		}
		left[n] = left[n].less(tasks[i].amounts)
		p.counts[len(levels)-1-tasks[i].priority]++
		p.gpus += tasks[i].amounts[2]
	}
	return p, nil
}

// greedy places tasks one by one on the node with the lowest cost. cost is asked for nodes that have room.
func (t *trace) greedy(
	tasks []task, cost func(of *task, n int, left amounts) float64, placed func(n int, left amounts),
) (*packing, error) {
	begin := time.Now()
	left := make([]amounts, len(t.machines))
	for i := range left {
		left[i] = t.machines[i].amounts
	}
	at := make([]int, len(tasks))
	for i := range tasks {
		at[i] = -1
		least := math.Inf(1)
		for n := range t.machines {
			if tasks[i].amounts.within(left[n]) && tasks[i].may(&t.machines[n]) {
				if c := cost(&tasks[i], n, left[n]); c < least {
					least, at[i] = c, n
				}
			}
		}
		if n := at[i]; n >= 0 {
			left[n] = left[n].less(tasks[i].amounts)
			placed(n, left[n])
		}
	}
	return t.checked(tasks, at, begin)
}

// bestFit takes the node that has the least left afterwards: the sum of what is left of each resource, by what the largest
// node has of it.
func (t *trace) bestFit(tasks []task) (*packing, error) {
	var largest amounts
	for i := range t.machines {
		for d, a := range t.machines[i].amounts {
			largest[d] = max(largest[d], a)
		}
	}
	return t.greedy(tasks, func(of *task, _ int, left amounts) (sum float64) {
		for d, a := range left.less(of.amounts) {
			sum += float64(a) / float64(largest[d])
		}
		return sum
	}, func(int, amounts) {})
}

// gradient takes the node whose fragmentation grows least (Fragmentation Gradient Descent, Weng et al., USENIX ATC 2023). The
// fragmentation of a node is the number of its free GPUs that a task of the workload cannot use, in the mean over the workload. A
// task with whole GPUs can use all free ones of a node, if the node has room for it, and none if not.
func (t *trace) gradient(tasks []task) (*packing, error) {
	type kind struct {
		task
		share float64
	}
	var kinds []kind
	for _, of := range t.tasks {
		of.priority = 0
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.task == of })
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, kind{task: of})
		}
		kinds[at].share += 1 / float64(len(t.tasks))
	}
	fragments := func(n int, left amounts) (sum float64) {
		for i := range kinds {
			if k := &kinds[i]; !k.amounts.within(left) || !k.may(&t.machines[n]) {
				sum += k.share * float64(left[2])
			}
		}
		return sum
	}
	now := make([]float64, len(t.machines))
	known := make([]map[amounts]float64, len(t.machines)) // growth by what a task requests, until the node changes
	for n := range t.machines {
		now[n], known[n] = fragments(n, t.machines[n].amounts), map[amounts]float64{}
	}
	return t.greedy(tasks, func(of *task, n int, left amounts) float64 {
		growth, ok := known[n][of.amounts]
		if !ok {
			growth = fragments(n, left.less(of.amounts)) - now[n]
			known[n][of.amounts] = growth
		}
		return growth
	}, func(n int, left amounts) {
		now[n] = fragments(n, left)
		clear(known[n])
	})
}

// place asks Stowage: one by one in the order of tasks, or jointly until the budget ends.
func (t *trace) place(tasks []task, profile *api.Profile, joint bool, budget time.Duration) (*packing, error) {
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	begin := time.Now()
	cluster := &api.Cluster{}
	resources := func(a amounts) api.Resources {
		return api.Resources{{Resource: "cpu", Amount: a[0]}, {Resource: "memory", Amount: a[1] << 20}, {Resource: gpu, Amount: a[2]}}
	}
	for i, m := range t.machines {
		allocatable := append(resources(m.amounts), api.Quantity{Resource: "pods", Amount: int64(len(tasks))})
		slices.SortFunc(allocatable, func(a, b api.Quantity) int { return cmp.Compare(a.Resource, b.Resource) })
		cluster.Nodes = append(cluster.Nodes, api.Node{
			Name:     fmt.Sprint("node-", i),
			NodeSpec: api.NodeSpec{Labels: api.Labels{{Key: model, Value: m.model}}, Allocatable: allocatable},
		})
	}
	c, err := engine.Compile(ctx, cluster)
	if err != nil {
		return nil, err
	}
	// Jointly, equal pods are one entry; in order, those that follow each other.
	var queue []engine.Pending
	var of [][]int // tasks by entry
	entries := map[task]int{}
	for i, next := range tasks {
		e, known := entries[next]
		if !known || !joint && e != len(queue)-1 {
			e = len(queue)
			entries[next] = e
			template := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{
				Priority: int32(next.priority), Containers: []api.Container{{Name: "c", Requests: resources(next.amounts)}},
			}}
			if next.models != "" {
				template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{{
					MatchExpressions: []api.Requirement{{Key: model, Operator: api.In, Values: strings.Split(next.models, "|")}},
				}}}}
			}
			queue = append(queue, engine.Pending{Pod: api.Pod{Name: fmt.Sprint("pod-", e), Template: template, TemplateIndex: -1}})
			of = append(of, nil)
		}
		queue[e].Count++
		of[e] = append(of[e], i)
	}
	o := engine.PlaceOptions{Profile: profile}
	if joint {
		g := engine.PodGroup{Name: "all", Minimum: 1, Joint: true, Steps: 1 << 26}
		for e := range queue {
			g.Entries = append(g.Entries, e)
		}
		o.Groups, o.Partial = []engine.PodGroup{g}, true
	}
	result, err := c.Place(ctx, queue, o)
	if err != nil {
		return nil, err
	}
	at := slices.Repeat([]int{-1}, len(tasks))
	for e, p := range result.Placements {
		for k, n := range p.Nodes {
			at[of[e][k]] = int(n)
		}
	}
	p, err := t.checked(tasks, at, begin)
	if joint && err == nil {
		p.proved = result.Groups[0].Most
	}
	return p, err
}

// bound is the number of the smallest tasks, of whatever priority, that all nodes together have room for, by several weights
// of the resources.
func (t *trace) bound(tasks []task) int {
	most := len(tasks)
	var total amounts
	for i := range t.machines {
		for d, a := range t.machines[i].amounts {
			total[d] += a
		}
	}
	const parts = 8
	for x := range parts + 1 {
		for y := range parts + 1 - x {
			weights := [3]float64{float64(x), float64(y), float64(parts - x - y)}
			var sizes []float64
			for i := range tasks {
				size := 0.0
				for d, a := range tasks[i].amounts {
					size += weights[d] * float64(a) / float64(total[d])
				}
				sizes = append(sizes, size)
			}
			slices.Sort(sizes)
			left, fit := parts*(1+1e-9), 0
			for _, size := range sizes {
				if left -= size; left < 0 {
					break
				}
				fit++
			}
			most = min(most, fit)
		}
	}
	return most
}

// compareTrace compares ways of placing the whole-GPU pods of the trace.
func compareTrace(w io.Writer, directory string, lists, loads string, instances int, budget time.Duration) error {
	packed := api.Kube137()
	packed.Scoring = api.ScoringStrategy{Type: api.MostAllocated, Resources: []api.ResourceWeight{{Resource: "cpu", Weight: 1},
		{Resource: "memory", Weight: 1}, {Resource: gpu, Weight: 1}}}
	fmt.Fprintln(w, "| list, load, priorities | pods | bound | in order | MostAllocated | best fit | FGD | jointly | proved | "+
		"GPUs of all: in order, MostAllocated, best fit, FGD, jointly |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for list := range strings.SplitSeq(lists, ",") {
		t, err := readTrace(directory, list)
		if err != nil {
			return err
		}
		gpus := int64(0)
		for i := range t.machines {
			gpus += t.machines[i].amounts[2]
		}
		ways := []func([]task) (*packing, error){
			func(tasks []task) (*packing, error) { return t.place(tasks, api.Kube137(), false, time.Minute) },
			func(tasks []task) (*packing, error) { return t.place(tasks, packed, false, time.Minute) },
			t.bestFit,
			t.gradient,
			func(tasks []task) (*packing, error) { return t.place(tasks, api.Kube137(), true, budget) },
		}
		for _, load := range numbers(loads) {
			for _, priorities := range []bool{false, true} {
				for seed := range instances {
					tasks := t.draw(load, priorities, uint64(seed))
					what := fmt.Sprintf("%s, %.2f, 1", list, load)
					if priorities {
						what = fmt.Sprintf("%s, %.2f, %d", list, load, len(levels))
					}
					fmt.Fprintf(w, "| %s | %d | %d |", what, len(tasks), t.bound(tasks))
					var shares []string
					proved := false
					for _, way := range ways {
						p, err := way(tasks)
						if err != nil {
							return fmt.Errorf("%s: %w", what, err)
						}
						if fmt.Fprintf(w, " %d", sum(p.counts)); priorities {
							fmt.Fprintf(w, " %v", p.counts)
						}
						fmt.Fprintf(w, ", %.1f s |", p.seconds)
						shares = append(shares, fmt.Sprintf("%.1f", 100*float64(p.gpus)/float64(gpus)))
						proved = p.proved
					}
					fmt.Fprintf(w, " %v | %s %% |\n", proved, strings.Join(shares, ", "))
				}
			}
		}
	}
	return nil
}
