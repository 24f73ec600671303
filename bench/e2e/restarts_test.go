package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// TestRestarts kills each part in the middle of a burst and starts it again, and expects that the burst ends as if nothing
// had happened.
func TestRestarts(t *testing.T) {
	s := start(t)
	for _, k := range schedulers[1:] {
		k.start(t, s)
	}
	for _, c := range []struct {
		scheduler scheduler
		victim    *controlplane.Process
	}{
		{schedulers[1], s.Extender},
		{schedulers[1], s.Extended},
		{schedulers[1], s.Server},
		{schedulers[1], s.APIServer},
		{schedulers[2], s.Batch},
		{schedulers[2], s.Server},
		{schedulers[2], s.APIServer},
	} {
		t.Run(c.scheduler.name+", "+c.victim.Name, func(t *testing.T) {
			begin := time.Now()
			inBurst(t, s, c.scheduler.pods, func() {
				c.victim.Kill()
				time.Sleep(500 * time.Millisecond) // what is in flight fails
				must(t, c.victim.Start(t.Context()))
			})
			t.Logf("%.1f s", time.Since(begin).Seconds())
		})
	}
}

// TestBrokenWatches cuts the connections to the API server in the middle of a burst, three times.
func TestBrokenWatches(t *testing.T) {
	s := start(t)
	proxy, err := s.ThroughProxy()
	must(t, err)
	t.Cleanup(proxy.Close)
	for _, k := range schedulers[1:] {
		k.start(t, s)
	}
	for _, k := range schedulers[1:] {
		t.Run(k.name, func(t *testing.T) {
			inBurst(t, s, k.pods, func() {
				for range 3 {
					eventually(t, patience, func() error {
						if proxy.Cut() == 0 {
							return errors.New("there is no connection to cut")
						}
						return nil
					})
					time.Sleep(200 * time.Millisecond)
				}
			})
		})
	}
}

// inBurst does something when some pods of a burst have been bound and others have not, and waits for the burst's end.
func inBurst(t *testing.T, s *stack.Stack, schedulerName string, do func()) {
	t.Helper()
	deleteAll(t, s)
	must(t, controlplane.FakeNodes(t.Context(), s.Client, burstNodes, burstZones))
	created := make(chan error, 1)
	go func() { created <- createBurst(t.Context(), s, schedulerName) }()
	eventually(t, patience, func() error {
		b, err := lookAtBurst(t.Context(), s)
		if err == nil && b.bound < burstFits/5 {
			err = fmt.Errorf("%+v", b)
		}
		return err
	})
	do()
	must(t, <-created)
	endOfBurst(t, s)
}
