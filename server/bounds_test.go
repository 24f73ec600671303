package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// fewMegabytes sets a limit of the process's memory, which the room for answers and for connections follows, until the test ends.
func fewMegabytes(t *testing.T, megabytes int64) {
	t.Helper()
	was := debug.SetMemoryLimit(megabytes << 20)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
}

// wordy is a request whose answer has about a megabyte.
func wordy() *stowagev1.FilterRequest {
	c := &stowagev1.Cluster{}
	for i := range 4_000 {
		c.Nodes = append(c.Nodes, &stowagev1.Node{
			Name: fmt.Sprintf("%s-%d", strings.Repeat("n", 240), i), Allocatable: &stowagev1.Resources{CpuMillis: new(int64(4000)), Pods: new(int64(9))},
		})
	}
	return &stowagev1.FilterRequest{Context: whole(c), Pod: smallPod()}
}

// unreadable returns options of a caller that takes 64 KiB of an answer before it reads it.
func unreadable() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithStaticStreamWindowSize(64 << 10), grpc.WithStaticConnWindowSize(1 << 30)}
}

// leaveUnread asks one question after the other on a connection and reads no answer, until the server refuses one. It returns how many
// bytes count then.
func (r *running) leaveUnread(ctx context.Context, t *testing.T, conn *grpc.ClientConn) int64 {
	t.Helper()
	before, request := r.held(ledger.Unread), wordy()
	for n := int64(1); ; n++ {
		last := r.held(ledger.Unread).Bytes
		stream := begin(ctx, t, conn, stowagev1.PlacementService_Filter_FullMethodName, request)
		eventually(t, "an answer counts, or is refused", func() bool {
			now := r.held(ledger.Unread)
			return now.Bytes > last || now.Refusals > before.Refusals
		})
		if r.held(ledger.Unread).Refusals > before.Refusals {
			err := stream.RecvMsg(new(stowagev1.FilterResponse))
			if !overloaded(err) {
				t.Errorf("an answer without room: %v", err)
			}
			return r.held(ledger.Unread).Bytes
		}
		if n > 1000 {
			t.Fatal("answers that are not read have no limit")
		}
	}
}

