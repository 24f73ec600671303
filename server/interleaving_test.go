package server

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestInterleaving puts, changes and uses snapshots at random, from several callers at once. Every answer must have the same
// bytes as that to a request with the cluster in it. With room for all snapshots, none may disappear.
func TestInterleaving(t *testing.T) {
	for name, test := range map[string]struct {
		room  int64
		evict bool
	}{
		"room for all": {256 << 20, false},
		"room for few": {600 << 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := testConfig()
			c.MaxSnapshotBytes = test.room
			c.MaxInFlightBytes = 1 << 30
			w := &world{r: run(t, c, io.Discard, nil, nil)}
			for seed := range uint64(3) {
				w.add(t, randomCluster(rand.New(rand.NewPCG(seed, 1))))
			}
			steps := 200
			if raced.Detector && testing.Short() {
				steps = 80
			}
			var all sync.WaitGroup
			for seed := range uint64(4) {
				all.Go(func() {
					rng := rand.New(rand.NewPCG(seed, 2))
					for range steps {
						w.step(t, rng)
					}
				})
			}
			all.Wait()
			if w.answers.Load() < int64(steps/4) || w.puts.Load() < int64(steps/4) || w.deltas.Load() < int64(steps/40) || w.gone.Load() > 0 != test.evict {
				t.Errorf("%d answers, %d puts, %d of deltas, %d snapshots gone", w.answers.Load(), w.puts.Load(), w.deltas.Load(),
					w.gone.Load())
			}
		})
	}
}

// world is a server, and the clusters that callers know.
type world struct {
	r     *running
	mutex sync.Mutex
	known []*revision

	answers, puts, deltas, gone atomic.Int64
}

type revision struct {
	cluster *stowagev1.Cluster
	address string
	put     atomic.Bool // successfully, at least once
}

func (w *world) add(t *testing.T, c *stowagev1.Cluster) *revision {
	v := &revision{cluster: c, address: addressOf(t, c)}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, old := range w.known {
		if old.address == v.address {
			return old
		}
	}
	w.known = append(w.known, v)
	return v
}

// any returns a revision, one of the last ones more often.
func (w *world) any(rng *rand.Rand) *revision {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.known[max(rng.IntN(len(w.known)), rng.IntN(len(w.known)))]
}

// missing reports whether a call failed because the server lacks a snapshot, and counts the puts before it.
func (w *world) missing(put bool, err error) bool {
	if !unknown(0, err) {
		return false
	}
	if put {
		w.gone.Add(1)
	}
	return true
}

func (w *world) step(t *testing.T, rng *rand.Rand) {
	v := w.any(rng)
	before := v.put.Load()
	switch rng.IntN(6) {
	case 0: // put it whole, in parts
		parts := []*stowagev1.PutSnapshotRequest{part(&stowagev1.Cluster{
			PodTemplates: v.cluster.PodTemplates, Namespaces: v.cluster.Namespaces, PodDisruptionBudgets: v.cluster.PodDisruptionBudgets,
		})}
		for nodes := v.cluster.Nodes; len(nodes) > 0; {
			n := 1 + rng.IntN(len(nodes))
			parts = append(parts, part(&stowagev1.Cluster{Nodes: nodes[:n]}))
			nodes = nodes[n:]
		}
		if _, err := put(t, w.r.client(), append(parts, end(v.address))...); err != nil {
			t.Errorf("put: %v", err)
			return
		}
		w.puts.Add(1)
		v.put.Store(true)
	case 1: // put what a delta makes of it
		d, c := randomDelta(rng, v.cluster)
		next := w.add(t, c)
		if _, err := put(t, w.r.client(), onto(v.address), delta(d), end(next.address)); err == nil {
			w.deltas.Add(1)
			next.put.Store(true)
		} else if !w.missing(before, err) {
			t.Errorf("put of %v on %v: %v", d, v.cluster, err)
		}
	case 2: // ask about what a delta makes of it
		d, c := randomDelta(rng, v.cluster)
		w.ask(t, rng, before, c, &stowagev1.SnapshotReference{Address: v.address, Delta: d})
	default:
		w.ask(t, rng, before, v.cluster, &stowagev1.SnapshotReference{Address: v.address})
	}
}

