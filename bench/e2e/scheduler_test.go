package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
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

// observed is what became of the pods of a test, and of their resource claims.
type observed struct {
	said        []string
	allocations map[string]*resourcev1.AllocationResult
}

// compareSchedulers has every scheduler decide, and expects of each the outcome of plain kube-scheduler.
func compareSchedulers(t *testing.T, decide func(t *testing.T, c *stack.Stack, schedulerName string) observed, options ...gocmp.Option) {
	t.Helper()
	c := start(t)
	for _, s := range schedulers {
		s.start(t, c)
	}
	var reference observed
	for _, s := range schedulers {
		t.Run(s.name, func(t *testing.T) {
			got := decide(t, c, s.pods)
			if s.pods == stack.PlainPods {
				reference = got
				t.Log(strings.Join(got.said, "\n"))
			}
			if d := gocmp.Diff(reference, got, append(options, gocmp.AllowUnexported(observed{}))...); d != "" {
				t.Errorf("plain kube-scheduler (-) and %s (+) differ:\n%s", s.name, d)
			}
		})
	}
}

// kill kills the processes of a scheduler of Stowage with SIGKILL, and starts them again.
func (s *scheduler) kill(t *testing.T, c *stack.Stack) {
	t.Helper()
	killed := []*controlplane.Process{c.Batch}
	if s.pods == stack.ExtenderPods {
		killed = []*controlplane.Process{c.Extended, c.Extender}
	}
	for _, p := range killed {
		p.Kill()
	}
	time.Sleep(time.Second) // what has been sent arrives, and controllers go on
	for _, p := range slices.Backward(killed) {
		must(t, p.Start(t.Context()))
	}
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
