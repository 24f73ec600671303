package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// probeTimeout bounds the readiness probe.
const probeTimeout = time.Second

// self calls the server through an in-process connection, which skips only the network and TLS.
type self struct {
	listener *bufconn.Listener
	conn     *grpc.ClientConn
	client   stowagev1.PlacementServiceClient
}

func newSelf() (*self, error) {
	listener := bufconn.Listen(64 << 10)
	conn, err := grpc.NewClient("passthrough:///self", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		return nil, err
	}
	return &self{listener, conn, stowagev1.NewPlacementServiceClient(conn)}, nil
}

// probe checks that a pod fits on the only node, and returns the problem with the answer. A refusal for overload counts as an
// answer: if all replicas of an overloaded service were unready, no request would be answered.
func (s *self) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	answer, err := s.client.Filter(ctx, &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{
			Nodes: []*stowagev1.Node{{
				Name: "node", Allocatable: &stowagev1.Resources{CpuMillis: new(int64(1)), Pods: new(int64(1))},
			}},
		}}},
		Pod: &stowagev1.Pod{Name: "pod", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
			Spec: &stowagev1.PodSpec{Requests: &stowagev1.Resources{CpuMillis: new(int64(1))}},
		}}},
	})
	switch {
	case status.Code(err) == codes.ResourceExhausted:
		return nil
	case err != nil:
		return err
	case len(answer.GetFeasibleNodes().GetIndexes()) != 1:
		return fmt.Errorf("wrong answer: %v", answer)
	}
	return nil
}

func (s *self) close() error { return errors.Join(s.conn.Close(), s.listener.Close()) }