// ask asks about a cluster in both ways.
func (w *world) ask(t *testing.T, rng *rand.Rand, before bool, c *stowagev1.Cluster, s *stowagev1.SnapshotReference) {
	question := randomQuestion(rng, len(c.PodTemplates))
	inline, err := w.call(t, question(c, nil))
	if err != nil {
		t.Errorf("in the request: %v", err)
		return
	}
	got, err := w.call(t, question(nil, s))
	switch {
	case err == nil:
		w.answers.Add(1)
		if !bytes.Equal(inline, got) {
			t.Errorf("by %v of %v:\n%x\nin the request\n%x", s, c, got, inline)
		}
	case !w.missing(before, err):
		t.Errorf("by %v: %v", s, err)
	}
}

// call returns the bytes of the answer.
func (w *world) call(t *testing.T, request proto.Message) (answer []byte, err error) {
	method := stowagev1.PlacementService_Filter_FullMethodName
	switch request.(type) {
	case *stowagev1.ScoreRequest:
		method = stowagev1.PlacementService_Score_FullMethodName
	case *stowagev1.PlaceRequest:
		method = stowagev1.PlacementService_Place_FullMethodName
	case *stowagev1.PreemptRequest:
		method = stowagev1.PlacementService_Preempt_FullMethodName
	case *stowagev1.FitRequest:
		method = stowagev1.SimulationService_Fit_FullMethodName
	case *stowagev1.ProvisionRequest:
		method = stowagev1.SimulationService_Provision_FullMethodName
	case *stowagev1.ConsolidateRequest:
		method = stowagev1.SimulationService_Consolidate_FullMethodName
	}
	err = w.r.conn.Invoke(t.Context(), method, request, &answer, grpc.ForceCodec(bytesCodec{}))
	return answer, err
}

// bytesCodec leaves answers as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string                  { return "proto" }
func (bytesCodec) Marshal(v any) ([]byte, error) { return proto.Marshal(v.(proto.Message)) }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

func pickApp(rng *rand.Rand) map[string]string {
	return map[string]string{"app": fmt.Sprint("app-", rng.IntN(4))}
}

func randomTemplate(rng *rand.Rand) *stowagev1.PodTemplate {
	term := &stowagev1.PodAffinityTerm{
		LabelSelector: &stowagev1.LabelSelector{MatchLabels: pickApp(rng)}, TopologyKey: []string{"zone", "hostname"}[rng.IntN(2)],
	}
	if rng.IntN(3) == 0 {
		term.NamespaceSelector = &stowagev1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprint(rng.IntN(2))}}
	}
	spec := &stowagev1.PodSpec{Containers: []*stowagev1.Container{{
		Requests: &stowagev1.Resources{CpuMillis: proto.Int64(int64(100 * (1 + rng.IntN(10))))},
	}}, Priority: int32(rng.IntN(4)), PreemptionPolicy: stowagev1.PreemptionPolicy(rng.IntN(3))}
	switch rng.IntN(5) {
	case 0:
		spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{term}}}
	case 1:
		spec.Affinity = &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{
			Preferred: []*stowagev1.WeightedPodAffinityTerm{{Weight: int32(1 + rng.IntN(100)), Term: term}},
		}}
	case 2:
		spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
			MaxSkew: int32(1 + rng.IntN(2)), TopologyKey: "zone", LabelSelector: term.LabelSelector,
			WhenUnsatisfiable: stowagev1.UnsatisfiableAction(1 + rng.IntN(2)),
		}}
	}
	return &stowagev1.PodTemplate{Namespace: fmt.Sprint("ns-", rng.IntN(3)), Labels: pickApp(rng), Spec: spec}
}

