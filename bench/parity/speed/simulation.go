package speed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// What is drained: 1,000 nodes with 30,000 pods. kube-scheduler drains a sample of the nodes.
const (
	drainedNodes    = 1_000
	kubeDrains      = 5
	kubeDrainsSmall = 1
)

// simulation measures drains and scenarios on one cluster.
func (r *run) simulation() error {
	cluster := bigcluster.New(drainedNodes)
	plain, err := kubernetes(cluster)
	if err != nil {
		return err
	}
	for i, t := range cluster.PodTemplates {
		t.Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprint("app-", i)}
	}
	messages, err := stream(bigcluster.Compact(cluster))
	if err != nil {
		return err
	}
	before := liveHeap()
	target, err := r.stowage.target(messages)
	if err != nil {
		return err
	}
	base := liveHeap() - before
	if err := r.drains(cluster, plain, target); err != nil {
		return fmt.Errorf("drains: %w", err)
	}
	if err := r.scenarios(cluster, target, base); err != nil {
		return fmt.Errorf("scenarios: %w", err)
	}
	return nil
}

// parts is a call whose answer is a stream. The messages are joined, as if they were one.
func (r *run) parts(name, method string, request []byte) *subject {
	return always(name, func() ([]byte, error) {
		parts, err := r.stowage.client.Parts(context.Background(), method, request)
		return bytes.Join(parts, nil), err
	})
}

// drains drains each node alone.
func (r *run) drains(cluster *stowagev1.Cluster, plain *scenario.Case, target *target) error {
	request := &stowagev1.DrainRequest{Context: target.context(), Mode: stowagev1.DrainMode_DRAIN_MODE_EACH, IncludeMoves: true}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	call := r.parts("drain", stowagev1.SimulationService_Drain_FullMethodName, encoded)
	t, err := measurement{turns: min(5, r.Turns), collect: true}.of(call)
	if err != nil {
		return err
	}
	r.setTime("drain-each", t[0])
	if len(r.KubeNodes) == 0 {
		return nil
	}
	parts, err := r.stowage.client.Parts(context.Background(), stowagev1.SimulationService_Drain_FullMethodName, encoded)
	if err != nil {
		return err
	}
	sample := kubeDrains
	if r.Options.Small {
		sample = kubeDrainsSmall
	}
	var took timing
	for i := range sample {
		var part stowagev1.DrainResponse
		if err := proto.Unmarshal(parts[i*drainedNodes/sample+drainedNodes/sample/2], &part); err != nil {
			return err
		}
		one, err := kubeDrain(cluster, plain, part.GetDrain())
		if err != nil {
			return err
		}
		took.wall += one.wall
		took.cpu += one.cpu
	}
	scale := float64(drainedNodes) / float64(sample)
	f := r.at("drain-kube")
	f.Value, f.Wall, f.Processor = ratio(took.wall, t[0].wall)*scale, t[0].wall, ratio(took.cpu, t[0].cpu)*scale
	return nil
}

// kubeDrain has kube-scheduler place the pods of a drained node, each on the node that Stowage chose after it was compared that it
// is among the best. That the node is cordoned and its pods are evicted is not timed.
func kubeDrain(cluster *stowagev1.Cluster, plain *scenario.Case, d *stowagev1.NodeDrain) (took timing, err error) {
	if d.GetStatus() != stowagev1.DrainStatus_DRAIN_STATUS_DRAINED || len(d.Moves) == 0 {
		return took, fmt.Errorf("a node is not drained: %v", d)
	}
	name := cluster.Nodes[d.Nodes.Indexes[0]].Name
	c := *plain
	c.Nodes = scenario.Cordon(c.Nodes, []string{name})
	c.Pods, c.Queue = nil, nil
	for _, p := range plain.Pods {
		if p.Spec.NodeName != name {
			c.Pods = append(c.Pods, p)
		}
	}
	var nodes []uint32
	for i, m := range d.Moves {
		pod, err := kubernetesPod(withoutController(cluster.PodTemplates[m.Pod.GetTemplateIndex()]))
		if err != nil {
			return took, err
		}
		pod.Name, pod.UID = fmt.Sprint("moved-", i), ""
		c.Queue = append(c.Queue, scenario.Pending{Pod: pod, Count: len(m.Nodes.Indexes)})
		nodes = append(nodes, m.Nodes.Indexes...)
	}
	kube, err := oracle.NewWith(&c, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return took, err
	}
	defer kube.Close()
	took, _, err = chosen(kube, c.Queue, nodes)
	return took, err
}

