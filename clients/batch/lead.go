package batch

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// As kube-scheduler's defaults.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
)

// lead schedules while this replica holds the lease. It gives the lease back once the last decision has been bound; who
// loses it ends at once, as another one may decide by now.
func lead(ctx context.Context, c *Config, log *slog.Logger, schedule func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	// A client of its own: renewing the lease must not wait for other calls.
	api, err := c.Kubernetes.Client("stowage-batch-leader-election")
	if err != nil {
		return err
	}
	identity := host + "_" + string(uuid.NewUUID())
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, c.LeaseNamespace, c.LeaseName,
		api.CoreV1(), api.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		return err
	}
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	keepElecting := context.AfterFunc(ctx, stop)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				keepElecting()
				scheduling, cancel := context.WithCancel(leading)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				if err := schedule(scheduling); scheduling.Err() == nil {
					log.Error("scheduling ended", "error", err)
				}
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(leader string) { log.Info("leader", "leader", leader, "this", leader == identity) },
		},
	})
	if err != nil {
		return err
	}
	elector.Run(electing)
	if electing.Err() == nil {
		return errors.New("the lease was lost")
	}
	return nil
}
