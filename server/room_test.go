package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestAThousandPuts puts different snapshots from a thousand callers at once, with room for few of them and for the bytes
// of few requests, and watches the heap, which the callers share.
func TestAThousandPuts(t *testing.T) {
	const connections, nodes = 20, 200
	callers := 1000
	if raced.Detector {
		callers = 200
	}
	// What callers and requests in progress take, at most. A thousand clusters at once would be twice as much.
	const inProgress, connected = 80 << 20, 4 << 20
	c := testConfig()
	c.MaxSnapshotBytes = 8 << 20
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 64<<10, 64<<10
	r := run(t, c, io.Discard, nil, nil)
	clients := make([]stowagev1.PlacementServiceClient, connections)
	for i := range clients {
		conn, err := grpc.NewClient(r.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		clients[i] = stowagev1.NewPlacementServiceClient(conn)
		if !unknown(clients[i].Filter(t.Context(), filterOn(strings.Repeat("0", 64), nil))) {
			t.Fatal("a snapshot is there already")
		}
	}
	shared := &stowagev1.Cluster{}
	for i := range nodes {
		name := fmt.Sprint("node-", i)
		shared.Nodes = append(shared.Nodes, &stowagev1.Node{
			Name:        name,
			Labels:      map[string]string{"hostname": name, "zone": fmt.Sprint(i % 3)},
			Allocatable: &stowagev1.Resources{CpuMillis: proto.Int64(4000), Pods: proto.Int64(int64(10 + i%7))},
		})
	}
	var refused atomic.Int64
	addresses := make([]string, callers+1)
	call := func(i int) {
		client, own := clients[i%connections], &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: fmt.Sprint("own-", i)}}}
		answer, err := put(t, client, part(shared), part(own), end(""))
		for wait := 20; overloaded(err); wait = min(2*wait, 2000) { // else a slow machine does nothing but refuse
			refused.Add(1)
			time.Sleep(time.Duration(wait/2+rand.IntN(wait)) * time.Millisecond)
			answer, err = put(t, client, part(shared), part(own), end(""))
		}
		if err != nil {
			t.Errorf("put: %v", err)
			return
		}
		addresses[i] = answer.Address
		request := filterOn(answer.Address, nil)
		request.Pod = &stowagev1.Pod{
			Labels: map[string]string{"caller": fmt.Sprint(i)}, Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}},
		}
		got, err := client.Filter(t.Context(), request)
		switch {
		case err == nil && len(got.GetFeasibleNodes().GetIndexes()) == nodes:
		case !unknown(got, err) && !overloaded(err):
			t.Errorf("Filter: %v, %d feasible nodes", err, len(got.GetFeasibleNodes().GetIndexes()))
		}
	}
	before := liveHeap()
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	done, peak := make(chan struct{}), make(chan int64)
	go func() {
		var most uint64
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			metrics.Read(live)
			most = max(most, live[0].Value.Uint64())
			select {
			case <-done:
				peak <- int64(most)
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { call(i) })
	}
	all.Wait()
	close(done)
	most, after := <-peak-before, liveHeap()-before
	gone := 0
	for i, address := range addresses[:callers] {
		if unknown(clients[i%connections].Filter(t.Context(), filterOn(address, nil))) {
			gone++
		}
	}
	t.Logf("%d puts were refused, %d snapshots are gone; %d bytes more than before, %d at most", refused.Load(), gone, after, most)
	if refused.Load() == 0 || gone == 0 || gone == callers {
		t.Error("no limit was reached, or nothing stays")
	}
	// No bound below: what earlier tests have left, such as connections that gRPC still closes, may go meanwhile. Some snapshots stay, as
	// their calls show.
	if after > c.MaxSnapshotBytes+connected {
		t.Errorf("the heap has %d bytes more than before, there is room for %d bytes of snapshots", after, c.MaxSnapshotBytes)
	}
	if most > c.MaxSnapshotBytes+inProgress {
		t.Errorf("the heap had %d bytes more", most)
	}
	eventually(t, "afterwards there is room for the largest request", func() bool {
		_, err := r.client().Filter(t.Context(), sized(c.MaxReceiveMessageBytes-100))
		return status.Code(err) == codes.InvalidArgument
	})
	call(callers)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
