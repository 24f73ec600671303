package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	remote "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/genproto/googleapis/rpc/code"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
)

// memoryStore is a store in memory, of the Remote Execution API.
type memoryStore struct {
	remote.UnimplementedContentAddressableStorageServer
	remote.UnimplementedActionCacheServer
	mutex    sync.Mutex
	blobs    map[string][]byte
	results  map[string]*remote.ActionResult
	uploaded int // bytes
	hangs    chan struct{}
}

// serveStore serves an empty store, and returns its address.
func serveStore(t *testing.T) (*memoryStore, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m, s := &memoryStore{blobs: map[string][]byte{}, results: map[string]*remote.ActionResult{}}, grpc.NewServer()
	remote.RegisterContentAddressableStorageServer(s, m)
	remote.RegisterActionCacheServer(s, m)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return m, l.Addr().String()
}

func (m *memoryStore) FindMissingBlobs(_ context.Context, r *remote.FindMissingBlobsRequest) (*remote.FindMissingBlobsResponse, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	out := &remote.FindMissingBlobsResponse{}
	for _, d := range r.GetBlobDigests() {
		if m.blobs[d.GetHash()] == nil {
			out.MissingBlobDigests = append(out.MissingBlobDigests, d)
		}
	}
	return out, nil
}

func (m *memoryStore) BatchUpdateBlobs(_ context.Context, r *remote.BatchUpdateBlobsRequest) (*remote.BatchUpdateBlobsResponse, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	out := &remote.BatchUpdateBlobsResponse{}
	for _, b := range r.GetRequests() {
		sum := sha256.Sum256(b.GetData())
		if hex.EncodeToString(sum[:]) != b.GetDigest().GetHash() || int64(len(b.GetData())) != b.GetDigest().GetSizeBytes() {
			return nil, status.Error(codes.InvalidArgument, "the digest is wrong")
		}
		m.blobs[b.GetDigest().GetHash()] = b.GetData()
		m.uploaded += len(b.GetData())
		out.Responses = append(out.Responses, &remote.BatchUpdateBlobsResponse_Response{Digest: b.GetDigest()})
	}
	return out, nil
}

func (m *memoryStore) BatchReadBlobs(_ context.Context, r *remote.BatchReadBlobsRequest) (*remote.BatchReadBlobsResponse, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	out := &remote.BatchReadBlobsResponse{}
	for i := range r.GetDigests() {
		d := r.GetDigests()[len(r.GetDigests())-1-i] // in any order
		one := &remote.BatchReadBlobsResponse_Response{Digest: d, Data: m.blobs[d.GetHash()]}
		if one.Data == nil {
			one.Status = &rpcstatus.Status{Code: int32(code.Code_NOT_FOUND)}
		}
		out.Responses = append(out.Responses, one)
	}
	return out, nil
}

func (m *memoryStore) GetActionResult(ctx context.Context, r *remote.GetActionResultRequest) (*remote.ActionResult, error) {
	m.mutex.Lock()
	hangs, found := m.hangs, m.results[r.GetActionDigest().GetHash()]
	m.mutex.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-ctx.Done():
		}
	}
	if found == nil {
		return nil, status.Error(codes.NotFound, "not found")
	}
	return found, nil
}

func (m *memoryStore) UpdateActionResult(_ context.Context, r *remote.UpdateActionResultRequest) (*remote.ActionResult, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.results[r.GetActionDigest().GetHash()] = r.GetActionResult()
	return r.GetActionResult(), nil
}

// storing is a configuration with a store.
func storing(address string) config.Config {
	c := peering()
	c.Store = address
	return c
}

// kept waits until a server has kept so many snapshots in its store.
func (r *running) kept(t *testing.T, n int64) {
	t.Helper()
	eventually(t, "the store keeps it", func() bool { return r.metric(t, "stowage_store_writes_total", `result="kept"`) >= n })
}