func randomPods(rng *rand.Rand, templates int) (counts []*stowagev1.PodCount, pods []*stowagev1.Pod) {
	for range rng.IntN(3) {
		counts = append(counts, &stowagev1.PodCount{TemplateIndex: uint32(rng.IntN(templates)), Count: uint32(1 + rng.IntN(3))})
	}
	for range rng.IntN(3) {
		pods = append(pods, &stowagev1.Pod{
			Name: fmt.Sprint("pod-", rng.IntN(1_000_000_000)), Labels: map[string]string{"own": fmt.Sprint(rng.IntN(3))},
			Source:    &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(rng.IntN(templates))},
			StartTime: &timestamppb.Timestamp{Seconds: int64(1 + rng.IntN(5))},
		})
	}
	return counts, pods
}

func randomNode(rng *rand.Rand, name string, templates int) *stowagev1.Node {
	n := &stowagev1.Node{
		Name:   name,
		Labels: map[string]string{"hostname": name, "zone": fmt.Sprint(rng.IntN(3))},
		Allocatable: &stowagev1.Resources{
			CpuMillis: proto.Int64(int64(1000 * (1 + rng.IntN(4)))), Pods: proto.Int64(int64(3 + rng.IntN(20))),
		},
	}
	if rng.IntN(4) == 0 {
		n.Taints = []*stowagev1.Taint{{Key: "k", Effect: stowagev1.TaintEffect(1 + rng.IntN(3))}}
	}
	n.PodCounts, n.Pods = randomPods(rng, templates)
	return n
}

func randomCluster(rng *rand.Rand) *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	for range 5 {
		c.PodTemplates = append(c.PodTemplates, randomTemplate(rng))
	}
	for i := range 3 {
		c.Namespaces = append(c.Namespaces, &stowagev1.Namespace{
			Name: fmt.Sprint("ns-", i), Labels: map[string]string{"team": fmt.Sprint(rng.IntN(2))},
		})
	}
	for i := range 3 {
		c.PodDisruptionBudgets = append(c.PodDisruptionBudgets, randomBudget(rng, i))
	}
	for i := range 8 {
		c.Nodes = append(c.Nodes, randomNode(rng, fmt.Sprint("node-", i), len(c.PodTemplates)))
	}
	return c
}

func randomBudget(rng *rand.Rand, ns int) *stowagev1.PodDisruptionBudget {
	return &stowagev1.PodDisruptionBudget{
		Namespace: fmt.Sprint("ns-", ns), Name: "budget", Selector: &stowagev1.LabelSelector{MatchLabels: pickApp(rng)},
		DisruptionsAllowed: int32(rng.IntN(2)),
	}
}

// randomDelta returns a delta and the cluster that it makes of another.
func randomDelta(rng *rand.Rand, base *stowagev1.Cluster) (*stowagev1.ClusterDelta, *stowagev1.Cluster) {
	d, c := &stowagev1.ClusterDelta{}, proto.CloneOf(base)
	if len(c.PodTemplates) < 20 && rng.IntN(3) == 0 {
		t := randomTemplate(rng)
		d.PodTemplates = append(d.PodTemplates, &stowagev1.IndexedPodTemplate{Index: uint32(len(c.PodTemplates)), Template: t})
		c.PodTemplates = append(c.PodTemplates, t)
	}
	if rng.IntN(3) == 0 {
		i := rng.IntN(len(c.Namespaces))
		c.Namespaces[i].Labels = map[string]string{"team": fmt.Sprint(rng.IntN(3))}
		d.Namespaces = append(d.Namespaces, c.Namespaces[i])
	}
	if rng.IntN(3) == 0 {
		i := rng.IntN(len(c.PodDisruptionBudgets))
		c.PodDisruptionBudgets[i] = randomBudget(rng, i)
		d.PodDisruptionBudgets = append(d.PodDisruptionBudgets, c.PodDisruptionBudgets[i])
	}
	var added []*stowagev1.Node
	for i := 0; i < len(c.Nodes); i++ {
		n := c.Nodes[i]
		switch rng.IntN(12) {
		case 0:
			if len(c.Nodes) > 4 {
				d.RemovedNodes = append(d.RemovedNodes, n.Name)
				c.Nodes = slices.Delete(c.Nodes, i, i+1)
				i--
			}
		case 1:
			c.Nodes[i] = randomNode(rng, n.Name, len(c.PodTemplates))
			d.Nodes = append(d.Nodes, c.Nodes[i])
		case 2:
			change := &stowagev1.NodePodsDelta{NodeName: n.Name}
			change.RemovedPodCounts = n.PodCounts
			if len(n.Pods) > 0 {
				p := n.Pods[0]
				change.RemovedPods = []*stowagev1.NamespacedName{{
					Namespace: c.PodTemplates[p.GetTemplateIndex()].Namespace, Name: p.Name,
				}}
				n.Pods = n.Pods[1:]
			}
			change.PodCounts, change.Pods = randomPods(rng, len(c.PodTemplates))
			n.PodCounts, n.Pods = change.PodCounts, append(n.Pods, change.Pods...)
			d.NodePods = append(d.NodePods, change)
		case 3:
			if len(c.Nodes)+len(added) < 12 {
				added = append(added, randomNode(rng, fmt.Sprint("new-", rng.IntN(1_000_000)), len(c.PodTemplates)))
			}
		}
	}
	d.Nodes = append(d.Nodes, added...)
	c.Nodes = append(c.Nodes, added...)
	return d, c
}