func withoutController(t *stowagev1.PodTemplate) *stowagev1.PodTemplate {
	t = proto.CloneOf(t)
	t.Controller = nil
	return t
}

// chosen has kube-scheduler place pods one after the other on the nodes that Stowage chose, and returns how long it takes to choose
// and to assume them, and the devices that they get.
func chosen(kube *oracle.Scheduler, queue []scenario.Pending, nodes []uint32) (took timing, granted []oracle.Granted, err error) {
	for i, entry := range queue {
		for range entry.Count {
			decided, err := kube.Decide(kube.Queue[i])
			if err != nil {
				return took, nil, err
			}
			if !slices.Contains(decided.Best, nodes[0]) {
				return took, nil, fmt.Errorf("a pod of entry %d goes to node %d, kube-scheduler's best are %v", i, nodes[0], decided.Best)
			}
			start, cpu := time.Now(), loopback.CPUTime()
			if _, err := kube.Choose(kube.Queue[i]); err != nil {
				return took, nil, err
			}
			_, given, err := kube.Assume(kube.Queue[i], nodes[0])
			if err != nil {
				return took, nil, err
			}
			took.wall += time.Since(start)
			took.cpu += loopback.CPUTime() - cpu
			nodes, granted = nodes[1:], append(granted, given...)
		}
	}
	return took, granted, nil
}

// scenarios asks WhatIf for 1,000 scenarios, each of which drains another node and places its pods, and for as many that only
// cordon a node.
func (r *run) scenarios(cluster *stowagev1.Cluster, target *target, base uint64) error {
	ask := func(more func(*stowagev1.Scenario, *stowagev1.Node)) ([]byte, error) {
		request := &stowagev1.WhatIfRequest{Context: target.context()}
		for _, n := range cluster.Nodes {
			s := &stowagev1.Scenario{CordonedNodes: []string{n.Name}}
			more(s, n)
			request.Scenarios = append(request.Scenarios, s)
		}
		return proto.Marshal(request)
	}
	drained, err := ask(func(s *stowagev1.Scenario, n *stowagev1.Node) {
		s.Evictions = []*stowagev1.NodeEvictions{{NodeName: n.Name, Drained: true}}
		s.RequeueEvicted = true
	})
	if err != nil {
		return err
	}
	subjects := []*subject{
		r.parts("what if, 1 core", whatIfMethod, drained), r.parts("what if, 2 cores", whatIfMethod, drained),
	}
	for i, s := range subjects {
		s.procs = i + 1
	}
	t, err := measurement{turns: min(5, r.Turns), collect: true}.of(subjects...)
	if err != nil {
		return err
	}
	if !bytes.Equal(subjects[0].want, subjects[1].want) {
		return errors.New("two cores give other answers")
	}
	r.setTime("what-if", t[1])
	r.setRatio("what-if-cores", t[0], t[1])

	// The answers, which hold the nodes of 30 pods each, count as well.
	cordoned, err := ask(func(*stowagev1.Scenario, *stowagev1.Node) {})
	if err != nil {
		return err
	}
	for key, request := range map[string][]byte{"what-if-memory": drained, "what-if-base": cordoned} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := r.stowage.client.Parts(context.Background(), whatIfMethod, request); err != nil {
			return err
		}
		runtime.ReadMemStats(&after)
		each := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(cluster.Nodes))
		if key == "what-if-base" {
			r.set(key, 100*each/float64(max(1, base)))
		} else {
			r.set(key, each/1024)
		}
	}
	return nil
}

const whatIfMethod = stowagev1.SimulationService_WhatIf_FullMethodName
