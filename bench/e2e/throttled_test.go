package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// longestGap is how long no pod may be bound while some wait that fit.
const longestGap = 2 * time.Second

// TestThrottledAPIServer binds 3,000 pods, 500 of them without a feasible node, through an API server that answers few
// requests at a time, and expects that bindings never stand still.
func TestThrottledAPIServer(t *testing.T) {
	s := start(t, "--max-mutating-requests-inflight=4", "--max-requests-inflight=8")
	startServer(t, s)
	must(t, s.StartBatch(t.Context()))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 100, 5))
	const pods, huge = 3000, 500
	seen := watchBindings(t, s)
	begin := time.Now()
	must(t, controlplane.Parallel(t.Context(), pods, func(ctx context.Context, i int) error {
		p := sized(fmt.Sprintf("p-%04d", i), "10m", stack.BatchPods)
		if i%(pods/huge) == 0 {
			p = sized(fmt.Sprintf("huge-%04d", i), "100", stack.BatchPods)
		}
		_, err := s.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		return err
	}))
	created := time.Since(begin)
	eventually(t, patience, func() error {
		if n := len(seen()); n < pods-huge {
			return fmt.Errorf("%d pods are bound", n)
		}
		return nil
	})
	at := seen()
	slices.SortFunc(at, time.Time.Compare)
	gap := time.Duration(0)
	for i := range at[1:] {
		gap = max(gap, at[i+1].Sub(at[i]))
	}
	t.Logf("%d pods created in %.1f s, %d bound in %.1f s, the longest gap %.2f s; dropped: %s events, %s statuses", pods,
		created.Seconds(), len(at), at[len(at)-1].Sub(at[0]).Seconds(), gap.Seconds(),
		metric(t, s.BatchMetrics, "stowage_batch_dropped_total", `what="event"`),
		metric(t, s.BatchMetrics, "stowage_batch_dropped_total", `what="status"`))
	if gap > longestGap {
		t.Errorf("no pod was bound for %v", gap)
	}
	waits(t, s, "huge-0000", "100 Insufficient cpu")
}

// watchBindings watches pods, and returns when each was first seen on a node.
func watchBindings(t *testing.T, s *stack.Stack) (seen func() []time.Time) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(s.Client, 0)
	var mutex sync.Mutex
	var at []time.Time
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(was, is any) {
		if was.(*corev1.Pod).Spec.NodeName == "" && is.(*corev1.Pod).Spec.NodeName != "" {
			mutex.Lock()
			defer mutex.Unlock()
			at = append(at, time.Now())
		}
	}})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	return func() []time.Time {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(at)
	}
}
