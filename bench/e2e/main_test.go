package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// patience is how long anything may take that normally takes less than a second.
const patience = 5 * time.Minute

var repository = filepath.Join("..", "..")

// start starts a control plane with a kubelet, to be stopped at the end of the test. Flags are the API server's.
func start(t *testing.T, flags ...string) *stack.Stack {
	t.Helper()
	bin := os.Getenv("E2E_BIN")
	if bin == "" {
		t.Skip("E2E_BIN does not say where the control plane's commands are: run make e2e")
	}
	t.Parallel() // a test mostly waits
	begin := time.Now()
	c, err := controlplane.Start(t.Context(), bin, t.TempDir(), flags...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stack.New(t.Context(), c, os.Getenv("E2E_COMMANDS"), repository)
	if err != nil {
		t.Error(err)
	}
	t.Logf("control plane up after %.1f s", time.Since(begin).Seconds())
	ctx, cancel := context.WithCancel(context.Background())
	var others errgroup.Group
	others.Go(func() error { return controlplane.RunKubelet(ctx, c.Client) })
	others.Go(func() error { return controlplane.RunProvisioner(ctx, c.Client) })
	t.Cleanup(func() {
		cancel()
		if err := others.Wait(); err != nil {
			t.Error("kubelet or provisioner:", err)
		}
		if t.Failed() {
			t.Log(c.Logs(12))
		}
		c.Stop()
	})
	if err != nil {
		t.FailNow()
	}
	return s
}

// eventually waits until something holds, and fails the test with what is missing if it does not in time.
func eventually(t *testing.T, within time.Duration, holds func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %v", within, err)
		}
		time.Sleep(25 * time.Millisecond)
	}
}
