package speed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// queueLength is how many pods are placed.
const queueLength = 10_000

// sizes of what is placed on, and how many pods the plain way is timed with.
type placingCase struct {
	key                     string
	nodes, templates, plain int
	racks                   bool
}

func (r *run) placings() []placingCase {
	if r.Options.Small {
		return []placingCase{
			{"place-one", smallNodes, 1, 200, false},
			{"place-mixed", smallNodes, 100, 200, false},
		}
	}
	cases := []placingCase{
		{"place-one", bigNodes, 1, 500, false},
		{"place-mixed", bigNodes, 100, 500, false},
		{"place-racks-one", bigNodes, 1, 500, true},
		{"place-racks-mixed", bigNodes, 100, 500, true},
		{"place-50k", 50_000, 100, 100, false},
	}
	if r.Huge {
		cases = append(cases, placingCase{"place-500k", hugeNodes, 100, 10, false})
	}
	return cases
}

// placing measures queues: by the engine alone, and pod by pod in the plain way.
func (r *run) placing() error {
	for _, c := range r.placings() {
		pods := bigcluster.PodsPerNode
		if c.nodes == hugeNodes {
			pods = hugePodsPerNode
		}
		p, err := c.on(fewerPods(c.nodes, pods))
		if err != nil {
			return fmt.Errorf("%s: %w", c.key, err)
		}
		if err := r.place(c, p); err != nil {
			return fmt.Errorf("%s: %w", c.key, err)
		}
		if c.key == "place-mixed" {
			if err := r.placeByCall(p); err != nil {
				return fmt.Errorf("by address: %w", err)
			}
		}
	}
	if !slices.Contains(r.KubeNodes, bigNodes) {
		return nil
	}
	return r.placeAgainst()
}

// placed is a cluster that the engine has and a queue.
type placed struct {
	cluster *decode.Snapshot
	// messages put the cluster, and request asks about it.
	messages [][]byte
	request  *stowagev1.PlaceRequest
}

// fewerPods is a cluster with the given number of pods on each node.
func fewerPods(nodes, podsPerNode int) *stowagev1.Cluster {
	c := bigcluster.New(nodes)
	for _, n := range c.Nodes {
		n.PodCounts = n.PodCounts[:podsPerNode]
	}
	return withCompanions(c)
}

func (c placingCase) on(cluster *stowagev1.Cluster) (*placed, error) {
	for i, n := range cluster.Nodes {
		n.Labels[smallRack] = fmt.Sprint("rack-", i%smallRacks)
	}
	templates, err := queueTemplates(c.templates, c.racks)
	if err != nil {
		return nil, err
	}
	first := uint32(len(cluster.PodTemplates))
	cluster.PodTemplates = append(cluster.PodTemplates, templates...)
	cluster = bigcluster.Compact(cluster)
	p := &placed{request: &stowagev1.PlaceRequest{}}
	for _, i := range queueOrder(c.templates) {
		p.request.Queue = append(p.request.Queue, &stowagev1.PendingPods{
			Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: first + uint32(i)}},
		})
	}
	if p.messages, err = stream(cluster); err != nil {
		return nil, err
	}
	in := decode.NewRequest(context.Background())
	in.Message(cluster)
	if err := in.Err(); err != nil {
		return nil, err
	}
	p.cluster = in.Cluster()
	return p, nil
}

// placing times the engine with the first pods of the queue, and remembers their nodes.
func (p *placed) placing(pods int, plain bool, nodes *[]uint32) (*subject, error) {
	ctx := context.Background()
	in := decode.On(ctx, p.cluster)
	call := in.Place(&stowagev1.PlaceRequest{Queue: p.request.Queue[:pods]})
	if err := in.Err(); err != nil {
		return nil, err
	}
	call.Options.Scan = plain
	return always("placing", func() ([]byte, error) {
		result, err := p.cluster.Place(ctx, call.Queue, call.Options)
		if err != nil {
			return nil, err
		}
		*nodes = (*nodes)[:0]
		for i := range result.Placements {
			if result.Placements[i].Unplaced > 0 {
				return nil, fmt.Errorf("pod %d has no node: %s", i, result.Placements[i].Message)
			}
			*nodes = append(*nodes, result.Placements[i].Nodes...)
		}
		return nil, nil
	}), nil
}

