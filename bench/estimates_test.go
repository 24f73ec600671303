package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// service is a server of both services, with a limiter that reports its estimates.
type service struct {
	stowagev1.PlacementServiceClient
	stowagev1.SimulationServiceClient
	loopback *loopback.Client
}

func serveEstimating(b *testing.B, measured func(admission.Class, time.Duration, time.Duration)) *service {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := placement.New(1<<30, nil)
	s.SetAdmission(admission.New(admission.Settings{Measured: measured}))
	server := grpc.NewServer(grpc.ForceServerCodecV2(wire.NewCodec()), grpc.MaxRecvMsgSize(math.MaxInt32))
	placement.Register(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		b.Fatal(err)
	}
	raw, err := loopback.Dial(listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		err := errors.Join(raw.Close(), conn.Close())
		server.Stop()
		if err := errors.Join(err, <-served); err != nil {
			b.Error(err)
		}
	})
	return &service{stowagev1.NewPlacementServiceClient(conn), stowagev1.NewSimulationServiceClient(conn), raw}
}

// drained reads a stream to its end.
func drained[M any](stream grpc.ServerStreamingClient[M], err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// shape is a request whose work is estimated.
type shape struct {
	name string
	call func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error
}

// freshPod returns a pod of a template with a label of its own, so that no answer is remembered.
func freshPod(template, fresh int) *stowagev1.Pod {
	p := proto.CloneOf(bigcluster.Template(template))
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	p.Labels[fmt.Sprint("fresh-", fresh)] = ""
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: p}}
}

// spreadPod returns a pod with a topology spread constraint for each key.
func spreadPod(hard bool, keys ...string) *stowagev1.Pod {
	t := &stowagev1.PodTemplate{Labels: map[string]string{"app": "x"}, Spec: &stowagev1.PodSpec{}}
	when := stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY
	if hard {
		when = stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE
	}
	for _, k := range keys {
		t.Spec.TopologySpreadConstraints = append(t.Spec.TopologySpreadConstraints, &stowagev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: k, WhenUnsatisfiable: when,
			LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		})
	}
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: t}}
}

func pendingPods(p *stowagev1.Pod, n uint32) *stowagev1.PendingPods {
	return &stowagev1.PendingPods{Pod: p, Count: &n}
}

// hugePod returns a pod with room on few nodes, of a high priority.
func hugePod() *stowagev1.Pod {
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{
		Priority: 1000, Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{CpuMillis: proto.Int64(31_000)}}},
	}}}}
}

// shapesOfPods returns requests about one pod.
func shapesOfPods() []shape {
	asked, huge := 0, hugePod()
	return []shape{
		{"Filter plain", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			asked++
			_, err := s.Filter(ctx, &stowagev1.FilterRequest{Context: on, Pod: freshPod(2, asked)})
			return err
		}},
		{"Filter anti-affinity and spread", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			asked++
			_, err := s.Filter(ctx, &stowagev1.FilterRequest{Context: on, Pod: freshPod(9, asked)})
			return err
		}},
		{"Filter explain", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			asked++
			_, err := s.Filter(ctx, &stowagev1.FilterRequest{Context: on, Pod: freshPod(9, asked), Explain: true})
			return err
		}},
		{"Filter changes", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			_, err := s.Filter(ctx, &stowagev1.FilterRequest{Context: on, Pod: huge, IncludeChanges: true, Explain: true})
			return err
		}},
		{"Score", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			asked++
			_, err := s.Score(ctx, &stowagev1.ScoreRequest{Context: on, Pod: freshPod(9, asked)})
			return err
		}},
		{"Preempt", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			_, err := s.Preempt(ctx, &stowagev1.PreemptRequest{Context: on, Pod: huge, IncludeCandidates: true})
			return err
		}},
		{"ScaleDown", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			_, err := s.ScaleDown(ctx, &stowagev1.ScaleDownRequest{
				Context: on, Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(9)}}, Replicas: proto.Uint32(5),
			})
			return err
		}},
	}
}

