package conformance_test

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// TestStowage holds Stowage to kube-scheduler's recorded answers, in this process and over gRPC.
func TestStowage(t *testing.T) {
	client := stowagev1.NewPlacementServiceClient(servertest.Connect(t))
	var cases []*conformance.Case
	f, err := os.Open("testdata/kube-1.37.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for c, err := range conformance.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	preempting := 0
	for _, c := range cases {
		if slices.ContainsFunc(c.Preempt, func(p *stowagev1.PreemptResponse) bool { return p.GetPreemption().GetNominated() != nil }) {
			preempting++
		}
	}
	if len(cases) < 1000 || preempting < 30 {
		t.Errorf("the corpus has %d cases only, %d of them with victims", len(cases), preempting)
	}
	step := int64(1)
	switch {
	case raced.Detector && testing.Short():
		step = 12
	case raced.Detector || testing.Short():
		step = 4 // each case in one way
	}
	inProcess := conformance.Direct(placement.New(0, nil))
	for i, way := range []struct {
		name    string
		service func() conformance.Service
	}{
		{"in process", func() conformance.Service { return inProcess }},
		{"over the wire", func() conformance.Service { return client }},
		{"by address", func() conformance.Service { return conformance.ByAddress(client) }},
		{"by delta", func() conformance.Service { return conformance.ByDelta(client) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			var next atomic.Int64
			next.Store(int64(i) % step)
			var all sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				all.Go(func() {
					service := way.service()
					for i := next.Add(step) - step; i < int64(len(cases)); i = next.Add(step) - step {
						for _, d := range conformance.Run(t.Context(), cases[i], service) {
							t.Errorf("%s: %v", cases[i].Name, d)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
