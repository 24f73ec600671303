//go:build unix

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
)

// shape is a class of instances.
type shape struct {
	nodes, podsPerNode, priorities int
	util                           float64
}

// instance is pods to place on equal empty nodes.
type instance struct {
	shape
	seed     uint64
	cpu, mem int64 // of a node
	pods     []pod // replicas of a ReplicaSet follow each other, the highest priority first
}

type pod struct {
	set, priority int
	cpu, mem      int64
}

// generate draws an instance by the recipe of arXiv 2511.08373: ReplicaSets of 1 to 4 pods with 100 to 1,000 millicores and 100 to
// 1,000 MB, and nodes as large as makes all requests the given share of all nodes, but never smaller than the largest pod. The
// priority of a ReplicaSet is any of them.
func generate(s shape, seed uint64) *instance {
	rng := rand.New(rand.NewPCG(seed, uint64(s.nodes)<<32|uint64(s.podsPerNode)<<16|uint64(s.priorities)))
	in := &instance{shape: s, seed: seed}
	var cpu, mem int64
	for set, left := 0, s.nodes*s.podsPerNode; left > 0; set++ {
		replicas := min(left, 1+rng.IntN(4))
		p := pod{set, rng.IntN(s.priorities), 100 + rng.Int64N(901), 100_000_000 + rng.Int64N(900_000_001)}
		for range replicas {
			in.pods = append(in.pods, p)
			cpu, mem = cpu+p.cpu, mem+p.mem
		}
		in.cpu, in.mem = max(in.cpu, p.cpu), max(in.mem, p.mem)
		left -= replicas
	}
	each := func(sum int64) int64 {
		return int64(math.Ceil(math.Ceil(float64(sum)/s.util) / float64(s.nodes)))
	}
	in.cpu, in.mem = max(in.cpu, each(cpu)), max(in.mem, each(mem))
	slices.SortStableFunc(in.pods, func(a, b pod) int { return b.priority - a.priority })
	return in
}

// cluster returns the nodes.
func (in *instance) cluster() *api.Cluster {
	c := &api.Cluster{}
	for i := range in.nodes {
		c.Nodes = append(c.Nodes, api.Node{Name: fmt.Sprint("node-", i), NodeSpec: api.NodeSpec{Allocatable: api.Resources{
			{Resource: "cpu", Amount: in.cpu}, {Resource: "memory", Amount: in.mem}, {Resource: "pods", Amount: int64(len(in.pods))},
		}}})
	}
	return c
}

// queue returns the pods, an entry for each ReplicaSet.
func (in *instance) queue() (queue []engine.Pending) {
	for i, p := range in.pods {
		if i > 0 && in.pods[i-1].set == p.set {
			queue[len(queue)-1].Count++
			continue
		}
		template := &api.PodTemplate{Namespace: "default", Spec: api.PodSpec{Priority: int32(p.priority), Containers: []api.Container{{
			Name: "c", Requests: api.Resources{{Resource: "cpu", Amount: p.cpu}, {Resource: "memory", Amount: p.mem}},
		}}}}
		queue = append(queue, engine.Pending{Pod: api.Pod{Name: fmt.Sprint("set-", p.set), Template: template, TemplateIndex: -1}, Count: 1})
	}
	return queue
}

// check returns how many pods of each priority have a node, highest first. at has the node of each pod, -1 for none.
func (in *instance) check(at []int) ([]int, error) {
	cpu, mem := make([]int64, in.nodes), make([]int64, in.nodes)
	counts := make([]int, in.priorities)
	if len(at) != len(in.pods) {
		return nil, fmt.Errorf("an answer about %d pods, not %d", len(at), len(in.pods))
	}
	for i, n := range at {
		if n < 0 {
			continue
		}
		if n >= in.nodes {
			return nil, fmt.Errorf("pod %d is on node %d", i, n)
		}
		cpu[n], mem[n] = cpu[n]+in.pods[i].cpu, mem[n]+in.pods[i].mem
		if cpu[n] > in.cpu || mem[n] > in.mem {
			return nil, fmt.Errorf("node %d is too full", n)
		}
		counts[in.priorities-1-in.pods[i].priority]++
	}
	return counts, nil
}

// total is the number of pods by priority, highest first.
func (in *instance) total() []int {
	counts := make([]int, in.priorities)
	for _, p := range in.pods {
		counts[in.priorities-1-p.priority]++
	}
	return counts
}

// bound is the number of pods, of whatever priority, for which all nodes together have room: the smallest ones, by cpu, by memory, or
// by both.
func (in *instance) bound() int {
	most := len(in.pods)
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		weigh := func(cpu, mem int64) float64 {
			return share*float64(cpu)/float64(in.cpu) + (1-share)*float64(mem)/float64(in.mem)
		}
		var sizes []float64
		for _, p := range in.pods {
			sizes = append(sizes, weigh(p.cpu, p.mem))
		}
		slices.Sort(sizes)
		left, fit := float64(in.nodes)*weigh(in.cpu, in.mem)*(1+1e-9), 0
		for _, size := range sizes {
			if left -= size; left < 0 {
				break
			}
			fit++
		}
		most = min(most, fit)
	}
	return most
}