// TestAnswersThatAreNotReadAreBounded has one client read no answers: it gets half of the room, and all is given back when it is gone.
func TestAnswersThatAreNotReadAreBounded(t *testing.T) {
	fewMegabytes(t, 512)
	r := run(t, testConfig(), t.Output(), nil, nil)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		conn, err := grpc.NewClient(r.Address().String(), append(unreadable(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		held, limit := r.leaveUnread(ctx, t, conn), r.held(ledger.Unread).Limit
		if held > limit/2 || held < limit/2-2<<20 {
			t.Errorf("one client holds %d of %d bytes, want half", held, limit)
		}
		cancel()
		_ = conn.Close()
		eventually(t, "all is given back", func() bool { return r.held(ledger.Unread).Bytes == 0 })
	}
}

// TestConnectionsOfAClientAreBounded opens connections until one is closed by the server: they take half of the room, and not more.
func TestConnectionsOfAClientAreBounded(t *testing.T) {
	fewMegabytes(t, 256)
	r := run(t, testConfig(), t.Output(), nil, nil)
	limit := r.held(ledger.Connections).Limit
	opened := int64(0)
	for ; r.held(ledger.Connections).Refusals == 0; opened++ {
		if opened > limit/(64<<10) {
			t.Fatal("connections have no limit")
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		eventually(t, "a connection counts, or is refused", func() bool {
			now := r.held(ledger.Connections)
			return now.Bytes >= (opened+1)*64<<10 || now.Refusals > 0
		})
	}
	if want := limit / 2 / (64 << 10); opened-1 != want {
		t.Errorf("%d connections of a client were accepted, %d have room in half of the limit", opened-1, want)
	}
}

// TestRequestsTakeTimeToArrive has requests of which nothing comes, of a call and of a stream: they end when a request may take no longer.
func TestRequestsTakeTimeToArrive(t *testing.T) {
	c := testConfig()
	c.MaxRequestDuration = 50 * time.Millisecond
	r := run(t, c, t.Output(), nil, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, method := range []string{stowagev1.PlacementService_Filter_FullMethodName, stowagev1.PlacementService_PutSnapshot_FullMethodName} {
		stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = stream.RecvMsg(new(stowagev1.FilterResponse))
		if code, reason, _, _ := why(err); code != codes.DeadlineExceeded || reason != "CANCELLED" || time.Since(began) < c.MaxRequestDuration/2 {
			t.Errorf("%s after %v: %v", method, time.Since(began), err)
		}
	}
	eventually(t, "all is given back", func() bool { return r.held(ledger.Receiving).Bytes == 0 })
}

// TestNoCallListsSnapshots looks in the contract for answers with addresses of snapshots, or with clusters. An answer has the one address
// that its request has, or the address of the cluster in its request, and only the address that GetSnapshot gets by its address is a cluster.
func TestNoCallListsSnapshots(t *testing.T) {
	for _, m := range rpcs(t) {
		var walk func(d protoreflect.MessageDescriptor, path string, listed bool, above []protoreflect.FullName)
		walk = func(d protoreflect.MessageDescriptor, path string, listed bool, above []protoreflect.FullName) {
			if slices.Contains(above, d.FullName()) {
				return
			}
			for i := range d.Fields().Len() {
				f := d.Fields().Get(i)
				at, listed := path+"."+string(f.Name()), listed || f.IsList() || f.IsMap()
				switch {
				case strings.HasSuffix(string(f.Name()), "address") || strings.HasSuffix(string(f.Name()), "addresses"):
					if listed {
						t.Errorf("%s is a list of addresses", at)
					}
				case f.Message() != nil && f.Message().Name() == "Cluster":
					if at != "GetSnapshot.part" {
						t.Errorf("%s is a cluster", at)
					}
				case f.Message() != nil && !f.IsMap():
					walk(f.Message(), at, listed, append(above, d.FullName()))
				}
			}
		}
		walk(m.method.Output(), string(m.method.Name()), false, nil)
	}
}

// TestLogNamesNothing looks for what requests contain in the log at its most verbose, and in metrics.
func TestLogNamesNothing(t *testing.T) {
	var log bytes.Buffer
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	s, err := newServer(t.Context(), c, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, s, nil)
	secret := func() *stowagev1.FilterRequest {
		cluster := threeZones()
		cluster.Nodes[0].Name, cluster.Nodes[0].Labels["secret-key"] = "secret-node", "secret-value"
		pod := smallPod()
		pod.Name, pod.GetTemplate().Namespace = "secret-pod", "secret-namespace"
		return &stowagev1.FilterRequest{Context: whole(cluster), Pod: pod}
	}
	if _, err := r.client().Filter(t.Context(), secret()); err != nil {
		t.Fatal(err)
	}
	bad := secret()
	bad.Pod.GetTemplate().Spec.NodeSelector = map[string]string{"": "secret-selector"}
	bad.GetContext().GetCluster().Nodes[1].Labels[strings.Repeat("secret", 200)] = "" // is in the error, with its path
	if _, err := r.client().Filter(t.Context(), bad); why1(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "secret") {
		t.Errorf("a malformed request: %v", err)
	}
	if _, err := put(t, r.client(), part(secret().GetContext().GetCluster()), end("")); err != nil {
		t.Fatal(err)
	}
	_, metrics := r.get(t, "/metrics")
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	for where, text := range map[string]string{"log": log.String(), "metrics": metrics} {
		if at := strings.Index(text, "secret"); at >= 0 {
			t.Errorf("the %s has %.100q", where, text[at:])
		}
		if !strings.Contains(text, "Filter") {
			t.Errorf("the %s has nothing of the calls", where)
		}
	}
}
