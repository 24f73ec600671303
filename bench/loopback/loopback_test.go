package loopback_test

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestEcho(t *testing.T) {
	c := dial(t, loopback.ServeEcho)
	for _, size := range []int{0, 1, 5 << 20} {
		message := make([]byte, size)
		for i := range message {
			message[i] = byte(i * i >> 3)
		}
		answer, err := c.Call(t.Context(), stowagev1.PlacementService_Filter_FullMethodName, message)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(answer, message) {
			t.Errorf("%d bytes came back for %d, or others", len(answer), size)
		}
		if err := errors.Join(c.Echo(t.Context(), message), c.Count(t.Context(), message)); err != nil {
			t.Error(err)
		}
	}
}

func TestStowageAnswersBytes(t *testing.T) {
	c := dial(t, loopback.ServeStowage)
	request, err := proto.Marshal(&stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: bigcluster.New(10)}},
		Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Call(t.Context(), stowagev1.PlacementService_Filter_FullMethodName, request)
	if err != nil {
		t.Fatal(err)
	}
	var response stowagev1.FilterResponse
	if err := proto.Unmarshal(answer, &response); err != nil {
		t.Fatal(err)
	}
	if got := len(response.FeasibleNodes.GetIndexes()); got == 0 {
		t.Error("no feasible node")
	}
}

func dial(t *testing.T, serve func() (*loopback.Server, error)) *loopback.Client {
	t.Helper()
	s, err := serve()
	if err != nil {
		t.Fatal(err)
	}
	c, err := loopback.Dial(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
