package server

import (
	"context"
	"math"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// held returns what the ledger counts of a kind.
func (r *running) held(k ledger.Kind) ledger.Count { return r.memory.Counts()[k] }

func TestCompressedRequests(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	_, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{}, grpc.UseCompressor(gzip.Name))
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a compressed request: %v", err)
	}
	stream, err := r.client().PutSnapshot(t.Context(), grpc.UseCompressor(gzip.Name))
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Send(end(""))
	if _, err := stream.CloseAndRecv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("a compressed stream: %v", err)
	}
}

// TestReceivingIsBounded opens calls until there is no room for another, and expects room for as many once they have ended.
func TestReceivingIsBounded(t *testing.T) {
	c := testConfig()
	c.MaxConcurrentStreams = math.MaxUint32
	r := run(t, c, t.Output(), nil, nil)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		before, opened := r.held(ledger.Receiving).Refusals, 0
		for r.held(ledger.Receiving).Refusals == before {
			if _, err := r.client().PutSnapshot(ctx); err != nil {
				t.Fatal(err)
			}
			opened++
		}
		if _, err := r.client().Filter(t.Context(), &stowagev1.FilterRequest{}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one more: %v", err)
		}
		if now := r.held(ledger.Receiving); int64(opened) < now.Limit/2/(16<<10) || now.Bytes > now.Limit/2 {
			t.Errorf("%d calls were opened and hold %d of %d bytes, one client may have half", opened, now.Bytes, now.Limit)
		}
		cancel()
		eventually(t, "all is given back", func() bool { return r.held(ledger.Receiving).Bytes == 0 })
	}
}

// TestNoLimitOfRequests has a limit of bytes in flight that stands for none.
func TestNoLimitOfRequests(t *testing.T) {
	for _, inFlight := range []int64{math.MaxInt64, math.MaxInt64 / 2, 1 << 30} {
		limit := newLedger(&config.Config{MaxInFlightBytes: inFlight}, math.MaxInt64, nil).Counts()[ledger.Receiving].Limit
		if limit < inFlight-1 {
			t.Errorf("with %d bytes in flight, %d may be received", inFlight, limit)
		}
	}
}

// TestMemoryIsGivenBack makes calls of all kinds at a time, cancels some, and expects that nothing counts after them.
func TestMemoryIsGivenBack(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	r := run(t, c, t.Output(), nil, nil)
	stored, err := put(t, r.client(), part(threeZones()), end(""))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*i)*20*time.Microsecond+time.Millisecond)
				by := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}}
				if n%3 == 0 {
					by = &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
						Snapshot: &stowagev1.SnapshotReference{Address: stored.Address},
					}}
				}
				_, _ = r.client().Filter(ctx, &stowagev1.FilterRequest{Context: by, Pod: smallPod(), Explain: true})
				if stream, err := r.client().PutSnapshot(ctx); err == nil {
					_ = stream.Send(part(threeZones()))
				}
				cancel()
			}
		})
	}
	all.Wait()
	eventually(t, "nothing counts", func() bool {
		return r.held(ledger.Receiving).Bytes == 0 && r.held(ledger.Unread).Bytes == 0
	})
	before := r.held(ledger.Connections).Bytes
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a connection counts", func() bool { return r.held(ledger.Connections).Bytes > before })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it counts no longer", func() bool { return r.held(ledger.Connections).Bytes <= before })
}