// randomQuestion returns what asks about a cluster, in the request or by reference.
func randomQuestion(rng *rand.Rand, templates int) func(*stowagev1.Cluster, *stowagev1.SnapshotReference) proto.Message {
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(rng.IntN(templates))}}
	if rng.IntN(2) == 0 {
		pod.Source = &stowagev1.Pod_Template{Template: randomTemplate(rng)}
	}
	method, flag, other, seed := rng.IntN(5), rng.IntN(2) == 0, rng.IntN(2) == 0, rng.Uint64N(3)
	var candidates *stowagev1.CandidateNodes
	if rng.IntN(4) == 0 {
		candidates = &stowagev1.CandidateNodes{Indexes: []uint32{0, 2, 3}}
	}
	return func(c *stowagev1.Cluster, s *stowagev1.SnapshotReference) proto.Message {
		switch method {
		case 0:
			return &stowagev1.FilterRequest{
				Context: on(c, s, other), Pod: pod, Explain: flag, CandidateNodes: candidates, IncludePreemption: seed > 0,
			}
		case 1:
			return &stowagev1.ScoreRequest{
				Context: on(c, s, other), Pod: pod, IncludePluginScores: flag, CandidateNodes: candidates,
			}
		case 2:
			return &stowagev1.PreemptRequest{
				Context: on(c, s, other), Pod: pod, IncludeCandidates: flag, CandidateNodes: candidates, RecountTopologySpread: seed > 0,
			}
		case 3:
			return &stowagev1.FitRequest{
				Context: on(c, s, other), Mix: []*stowagev1.FitPod{{Pod: pod, Count: new(uint32(2))}}, MaxUnits: new(uint32(5)),
				CandidateNodes: candidates, TopologyKey: "zone", IncludeChanges: flag, TieBreakSeed: seed, TieBreak: stowagev1.TieBreak(seed),
			}
		default:
			queue := []*stowagev1.PendingPods{{Pod: pod, Count: new(uint32(3))}, {Pod: &stowagev1.Pod{
				Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(seed)},
			}, Count: new(uint32(2))}}
			return &stowagev1.PlaceRequest{
				Context: on(c, s, other), Queue: queue, Explain: flag, TieBreakSeed: seed, IncludePreemption: flag,
				QueueMode: stowagev1.QueueMode(seed), // with 2 kube-scheduler's
				TieBreak:  stowagev1.TieBreak(seed),
			}
		}
	}
}

// on returns the context of a request that has the cluster, or else a snapshot of it.
func on(c *stowagev1.Cluster, s *stowagev1.SnapshotReference, names bool) *stowagev1.DecisionContext {
	out := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}, IncludeNodeNames: names}
	if c == nil {
		out.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: s}
	}
	return out
}