// shapesOfPlace returns placements.
func shapesOfPlace() []shape {
	const host, zone, rack = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack"
	place := func(name string, queue ...*stowagev1.PendingPods) shape {
		return shape{name, func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			_, err := s.Place(ctx, &stowagev1.PlaceRequest{Context: on, Queue: queue})
			return err
		}}
	}
	var many []*stowagev1.PendingPods
	for i := range 100 {
		many = append(many, pendingPods(freshPod(i, 0), 10))
	}
	return []shape{
		place("Place 1 plain", pendingPods(freshPod(2, 0), 1)),
		place("Place 1,000 plain", pendingPods(freshPod(2, 0), 1000)),
		place("Place 1,000 of 100 templates", many...),
		place("Place 1,000 spread by zone", pendingPods(spreadPod(true, zone), 1000)),
		place("Place 1,000 spread by zone, soft", pendingPods(spreadPod(false, zone), 1000)),
		place("Place 1,000 three hard spreads", pendingPods(spreadPod(true, zone, rack, host), 1000)),
		place("Place 10,000 three hard spreads", pendingPods(spreadPod(true, zone, rack, host), 10000)),
	}
}

// shapesOfSimulations returns requests to the SimulationService.
func shapesOfSimulations() []shape {
	return []shape{
		{"WhatIf 10 removed nodes", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			r := &stowagev1.WhatIfRequest{Context: on}
			for i := range 10 {
				r.Scenarios = append(r.Scenarios, &stowagev1.Scenario{
					RemovedNodes: []string{fmt.Sprintf("node-%06d", i)}, Queue: []*stowagev1.PendingPods{pendingPods(freshPod(i, 0), 10)},
				})
			}
			return drained(s.WhatIf(ctx, r))
		}},
		{"Drain 20 nodes, each", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			r := &stowagev1.DrainRequest{Context: on, Mode: stowagev1.DrainMode_DRAIN_MODE_EACH, IgnoreBudgets: true}
			r.Nodes = &stowagev1.CandidateNodes{}
			for i := range uint32(20) {
				r.Nodes.Indexes = append(r.Nodes.Indexes, i)
			}
			return drained(s.Drain(ctx, r))
		}},
		{"Fit", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			_, err := s.Fit(ctx, &stowagev1.FitRequest{Context: on, Mix: []*stowagev1.FitPod{{Pod: freshPod(2, 0)}}})
			return err
		}},
		{"Provision", func(ctx context.Context, s *service, on *stowagev1.DecisionContext) error {
			_, err := s.Provision(ctx, &stowagev1.ProvisionRequest{Context: on, Queue: []*stowagev1.PendingPods{pendingPods(hugePod(), 20)},
				Templates: []*stowagev1.NodeTemplate{{Price: 3, Node: &stowagev1.Node{Name: "n", Allocatable: &stowagev1.Resources{
					CpuMillis: proto.Int64(64_000), MemoryBytes: proto.Int64(128 << 30), Pods: proto.Int64(110),
				}}}}, MaxNodes: proto.Uint32(100)})
			return err
		}},
	}
}

// BenchmarkEstimates prints for each RPC and several shapes how long a request is estimated to take, and the processor time that
// it takes, both of the computing after the cluster was put.
func BenchmarkEstimates(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		cluster := bigcluster.New(nodes)
		for _, sh := range slices.Concat(shapesOfPods(), shapesOfPlace(), shapesOfSimulations()) {
			b.Run(fmt.Sprintf("%s/nodes=%d", sh.name, nodes), func(b *testing.B) {
				var estimated, seated, count atomic.Int64
				s := serveEstimating(b, func(_ admission.Class, estimate, took time.Duration) {
					estimated.Add(int64(estimate))
					seated.Add(int64(took))
					count.Add(1)
				})
				address := put(b, s.loopback, cluster)
				estimated.Store(0)
				seated.Store(0)
				count.Store(0)
				on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
					Snapshot: &stowagev1.SnapshotReference{Address: address},
				}}
				before := loopback.CPUTime()
				for b.Loop() {
					if err := sh.call(b.Context(), s, on); err != nil {
						b.Fatal(err)
					}
				}
				took := (loopback.CPUTime() - before) / time.Duration(b.N)
				n := float64(max(count.Load(), 1))
				b.ReportMetric(float64(estimated.Load())/n/1e3, "estimated-µs")
				b.ReportMetric(float64(seated.Load())/n/1e3, "seat-µs")
				b.ReportMetric(float64(took)/1e3, "processor-µs")
				b.ReportMetric(float64(estimated.Load())/float64(max(seated.Load(), 1)), "estimated/seat")
			})
		}
	}
}
