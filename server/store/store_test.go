package store

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	remote "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// results is a store that takes empty snapshots, and tells which.
type results struct {
	remote.UnimplementedContentAddressableStorageServer
	remote.UnimplementedActionCacheServer
	keys chan string
}

func (r *results) UpdateActionResult(_ context.Context, in *remote.UpdateActionResultRequest) (*remote.ActionResult, error) {
	r.keys <- in.GetActionDigest().GetHash()
	return in.GetActionResult(), nil
}

// TestWaiting expects that the newest snapshots wait, and that waiting does not hold what the cache has evicted.
func TestWaiting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, at := grpc.NewServer(), &results{keys: make(chan string, 2*queued)}
	remote.RegisterContentAddressableStorageServer(server, at)
	remote.RegisterActionCacheServer(server, at)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	s, err := Connect(Settings{Address: l.Addr().String(), Credentials: insecure.NewCredentials(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	empty := func() *content.Content {
		c, err := content.Of(&stowagev1.Cluster{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	cached := empty()
	for _, tenant := range []string{"a", "b", "c"} {
		s.Keep(tenant, cached)
	}
	var collected atomic.Int64
	for range queued - 1 { // the first two drop a and b
		c := empty()
		runtime.AddCleanup(c, func(int) { collected.Add(1) }, 0)
		s.Keep("evicted", c)
	}
	for collected.Load() < queued-1 { // forever if waiting holds them
		runtime.GC()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.Run(ctx); close(ended) }()
	defer func() { cancel(); <-ended }()
	if got, want := <-at.keys, key("c", cached.Address().String()).GetHash(); got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	s.Keep("d", cached)
	if got, want := <-at.keys, key("d", cached.Address().String()).GetHash(); got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
	if _, _, dropped := s.Counts(); dropped != 2+queued-1 {
		t.Errorf("dropped %d", dropped)
	}
	runtime.KeepAlive(cached)
}