// TestStore expects that a server that starts answers about what another one put before it was gone, that a small change uploads one
// page, and that tenants have snapshots of their own. STOWAGE_STORE is the address of a store to use, such as bazel-remote.
func TestStore(t *testing.T) {
	address := os.Getenv("STOWAGE_STORE")
	memory, in := serveStore(t)
	if address == "" {
		address = in
	}
	first := run(t, storing(address), t.Output(), nil, nil)
	cluster := wide()
	cluster.Namespaces = append(cluster.Namespaces, &stowagev1.Namespace{Name: fmt.Sprint("run-", time.Now().UnixNano())})
	on := stored(t, first.client(), cluster)
	first.kept(t, 1)
	empty := stored(t, first.client(), &stowagev1.Cluster{})
	first.kept(t, 2)
	memory.mutex.Lock()
	uploaded := memory.uploaded
	memory.mutex.Unlock()
	changed := proto.CloneOf(cluster)
	changed.Nodes[300].Unschedulable = true
	to := addressOf(t, changed)
	if _, err := put(t, first.client(), onto(on), delta(&stowagev1.ClusterDelta{Nodes: changed.Nodes[300:301]}), end(to)); err != nil {
		t.Fatal(err)
	}
	first.kept(t, 3)
	memory.mutex.Lock()
	more := memory.uploaded - uploaded
	memory.mutex.Unlock()
	if uploaded > 0 && (more <= 0 || more > uploaded/8) {
		t.Errorf("a changed node of %d uploads %d bytes of %d", len(cluster.Nodes), more, uploaded)
	}
	request := filterOn(to, nil)
	want, err := first.client().Filter(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	first.stop()

	second := run(t, storing(address), t.Output(), nil, nil)
	got, err := second.client().Filter(t.Context(), request)
	if err != nil || !proto.Equal(got, want) {
		t.Fatalf("a server that starts answers otherwise: %v", err)
	}
	for _, there := range []string{on, empty} {
		if _, err := put(t, second.client(), end(there)); err != nil {
			t.Errorf("a snapshot of the store: %v", err)
		}
	}
	if _, err := put(t, second.client(), end(strings.Repeat("0", 64))); reasonOf(err) != "UNKNOWN_SNAPSHOT" {
		t.Errorf("a snapshot that is nowhere: %v", err)
	}
	if found, missing := second.fetched(t); found != 3 || missing != 1 {
		t.Errorf("%d snapshots came from the store, %d did not", found, missing)
	}
}

// TestOddStores expects that a store that lacks a page, has others, lists none, hangs or is gone costs no answer but the snapshot.
func TestOddStores(t *testing.T) {
	cluster := wide()
	address := addressOf(t, cluster)
	for name, harm := range map[string]func(*memoryStore){
		"without a page": func(m *memoryStore) {
			for hash := range m.blobs {
				delete(m.blobs, hash)
				return
			}
		},
		"with another page": func(m *memoryStore) {
			for hash, b := range m.blobs {
				m.blobs[hash] = bytes.Repeat([]byte{0}, len(b))
				return
			}
		},
		"without the list's end": func(m *memoryStore) {
			for _, r := range m.results {
				r.OutputFiles = r.OutputFiles[:len(r.OutputFiles)-1]
			}
		},
		"with an empty list": func(m *memoryStore) {
			for _, r := range m.results {
				r.OutputFiles = nil
			}
		},
		"that lies about sizes": func(m *memoryStore) {
			for _, r := range m.results {
				r.OutputFiles[0].Digest.SizeBytes = 1 << 50
			}
		},
		"that hangs": func(m *memoryStore) { m.hangs = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			memory, at := serveStore(t)
			first := run(t, storing(at), t.Output(), nil, nil)
			stored(t, first.client(), cluster)
			first.kept(t, 1)
			memory.mutex.Lock()
			harm(memory)
			memory.mutex.Unlock()
			second := run(t, storing(at), t.Output(), nil, nil)
			for range 3 {
				begin := time.Now()
				if _, err := put(t, second.client(), end(address)); reasonOf(err) != "UNKNOWN_SNAPSHOT" || time.Since(begin) > time.Minute {
					t.Fatalf("after %v: %v", time.Since(begin), err)
				}
			}
			stored(t, second.client(), cluster)
			if _, err := put(t, second.client(), end(address)); err != nil {
				t.Errorf("a snapshot that was put: %v", err)
			}
		})
	}
	t.Run("that is gone", func(t *testing.T) {
		r := run(t, storing("127.0.0.1:1"), t.Output(), nil, nil)
		stored(t, r.client(), cluster)
		if _, err := put(t, r.client(), end(strings.Repeat("0", 64))); reasonOf(err) != "UNKNOWN_SNAPSHOT" {
			t.Error(err)
		}
		eventually(t, "the loss is counted", func() bool { return r.metric(t, "stowage_store_writes_total", `result="failed"`) > 0 })
	})
}
