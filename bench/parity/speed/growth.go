package speed

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// growing is a question about clusters of several sizes.
type growing struct {
	// key is of the row with the time at the largest size, and key-growth of the row with the exponent.
	key          string
	sizes, small []int
	// ask asks about a cluster of a size, and checks the answer.
	ask func(nodes int) (timing, error)
}

// growth measures how the time of questions about a whole cluster grows with the cluster: the exponent that fits best, which is 1 if
// twice the nodes take twice the time.
func (r *run) growth() error {
	for _, g := range []growing{
		{"drain", []int{625, 1250, 2500}, []int{100, 200, 400}, r.drainEach},
		{"consolidate", []int{400, 800, 1600}, []int{50, 100, 200}, r.consolidateNothing},
		{"fit-hostname", []int{1250, 2500, 5000}, []int{250, 500, 1000}, func(nodes int) (timing, error) { return r.fit(nodes, 1, "kubernetes.io/hostname") }},
		{"fit-kinds", []int{1250, 2500, 5000}, []int{250, 500, 1000}, func(nodes int) (timing, error) { return r.fit(nodes, 10, "") }},
	} {
		sizes := g.sizes
		if r.Options.Small {
			sizes = g.small
		}
		var times []timing
		for _, nodes := range sizes {
			t, err := g.ask(nodes)
			if err != nil {
				return fmt.Errorf("%s, %d nodes: %w", g.key, nodes, err)
			}
			times = append(times, t)
		}
		f := r.at(g.key + "-growth")
		f.Value = exponent(sizes, times, func(t timing) time.Duration { return t.wall })
		f.Processor = exponent(sizes, times, func(t timing) time.Duration { return t.cpu })
		r.setTime(g.key, times[len(times)-1])
	}
	return nil
}

// exponent is the slope of the line that fits the logarithms of sizes and times best.
func exponent(sizes []int, times []timing, of func(timing) time.Duration) float64 {
	var x, y, xx, xy float64
	for i, size := range sizes {
		a, b := math.Log(float64(size)), math.Log(of(times[i]).Seconds())
		x, y, xx, xy = x+a, y+b, xx+a*a, xy+a*b
	}
	n := float64(len(sizes))
	return (n*xy - x*y) / (n*xx - x*x)
}

// controlled is a cluster of pods that controllers create again.
func controlled(nodes int) *stowagev1.Cluster {
	c := bigcluster.New(nodes)
	for i, t := range c.PodTemplates {
		t.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprint("app-", i)}
	}
	return c
}

// timed puts a cluster, and makes a call about it twice. The faster one counts: the calls take too long for turns.
func (r *run) timed(c *stowagev1.Cluster, method string, ask func(*stowagev1.DecisionContext) proto.Message) (t timing, parts [][]byte, err error) {
	messages, err := stream(bigcluster.Compact(c))
	if err != nil {
		return t, nil, err
	}
	target, err := r.stowage.target(messages)
	if err != nil {
		return t, nil, err
	}
	request, err := proto.Marshal(ask(target.context()))
	if err != nil {
		return t, nil, err
	}
	for i := range 2 {
		start, cpu := time.Now(), loopback.CPUTime()
		if parts, err = r.stowage.client.Parts(context.Background(), method, request); err != nil {
			return t, nil, err
		}
		took := timing{time.Since(start), loopback.CPUTime() - cpu}
		if i == 0 || took.cpu < t.cpu {
			t = took
		}
	}
	return t, parts, nil
}

// drainEach drains each node alone.
func (r *run) drainEach(nodes int) (timing, error) {
	t, parts, err := r.timed(controlled(nodes), stowagev1.SimulationService_Drain_FullMethodName, func(c *stowagev1.DecisionContext) proto.Message {
		return &stowagev1.DrainRequest{Context: c, Mode: stowagev1.DrainMode_DRAIN_MODE_EACH}
	})
	if err != nil {
		return t, err
	}
	var last stowagev1.DrainResponse
	if err := proto.Unmarshal(parts[len(parts)-1], &last); err != nil {
		return t, err
	}
	if got := last.GetSummary().GetDrainedCount(); got != uint32(nodes) {
		return t, fmt.Errorf("%d nodes can be drained", got)
	}
	return t, nil
}

// consolidateNothing asks for the nodes to remove from a cluster in which each node has room for one or two small pods alone.
func (r *run) consolidateNothing(nodes int) (timing, error) {
	cluster := controlled(nodes)
	var all []uint32
	for i, n := range cluster.Nodes {
		used := int64(i % 200)
		for _, c := range n.PodCounts {
			used += int64(c.Count) * cluster.PodTemplates[c.TemplateIndex].Spec.Containers[0].Requests.GetCpuMillis()
		}
		n.Allocatable.CpuMillis = &used
		all = append(all, uint32(i))
	}
	t, parts, err := r.timed(cluster, stowagev1.SimulationService_Consolidate_FullMethodName, func(c *stowagev1.DecisionContext) proto.Message {
		return &stowagev1.ConsolidateRequest{Context: c, Candidates: []*stowagev1.PricedNodes{{
			Nodes: &stowagev1.CandidateNodes{Indexes: all}, Price: 100,
		}}}
	})
	if err != nil {
		return t, err
	}
	var answer stowagev1.ConsolidateResponse
	if err := proto.Unmarshal(parts[0], &answer); err != nil {
		return t, err
	}
	if len(answer.Actions) > 0 || len(answer.Kept) != nodes || answer.Partial {
		return t, fmt.Errorf("%d actions, %d nodes are kept, partial %v", len(answer.Actions), len(answer.Kept), answer.Partial)
	}
	return t, nil
}

// fit counts how many more pods of some kinds fit, in equal numbers.
func (r *run) fit(nodes, kinds int, key string) (timing, error) {
	request := &stowagev1.FitRequest{TopologyKey: key}
	for i := range kinds {
		template := bigcluster.Template(bigcluster.Templates + 4*i)
		template.Spec.TopologySpreadConstraints = nil
		template.Spec.Containers[0].Requests.CpuMillis = new(int64(2_000 + 100*i))
		request.Mix = append(request.Mix, &stowagev1.FitPod{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: template}}})
	}
	t, parts, err := r.timed(bigcluster.New(nodes), stowagev1.SimulationService_Fit_FullMethodName, func(c *stowagev1.DecisionContext) proto.Message {
		request.Context = c
		return request
	})
	if err != nil {
		return t, err
	}
	var answer stowagev1.FitResponse
	if err := proto.Unmarshal(parts[0], &answer); err != nil {
		return t, err
	}
	// A tenth of the nodes is tainted; each of the others has more than 16 cores left.
	if answer.Units*uint32(kinds) < uint32(nodes)*4 || answer.Limited || (key != "" && len(answer.Domains) != nodes) {
		return t, fmt.Errorf("%d units, limited %v, %d domains", answer.Units, answer.Limited, len(answer.Domains))
	}
	return t, nil
}
