package cli_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/cli"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// streaming answers every PlaceStream with its parts, and then with end's error.
type streaming struct {
	stowagev1.UnimplementedPlacementServiceServer
	parts []*stowagev1.PlaceStreamResponse
	end   func(context.Context) error
}

func (s *streaming) PlaceStream(_ *stowagev1.PlaceStreamRequest, stream grpc.ServerStreamingServer[stowagev1.PlaceStreamResponse]) error {
	for _, part := range s.parts {
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	if s.end == nil {
		return nil
	}
	return s.end(stream.Context())
}

func (s *streaming) start(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	stowagev1.RegisterPlacementServiceServer(server, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return listener.Addr().String()
}

const watched = `
{apiVersion: v1, kind: NodeList, items: [
{metadata: {name: a, labels: {rack: r1}}, status: {allocatable: {pods: 9}}},
{metadata: {name: b, labels: {rack: r2}}, status: {allocatable: {pods: 9}}}]}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: training},
 spec: {schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: rack}]}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: worker},
 spec: {replicas: 2, selector: {matchLabels: {app: worker}}, template: {metadata: {labels: {app: worker}}, spec: {schedulingGroup: {podGroupName: training}, containers: [{name: c, image: i}]}}}}
`

func parts() []*stowagev1.PlaceStreamResponse {
	return []*stowagev1.PlaceStreamResponse{
		{
			Placements: []*stowagev1.QueuePlacement{{Placement: &stowagev1.Placement{
				Nodes: &stowagev1.NodeList{Indexes: []uint32{0, 1}, Names: []string{"a", "b"}},
			}}},
			PlacedCount: 2, TotalCount: 6,
		},
		{
			Placements: []*stowagev1.QueuePlacement{
				{Placement: &stowagev1.Placement{
					Nodes: &stowagev1.NodeList{Indexes: []uint32{0}, Names: []string{"a"}}, UnplacedCount: 1, Message: "0/2 nodes are available: 2 Too many pods.",
				}},
				{QueueIndex: 1, Placement: &stowagev1.Placement{Nodes: &stowagev1.NodeList{Indexes: []uint32{1, 1}, Names: []string{"b", "b"}}}},
			},
			PodGroups: []*stowagev1.PodGroupPlacement{{
				Name: "default/training", Status: stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE, PlacedCount: 2,
				Domains: []*stowagev1.TopologyDomain{{TopologyKey: "rack", Value: "r2"}},
			}},
			PlacedCount: 5, UnplacedCount: 1, TotalCount: 6, SnapshotAddress: "x",
		},
	}
}

// place runs the command and returns what it writes.
func place(ctx context.Context, server string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Run(ctx, append([]string{"place", "-f", "-", "--server", server}, args...), strings.NewReader(watched), &out, &err)
	return code, out.String(), err.String()
}

func TestWatchWithoutATerminal(t *testing.T) {
	server := (&streaming{parts: parts()}).start(t)
	code, stdout, stderr := place(t.Context(), server, "--watch")
	want := `2/6  default/web: a, b
6/6  default/web: a; 1 pod without a node
6/6  default/worker: b ×2
6/6  pod group default/training: complete, 2 of 2 pods placed in rack=r2

rack
r1                                 r2
┌ a ─────────────────────────────┐ ┌ b ─────────────────────────────┐
│ + web ×2                       │ │ + web                          │
│                                │ │ + worker ×2                    │
└────────────────────────────────┘ └────────────────────────────────┘

5 of 6 pods placed
PODS             KIND         PLACED   NODES
default/web      ReplicaSet   3/4      a ×2, b
default/worker   ReplicaSet   2/2      b ×2

POD GROUP          STATUS     PLACED   NEEDED   WHERE
default/training   complete   2/2      2        rack=r2

default/web: 1 pod without a node
  0/2 nodes are available: 2 Too many pods.
`
	if d := cmp.Diff(want, stdout); d != "" || code != 1 || stderr != "" {
		t.Errorf("exit code %d, %q\n%s", code, stderr, d)
	}
}

func TestWatchPrintsPartsAsTheyAre(t *testing.T) {
	server := (&streaming{parts: parts()[1:]}).start(t)
	_, stdout, _ := place(t.Context(), server, "--watch", "-o", "json")
	if want := `"totalCount":6`; strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, want) {
		t.Error(stdout)
	}
	_, stdout, _ = place(t.Context(), server, "--watch", "-o", "yaml")
	if !strings.HasPrefix(stdout, "---\nclaimBindings: []\nclaimDevices: []\ndoubts: []\nevictedCount: 0\nevictions: []\npartial: false\nplacedCount: 5\n") {
		t.Error(stdout)
	}
}

// whenWritten calls back once the text has been written.
type whenWritten struct {
	mutex sync.Mutex
	text  bytes.Buffer
	what  string
	call  func()
}

func (w *whenWritten) Write(p []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.text.Write(p)
	if strings.Contains(w.text.String(), w.what) {
		w.call()
	}
	return len(p), nil
}

func TestAnInterruptedWatchShowsWhatWasPlaced(t *testing.T) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return status.FromContextError(ctx.Err()).Err() }
	server := (&streaming{parts: parts()[:1], end: wait}).start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stdout := &whenWritten{what: "default/web: a, b", call: cancel}
	var stderr bytes.Buffer
	code := cli.Run(ctx, []string{"place", "-f", "-", "--server", server, "-w"}, strings.NewReader(watched), stdout, &stderr)
	if code != 2 || stderr.String() != "stowage: error: interrupted\n" {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	for _, want := range []string{
		"2 of 6 pods placed", "default/web      ReplicaSet   2/4", "default/training   unattempted   0/2",
		"4 pods left out, as there was no time: default/web, default/worker",
	} {
		if !strings.Contains(stdout.text.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.text.String())
		}
	}
}