func (r *run) place(c placingCase, p *placed) error {
	var fast, plain []uint32
	placing, err := p.placing(queueLength, false, &fast)
	if err != nil {
		return err
	}
	scanning, err := p.placing(c.plain, true, &plain)
	if err != nil {
		return err
	}
	turns := min(5, r.Turns)
	if c.nodes > bigNodes {
		turns = min(3, turns)
	}
	t, err := measurement{turns: turns, collect: true}.of(placing, scanning)
	if err != nil {
		return err
	}
	if !slices.Equal(fast[:c.plain], plain) {
		return errors.New("the plain way gives other nodes")
	}
	r.setRate(c.key, queueLength, t[0])
	f := r.at(c.key + "-plain")
	scale := float64(queueLength) / float64(c.plain)
	f.Value, f.Wall, f.Processor = ratio(t[1].wall, t[0].wall)*scale, t[0].wall, ratio(t[1].cpu, t[0].cpu)*scale
	return nil
}

// placeByCall compares the call with the engine alone.
func (r *run) placeByCall(p *placed) error {
	target, err := r.stowage.target(p.messages)
	if err != nil {
		return err
	}
	request := proto.CloneOf(p.request)
	request.Context = &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
		Snapshot: &stowagev1.SnapshotReference{Address: target.address},
	}}
	encoded, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	var nodes []uint32
	engine, err := p.placing(queueLength, false, &nodes)
	if err != nil {
		return err
	}
	call := always("place by address", func() ([]byte, error) {
		return r.stowage.client.Call(context.Background(), stowagev1.PlacementService_Place_FullMethodName, encoded)
	})
	first, err := r.stowage.client.Call(context.Background(), stowagev1.PlacementService_Place_FullMethodName, encoded)
	if err != nil {
		return err
	}
	var answer stowagev1.PlaceResponse
	if err := proto.Unmarshal(first, &answer); err != nil {
		return err
	}
	floors, err := serveFloors(map[string]work{"place": exchange(new(stowagev1.PlaceRequest), &answer)})
	if err != nil {
		return err
	}
	defer floors.stop()
	// The engine alone, and a call that brings the queue and takes the answer home.
	apart := always("the engine, and a call", func() ([]byte, error) {
		do, err := engine.prepare(0)
		if err == nil {
			_, err = do()
		}
		if err != nil {
			return nil, err
		}
		return floors.client.Call(context.Background(), loopback.FloorMethod("place"), encoded)
	})
	m := r.measurement()
	m.turns *= 5 // what lies between the two is little, and a turn is one call
	t, err := m.of(apart, call)
	if err != nil {
		return err
	}
	var called []uint32
	for _, p := range answer.Placements {
		called = append(called, p.Nodes.Indexes...)
	}
	if !slices.Equal(nodes, called) {
		return errors.New("the call gives other nodes than the engine")
	}
	r.setRatio("place-call", t[1], t[0])
	return nil
}

// The input of kube-scheduler's plugins: the pods on each node, and the pods of the queue.
const (
	kubePodsPerNode = 10
	kubePods        = 25
)

// placeAgainst has kube-scheduler's plugins place the beginning of the queue, each pod on the node that Stowage chooses
// after it was compared that it is among the best.
func (r *run) placeAgainst() error {
	c := placingCase{nodes: bigNodes, templates: 100}
	p, err := c.on(fewerPods(bigNodes, kubePodsPerNode))
	if err != nil {
		return err
	}
	var nodes []uint32
	placing, err := p.placing(queueLength, false, &nodes)
	if err != nil {
		return err
	}
	t, err := measurement{turns: min(5, r.Turns), collect: true}.of(placing)
	if err != nil {
		return err
	}
	objects, err := kubernetes(fewerPods(bigNodes, kubePodsPerNode))
	if err != nil {
		return err
	}
	for i, template := range queueOrder(c.templates)[:kubePods] {
		pod := queuePod(template, c.templates, false)
		pod.Name = fmt.Sprint("pod-", i)
		objects.Queue = append(objects.Queue, scenario.Pending{Pod: pod, Count: 1})
	}
	kube, err := oracle.NewWith(objects, oracle.Options{PodsStored: true, Parallelism: kubeParallelism})
	if err != nil {
		return err
	}
	defer kube.Close()
	var took timing
	for i := range kubePods {
		decided, err := kube.Decide(kube.Queue[i])
		if err != nil {
			return err
		}
		if !slices.Contains(decided.Best, nodes[i]) {
			return fmt.Errorf("pod %d goes to node %d, kube-scheduler's best are %v", i, nodes[i], decided.Best)
		}
		start, cpu := time.Now(), loopback.CPUTime()
		if _, err := kube.Choose(kube.Queue[i]); err != nil {
			return err
		}
		if _, _, err := kube.Assume(kube.Queue[i], nodes[i]); err != nil {
			return err
		}
		took.wall += time.Since(start)
		took.cpu += loopback.CPUTime() - cpu
	}
	const scale = queueLength / kubePods
	f := r.at("place-kube")
	f.Value, f.Wall, f.Processor = ratio(took.wall, t[0].wall)*scale, t[0].wall, ratio(took.cpu, t[0].cpu)*scale
	return nil
}
