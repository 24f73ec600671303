package batch

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func newTestLock(t *testing.T) (*fake.Clientset, resourcelock.Interface) {
	api := fake.NewClientset()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "stowage", "lease", api.CoreV1(), api.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: "this"})
	if err != nil {
		t.Fatal(err)
	}
	return api, lock
}

func holder(t *testing.T, api *fake.Clientset) string {
	lease, err := api.CoordinationV1().Leases("stowage").Get(t.Context(), "lease", metav1.GetOptions{})
	if err != nil {
		t.Error(err)
		return "?"
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestTheLeaseIsGivenBackAfterTheLastBinding(t *testing.T) {
	api, lock := newTestLock(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := lead(ctx, lock, slog.New(slog.DiscardHandler), func(ctx, leading context.Context) error {
		cancel()
		<-ctx.Done()
		if got := holder(t, api); got != "this" || leading.Err() != nil {
			t.Errorf("the lease is held by %q while decisions are bound", got)
		}
		return ctx.Err()
	})
	if err != nil {
		t.Error(err)
	}
	if got := holder(t, api); got != "" {
		t.Errorf("the lease is held by %q in the end", got)
	}
}

func TestNoPodIsScheduledOnceTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	api, lock := newTestLock(t)
	var away, over atomic.Bool
	api.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("the API server is away")
	})
	err := lead(t.Context(), lock, slog.New(slog.DiscardHandler), func(ctx, leading context.Context) error {
		away.Store(true)
		<-leading.Done()
		<-ctx.Done()
		time.Sleep(100 * time.Millisecond) // a call that is on its way
		over.Store(true)
		return ctx.Err()
	})
	if err == nil || err.Error() != "the lease was lost" {
		t.Error(err)
	}
	if !over.Load() {
		t.Error("something goes on though the lease is lost")
	}
}

func TestSchedulingThatFailsEndsTheProcess(t *testing.T) {
	_, lock := newTestLock(t)
	failure := errors.New("no")
	err := lead(t.Context(), lock, slog.New(slog.DiscardHandler), func(context.Context, context.Context) error { return failure })
	if !errors.Is(err, failure) {
		t.Error(err)
	}
}