func TestAWatchThatFails(t *testing.T) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	refuse := func(context.Context) error { return status.Error(codes.PermissionDenied, "not you") }
	for _, c := range []struct {
		name           string
		server         *streaming
		args           []string
		stdout, stderr string
	}{
		{"before the first part", &streaming{end: refuse}, nil, "", "PermissionDenied"},
		{"after it", &streaming{parts: parts()[:1], end: refuse}, nil, "2 of 6 pods placed", "PermissionDenied"},
		{"at the deadline, with nothing", &streaming{end: wait}, []string{"--timeout", "50ms", "--partial"}, "", "DeadlineExceeded"},
		{"about another queue", &streaming{parts: []*stowagev1.PlaceStreamResponse{{Placements: []*stowagev1.QueuePlacement{{QueueIndex: 9}}}}}, nil,
			"0 of 6 pods placed", "entry 9 of a queue of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := place(t.Context(), c.server.start(t), append(c.args, "--watch")...)
			if code != 2 || !strings.Contains(stderr, c.stderr) || !strings.Contains(stdout, c.stdout) || c.stdout == "" && stdout != "" {
				t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
			}
		})
	}
}

// placeUntil runs the command with longer and longer timeouts, until what came before the deadline is in its output.
func placeUntil(t *testing.T, what string, args ...string) (code int, stdout, stderr string) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	server := (&streaming{parts: parts()[:1], end: wait}).start(t)
	for timeout := time.Second; ; timeout *= 2 {
		code, stdout, stderr = place(t.Context(), server, append(args, "--timeout", timeout.String())...)
		if strings.Contains(stdout, what) || timeout > time.Minute {
			return code, stdout, stderr
		}
	}
}

func TestAWatchShowsWhatArrivedBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := placeUntil(t, "2 of 6 pods placed", "--watch")
	if code != 2 || !strings.Contains(stdout, "2 of 6 pods placed") || !strings.Contains(stderr, "DeadlineExceeded") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

// TestAPartialAnswerIsWhatArrived has a server that does not stop before the deadline by itself.
func TestAPartialAnswerIsWhatArrived(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := placeUntil(t, `"placedCount": 2`, "--partial", "-o", "json")
	if code != 1 || stderr != "" || !strings.Contains(stdout, `"partial": true`) || !strings.Contains(stdout, `"placedCount": 2`) {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
