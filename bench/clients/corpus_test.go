package clients

import (
	"errors"
	"io"
	"os"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/clients/scenarios"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// eachClient runs a test with an address behind which each client is. direct is the server's.
func eachClient(t *testing.T, test func(t *testing.T, through, direct string)) {
	ran := false
	for name, command := range map[string]string{"typescript": *typescript, "python": *python} {
		if command == "" {
			continue
		}
		ran = true
		t.Run(name, func(t *testing.T) {
			s := servertest.Start(t, "--http-address=127.0.0.1:0", "--max-queue-wait=0s")
			test(t, startDriver(t, command, s.Address, s.HTTPAddress).serve(t), s.Address)
		})
	}
	if !ran {
		t.Skip("no driver is given: make clients runs this test")
	}
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<28)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestExamples holds the clients to the examples, and to the cases of pending pods.
func TestExamples(t *testing.T) {
	eachClient(t, func(t *testing.T, through, _ string) {
		client, err := stowage.Dial([]string{through})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		decide, steps := scenarios.Client(client), 0
		for _, root := range []string{"../../clients/examples", "../../clients/scenarios/testdata/pending"} {
			cases, err := scenarios.Load(root)
			if err != nil {
				t.Fatal(err)
			}
			for i := range cases {
				for j := range cases[i].Steps {
					if steps++; steps%*step != 0 {
						continue
					}
					q, err := scenarios.Ask(&cases[i], &cases[i].Steps[j])
					if err != nil {
						t.Fatal(err)
					}
					answer, err := decide(t.Context(), q)
					if err != nil {
						t.Fatalf("%s/%s: %v", cases[i].Name(), cases[i].Steps[j].Name, err)
					}
					for _, d := range scenarios.Check(q, answer) {
						t.Errorf("%s/%s: %s", cases[i].Name(), cases[i].Steps[j].Name, d)
					}
				}
			}
		}
		t.Logf("%d steps", steps / *step)
	})
}

// TestRecorded holds the clients to kube-scheduler's recorded answers.
func TestRecorded(t *testing.T) {
	eachClient(t, func(t *testing.T, through, _ string) {
		client := stowagev1.NewPlacementServiceClient(dial(t, through))
		f, err := os.Open("../conformance/testdata/kube-1.37.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		n := 0
		for c, err := range conformance.Read(f) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n%*step != 0 {
				continue
			}
			for _, d := range conformance.Run(t.Context(), c, client) {
				t.Errorf("%s: %v", c.Name, d)
			}
		}
		if n < 1000 {
			t.Errorf("there are %d cases only", n)
		}
		t.Logf("%d cases", n / *step)
	})
}

// TestStreamsAndErrors compares the answers of the client with the server's own, where messages are streamed and where a call fails.
func TestStreamsAndErrors(t *testing.T) {
	eachClient(t, func(t *testing.T, through, direct string) {
		cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{
			{Name: "a", Allocatable: &stowagev1.Resources{Pods: new(int64(2))}}, {Name: "b", Allocatable: &stowagev1.Resources{Pods: new(int64(1))}},
		}}
		in := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster}}
		queue := []*stowagev1.PendingPods{{Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}}, Count: new(uint32(4))}}
		place := &stowagev1.PlaceRequest{Context: in, Queue: queue}
		var answers [2][]proto.Message
		for i, address := range []string{direct, through} {
			conn := dial(t, address)
			placement, simulation := stowagev1.NewPlacementServiceClient(conn), stowagev1.NewSimulationServiceClient(conn)
			add := func(m proto.Message, err error) {
				if err != nil {
					m = status.Convert(err).Proto()
				}
				answers[i] = append(answers[i], m)
			}
			put, err := placement.PutSnapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []*stowagev1.PutSnapshotRequest{
				{Step: &stowagev1.PutSnapshotRequest_Part{Part: cluster}}, {Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}},
			} {
				if err := put.Send(m); err != nil {
					t.Fatal(err)
				}
			}
			stored, err := put.CloseAndRecv()
			add(stored, err)
			all(t, add)(placement.GetSnapshot(t.Context(), &stowagev1.GetSnapshotRequest{Address: stored.GetAddress()}))
			all(t, add)(placement.PlaceStream(t.Context(), &stowagev1.PlaceStreamRequest{Place: place, PodsPerMessage: new(uint32(1))}))
			all(t, add)(simulation.WhatIf(t.Context(), &stowagev1.WhatIfRequest{Context: in, Scenarios: []*stowagev1.Scenario{{Queue: queue}, {Name: "b"}}}))
			add2 := func(m *stowagev1.FilterResponse, err error) { add(m, err) }
			add2(placement.Filter(t.Context(), &stowagev1.FilterRequest{Context: in}))
			add2(placement.Filter(t.Context(), &stowagev1.FilterRequest{Pod: queue[0].Pod, Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: stored.GetAddress()[:60] + "0000"}},
			}}))
			all(t, add)(simulation.Drain(t.Context(), &stowagev1.DrainRequest{Context: in}))
		}
		if len(answers[0]) != len(answers[1]) || len(answers[0]) < 10 {
			t.Fatalf("the client has %d answers, the server %d", len(answers[1]), len(answers[0]))
		}
		for i, want := range answers[0] {
			if !proto.Equal(answers[1][i], want) {
				t.Errorf("the client has %v, the server answers %v", answers[1][i], want)
			}
		}
	})
}

// all returns a function that adds the messages of a stream, and its error.
func all(t *testing.T, add func(proto.Message, error)) func(any, error) {
	t.Helper()
	return func(stream any, err error) {
		if err != nil {
			add(nil, err)
			return
		}
		for {
			m, err := next(stream)
			if errors.Is(err, io.EOF) {
				return
			}
			add(m, err)
			if err != nil {
				return
			}
		}
	}
}

func next(stream any) (proto.Message, error) {
	switch s := stream.(type) {
	case grpc.ServerStreamingClient[stowagev1.GetSnapshotResponse]:
		return s.Recv()
	case grpc.ServerStreamingClient[stowagev1.PlaceStreamResponse]:
		return s.Recv()
	case grpc.ServerStreamingClient[stowagev1.WhatIfResponse]:
		return s.Recv()
	case grpc.ServerStreamingClient[stowagev1.DrainResponse]:
		return s.Recv()
	}
	return nil, errors.ErrUnsupported
}
