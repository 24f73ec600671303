package batch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"

	"github.com/stowage-scheduler/stowage/clients/lease"
)

// As kube-scheduler's defaults.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// newLock returns this replica's lock on the lease. Other replicas take over when the lease expires; requests sent before the
// renew deadline have ended by then.
func newLock(c *Config) (*lease.Lock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// A client of its own: renewing the lease must not wait for other calls.
	api, err := c.Kubernetes.Client("stowage-batch-leader-election")
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, c.LeaseNamespace, c.LeaseName,
		api.CoreV1(), api.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, err
	}
	return lease.New(lock, renewDeadline), nil
}

// lead schedules while this replica holds the lease, and releases the lease after the last binding. A replica that loses the lease
// exits, as another replica may already lead.
func lead(ctx context.Context, lock resourcelock.Interface, log *slog.Logger, schedule func(ctx, leading context.Context) error) error {
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	keepElecting := context.AfterFunc(ctx, stop)
	led, ended := make(chan context.Context, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		// With ReleaseOnCancel, leading would continue until the release of the lease, even after its loss.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { led <- leading },
			OnStoppedLeading: func() {},
			OnNewLeader:      func(leader string) { log.Info("leader", "leader", leader, "this", leader == lock.Identity()) },
		},
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	var lost bool
	select {
	case leading := <-led:
		keepElecting()
		scheduling, cancel := context.WithCancel(leading)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		if err = schedule(scheduling, leading); scheduling.Err() != nil {
			err = nil
		}
		lost = leading.Err() != nil && electing.Err() == nil
	case <-ended:
		lost = electing.Err() == nil
	}
	if lost {
		return errors.New("the lease was lost")
	}
	stop()
	<-ended
	if err := giveBack(ctx, lock); err != nil {
		log.Warn("cannot release the lease; another replica waits until it expires", "error", err)
	}
	return err
}

// giveBack releases the lease, so that another replica can lead immediately, as with leaderelection's ReleaseOnCancel.
func giveBack(ctx context.Context, lock resourcelock.Interface) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout)
	defer cancel()
	// A renewal that timed out may arrive first.
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		record, _, err := lock.Get(ctx)
		if err != nil || record.HolderIdentity != lock.Identity() {
			return err
		}
		now := metav1.Now()
		return lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
		})
	})
}
