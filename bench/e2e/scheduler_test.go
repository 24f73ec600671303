package e2e

import (
	"testing"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// scheduler is one way to have pods scheduled.
type scheduler struct {
	name  string // of the subtest
	pods  string // spec.schedulerName of its pods
	start func(t *testing.T, s *stack.Stack)
}

// schedulers decide every scenario. The others are compared with the first one.
var schedulers = []scheduler{
	{"kube-scheduler", stack.PlainPods, func(t *testing.T, s *stack.Stack) {
		t.Helper()
		must(t, s.StartPlain(t.Context(), nil))
	}},
	{"stowage-extender", stack.ExtenderPods, func(t *testing.T, s *stack.Stack) {
		t.Helper()
		startServer(t, s)
		must(t, s.StartExtender(t.Context()))
	}},
	{"stowage-batch", stack.BatchPods, func(t *testing.T, s *stack.Stack) {
		t.Helper()
		startServer(t, s)
		must(t, s.StartBatch(t.Context(), "--allocate-devices"))
	}},
}

func startServer(t *testing.T, s *stack.Stack) {
	t.Helper()
	if s.Server == nil {
		must(t, s.StartServer(t.Context()))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
